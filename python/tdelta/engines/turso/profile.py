"""Turso, as far as it is data."""

from __future__ import annotations

from tdelta.engines.profile import Profile
from tdelta.engines.takes import Takes
from tdelta.profiling.functions import Names
from tdelta.records import FunctionClass
from tdelta.workloads.dialect import Dialect

PROFILE = Profile(
    name="turso",
    product="Turso",
    dialect=Dialect("turso", "sqlite", has_types=False),
    takes=frozenset({Takes.INSTANCES, Takes.CACHE, Takes.TRACES}),
    headings={  # it counts no pages
        "physical": (("syscall_read_bytes",), "bytes asked of the system to read (rchar)"),
        "current": (("syscall_written_bytes",), "bytes asked of the system to write (wchar)"),
    },
    connects=False,
    shown="planted rows in its file",
    not_timed="the cipher is part of Turso, where its calls cannot be timed",
    functions=Names({FunctionClass.CIPHER: "aegis aes_gcm"}, modules={"_turso": "turso"}),
)

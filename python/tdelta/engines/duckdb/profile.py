from __future__ import annotations

from tdelta.design.takes import Takes
from tdelta.engines.profile import Profile
from tdelta.profiling.functions import Names
from tdelta.records import FunctionClass
from tdelta.workloads.dialect import Dialect

PROFILE = Profile(
    name="duckdb",
    product="DuckDB",
    dialect=Dialect("duckdb", "duckdb", bytes_literal="unhex('{}')"),
    takes=frozenset({Takes.INSTANCES, Takes.CACHE, Takes.TRACES, Takes.SCOPE, Takes.SESSION_MEMORY}),
    headings={  # blocks that it has in memory are not counted
        "physical": (("syscall_read_bytes",), "bytes asked of the system to read (rchar)"),
        "current": (("syscall_written_bytes",), "bytes asked of the system to write (wchar)"),
    },
    fills_cpus=True,
    cold_operations=None,
    connects=False,
    most_cold=1,
    shown="planted rows in its file",
    not_timed="the cipher is part of DuckDB or its extension, where its calls cannot be timed",
    functions=Names(
        {
            FunctionClass.CHECKSUM: "::checksum",
            FunctionClass.CIPHER: "AES(GCM|StateMBEDTLS|StateSSL)?:: EncryptionState",
        },
        modules={"_duckdb": "duckdb"},
    ),
)

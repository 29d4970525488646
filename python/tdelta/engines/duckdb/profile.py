from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tdelta.design.takes import Takes
from tdelta.engines.profile import Profile, Setting
from tdelta.profiling.functions import Names
from tdelta.records import FunctionClass
from tdelta.workloads.dialect import Dialect

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def _as_reported(size_bytes: int) -> str:
    """A size in DuckDB's words: in the largest unit that it fills, with one digit; cut off to the unit below first."""
    power = min(max(0, size_bytes.bit_length() - 1) // 10, len(_UNITS) - 1)
    if not power:
        return f"{size_bytes} {_UNITS[0]}"
    whole, rest = divmod(size_bytes >> 10 * (power - 1), 1024)
    return f"{whole}.{10 * rest // 1024} {_UNITS[power]}"


def _setting(name: str, value: str = "{value}", reported: Callable[[Any], str] = str, **more: Any) -> Setting:
    return Setting(f"SET {name} = {value}", f"SELECT current_setting('{name}')", reported=reported, **more)


PROFILE = Profile(
    name="duckdb",
    product="DuckDB",
    dialect=Dialect("duckdb", "duckdb", bytes_literal="unhex('{}')"),
    takes=frozenset({Takes.INSTANCES, Takes.CACHE, Takes.TRACES, Takes.SCOPE, Takes.SESSION_MEMORY}),
    settings={
        "threads": _setting("threads", is_own=True),
        "memory_limit": _setting("memory_limit", "'{value}B'", _as_reported, is_own=True),
    },
    headings={  # blocks that it has in memory are not counted
        "physical": (("syscall_read_bytes",), "bytes asked of the system to read (rchar)"),
        "current": (("syscall_written_bytes",), "bytes asked of the system to write (wchar)"),
    },
    fills_cpus=True,
    cold_operations=None,
    connects=False,
    most_cold=1,
    widened_by={"temp": "SET temp_file_encryption = true"},
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

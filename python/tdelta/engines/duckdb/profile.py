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
    """A size in DuckDB's words: in the largest unit that it fills, with one digit, the rest cut off."""
    power = min(max(0, size_bytes.bit_length() - 1) // 10, len(_UNITS) - 1)
    tenths = 10 * size_bytes >> 10 * power
    return f"{tenths // 10}.{tenths % 10} {_UNITS[power]}" if power else f"{size_bytes} {_UNITS[0]}"


def _setting(name: str, value: str = "{value}", reported: Callable[[Any], str] = str) -> Setting:
    return Setting(f"SET {name} = {value}", f"SELECT current_setting('{name}')", reported=reported)


PROFILE = Profile(
    name="duckdb",
    product="DuckDB",
    dialect=Dialect("duckdb", "duckdb", bytes_literal="unhex('{}')"),
    takes=frozenset({Takes.INSTANCES, Takes.CACHE, Takes.TRACES, Takes.SCOPE, Takes.SESSION_MEMORY}),
    settings={
        "threads": _setting("threads"),
        "memory_limit": _setting("memory_limit", "'{value}B'", _as_reported),
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

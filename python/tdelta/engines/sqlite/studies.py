"""What the studies set otherwise for SQLite, by the study's name; without an entry a study does not run on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tdelta.engines.shared.study_settings import FILE_REWRITES

STUDIES: Mapping[str, Mapping[str, Any]] = {
    "direct-load": {},
    "read-only-sweep": {  # every condition is a file and a process, where a server's instance serves many threads
        "scope": None,
        "vary": {"cipher": ("aes-256",), "threads": (1, 4), "cache": (0.10, 1.20)},
        "size_bytes": 50_000_000,
    },
    "warehouse": {"blocks_per_round": 2},  # its queries take seconds: more would leave no time for a second round
    "dml-trace": {},
    # The library sorts in as much memory as its cache has, and is asked for files.
    "spill": {"vary": {}, "session_memory": None, "temp_store": "file"},
    "restart": {"vary": {"work": ("restart", "storm")}},
    "convert": FILE_REWRITES,
}

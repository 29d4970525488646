"""What the studies set otherwise for DuckDB, by the study's name; without an entry a study does not run on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tdelta.engines.shared.study_settings import BACKUPS, FILE_REWRITES, SERIAL_LOAD, WAREHOUSE_WORK

STUDIES: Mapping[str, Mapping[str, Any]] = {
    "direct-load": {"vary": SERIAL_LOAD, "cache": 1.2},
    "read-only-sweep": {
        "scope": None,
        "vary": {"cipher": ("aes-256-gcm",), "cache": (0.10, 1.20)},
        "size_bytes": 50_000_000,
    },
    # What the published test had: its engine's AES was software.
    "warehouse": {"vary": {"work": WAREHOUSE_WORK, "cipher": ("aes-256-gcm", "aes-256-gcm-mbedtls")}},
    "spill": {
        "vary": {"scope": ("data", "+temp")},
        # With 100 MB DuckDB ran out of this memory once; more data would need more of it.
        "size_bytes": 70_000_000,
        "session_memory": 64 << 20,
        "blocks_per_round": 4,
    },
    "restart": {"vary": {"work": ("restart",)}},
    "convert": FILE_REWRITES,
    "backup": {"vary": {"work": BACKUPS}},
}

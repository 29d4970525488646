"""What the studies set otherwise for SQL Server, by the study's name; without an entry a study does not run on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tdelta.engines.shared.study_settings import SERIAL_LOAD, SERVER_WAREHOUSE

STUDIES: Mapping[str, Mapping[str, Any]] = {
    "warehouse": SERVER_WAREHOUSE,
    "direct-load": {"vary": SERIAL_LOAD},
    "read-only-sweep": {"scope": None},
    "dml-trace": {},
    "spill": {"vary": {}},
    "backup": {},
    "convert": {},
}

ON_OWN_SERVERS: Mapping[str, Mapping[str, Any]] = {
    "direct-load": {"vary": {"work": ("load",), "load_by": ("direct", "arrays")}},
    "backup": {
        "vary": {
            "work": (
                "backup",
                "backup:compress=server",
                "backup:compress=server:transfer=64",
                "backup:compress=server:transfer=1024",
                "restore:compress=server",
            )
        }
    },
    "convert": {"vary": {"during": ("encrypt", "rekey", "decrypt")}},
}
"""Compressed with the transfer size that the server chooses, with the one at which encrypted pages are compressed as
they are (64 KiB), and with a larger one, at which they are decrypted first."""

"""What the studies set otherwise for PostgreSQL, by the study's name; without an entry a study does not run on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tdelta.engines.shared.study_settings import SERIAL_LOAD, SERVER_BACKUPS, SERVER_WAREHOUSE

STUDIES: Mapping[str, Mapping[str, Any]] = {
    "direct-load": {"vary": SERIAL_LOAD},
    "read-only-sweep": {"scope": None},
    "warehouse": SERVER_WAREHOUSE,
    "dml-trace": {},
    "spill": {"vary": {}},
    "replicate": {},
    "restart": {},
    "convert": {"vary": {"during": ("encrypt:rate=25", "encrypt:rate=100", "encrypt")}},
    "backup": SERVER_BACKUPS,
}

"""What the studies set otherwise for MySQL, by the study's name; without an entry a study does not run on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tdelta.engines.shared.study_settings import SERIAL_LOAD, SERVER_BACKUPS, SERVER_WAREHOUSE

STUDIES: Mapping[str, Mapping[str, Any]] = {
    "direct-load": {"vary": SERIAL_LOAD},
    "read-only-sweep": {},
    "warehouse": SERVER_WAREHOUSE,
    "dml-trace": {},
    "spill": {"vary": {}, "scope": "data"},
    "replicate": {},
    "restart": {},
    "convert": {"vary": {"during": ("encrypt", "rotate")}},
    "backup": SERVER_BACKUPS,
}

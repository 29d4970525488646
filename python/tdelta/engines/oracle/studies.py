"""What the studies set otherwise for Oracle, by the study's name; without an entry a study does not run on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tdelta.engines.shared.study_settings import SERVER_WAREHOUSE

STUDIES: Mapping[str, Mapping[str, Any]] = {
    "warehouse": SERVER_WAREHOUSE,
    "direct-load": {},
    "read-only-sweep": {},
    "dml-trace": {},
    "spill": {},
    "convert": {},
}

ON_OWN_SERVERS: Mapping[str, Mapping[str, Any]] = {
    "direct-load": {"vary": {"work": ("load",), "load_by": ("direct", "arrays")}},
    "convert": {"vary": {"during": ("encrypt", "rekey", "decrypt")}},
}
"""The published load was a direct path load; arrays stand beside it."""

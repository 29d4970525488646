"""What the studies set otherwise for SQL Server, by the study's name; without an entry a study does not run on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tdelta.engines.shared.study_settings import SERIAL_LOAD, server_warehouse

STUDIES: Mapping[str, Mapping[str, Any]] = {
    "warehouse": server_warehouse(6),
    "direct-load": {"vary": SERIAL_LOAD},
    "read-only-sweep": {"scope": None},
    "dml-trace": {},
    "spill": {"vary": {}},
}

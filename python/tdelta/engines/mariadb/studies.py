"""What the studies set otherwise for MariaDB, by the study's name; without an entry a study does not run on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tdelta.engines.shared.study_settings import SERVER_BACKUPS, server_warehouse

STUDIES: Mapping[str, Mapping[str, Any]] = {
    "warehouse": server_warehouse(8),  # two rounds of four left it undecided
    "backup": SERVER_BACKUPS,
}

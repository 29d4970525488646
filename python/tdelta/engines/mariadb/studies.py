"""What the studies set otherwise for MariaDB, by the study's name; without an entry a study does not run on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tdelta.engines.shared.study_settings import SERVER_BACKUPS, SERVER_WAREHOUSE

STUDIES: Mapping[str, Mapping[str, Any]] = {
    "warehouse": SERVER_WAREHOUSE,
    "backup": SERVER_BACKUPS,
}

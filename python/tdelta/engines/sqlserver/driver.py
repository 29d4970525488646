"""SQL Server as a run sees it: on two servers of the user's alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from tdelta.engines.profile import EngineInfo
from tdelta.engines.shared.external import only
from tdelta.engines.sqlserver.profile import PROFILE
from tdelta.engines.sqlserver.worker import DRIVER


def driver(_options: Mapping[str, Any]) -> NoReturn:
    """Raises ``UsageError``: two servers are wanted."""
    only.refuse(PROFILE)


def listed() -> Iterator[EngineInfo]:
    return only.listed(PROFILE, DRIVER)

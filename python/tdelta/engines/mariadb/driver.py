from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tdelta.engines.mariadb.private import MariadbEngine
from tdelta.engines.mariadb.profile import PROFILE
from tdelta.engines.profile import EngineInfo
from tdelta.engines.shared.private import driver as private


def driver(options: Mapping[str, Any]) -> private.PrivateDriver:
    """The newest server that is found, or those that are asked for; raises as `private.made` does."""
    return private.made(PROFILE, options, MariadbEngine)


def listed() -> Iterator[EngineInfo]:
    return private.listed(PROFILE, MariadbEngine)

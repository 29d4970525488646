"""PostgreSQL as a run sees it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tdelta.engines.postgres.profile import PROFILE
from tdelta.engines.profile import EngineInfo
from tdelta.engines.shared import private_driver


def driver(options: Mapping[str, Any]) -> private_driver.PrivateDriver:
    """The server that is found, or the one that is asked for; see `private_driver.private_driver`."""
    return private_driver.private_driver(PROFILE, options)


def listed() -> Iterator[EngineInfo]:
    """What was found here."""
    return private_driver.listed(PROFILE)

"""MySQL as a run sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tdelta.engines.mysql.profile import PROFILE
from tdelta.engines.shared.private_driver import PrivateDriver, private_driver


def driver(options: Mapping[str, Any]) -> PrivateDriver:
    """The server that is found, or the one that is asked for; see `private_driver`."""
    return private_driver(PROFILE, options)

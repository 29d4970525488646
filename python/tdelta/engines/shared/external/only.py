"""Engines that are measured on servers of users and nowhere else, since nothing of theirs can be started here."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import NoReturn

from tdelta.engines.profile import EngineInfo, Profile
from tdelta.engines.shared.driven.driver import Driver
from tdelta.errors import UsageError
from tdelta.messages import Refusal

UNTRIED = "never run by us on a real server; report wanted: tdelta check-servers --baseline DSN --encrypted DSN"


def refuse(profile: Profile) -> NoReturn:
    """Say that two servers are wanted.

    Raises:
        UsageError: always.
    """
    raise UsageError(
        Refusal.of(
            "requires", what=profile.product, needs="--baseline and --encrypted: it is measured on your own two servers"
        )
    )


def listed(profile: Profile, driver: Driver) -> Iterator[EngineInfo]:
    """What it takes, in a few lines; available where the driver is installed."""
    address = profile.address
    if address is None:
        return
    try:
        found = version(driver.distribution)
    except PackageNotFoundError:
        found = None
    needs = [*address.needs, address.publishing, *([UNTRIED] if address.is_untried else [])]
    yield EngineInfo(
        name=profile.name,
        available=found is not None,
        version=None if found is None else f"driver {driver.distribution} {found}",
        ciphers=(),
        library=f"{profile.product}, your two servers: {address.schemes[0]}://USER@HOST:{address.port}/…",
        install=f"pip install 'tdelta[{profile.name}]'",
        notes="; ".join(filter(None, needs)),
    )

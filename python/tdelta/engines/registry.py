"""Every engine, one line each: a folder of this package, found by its name and imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType

from tdelta.engines.profile import Profile
from tdelta.workloads.dialect import Dialect

ENGINES: dict[str, str] = {
    "sqlite": "tdelta.engines.sqlite",
    "mariadb": "tdelta.engines.mariadb",
    "mysql": "tdelta.engines.mysql",
    "postgres": "tdelta.engines.postgres",
    "duckdb": "tdelta.engines.duckdb",
}
"""The package of each engine, in the order in which they are listed; its module ``profile`` holds ``PROFILE``."""

PLANNED: Mapping[str, Profile] = MappingProxyType(
    {
        planned.name: planned
        for planned in (
            Profile("oracle", "Oracle Database", Dialect("oracle", "oracle")),
            Profile("sqlserver", "SQL Server", Dialect("sqlserver", "tsql")),
        )
    }
)
"""Engines that this version cannot drive; workloads may be written for them."""


@cache
def profile(name: str) -> Profile:
    """An engine's profile.

    Raises:
        KeyError: there is no such engine.
    """
    found: Profile = import_module(f"{ENGINES[name]}.profile").PROFILE
    return found


def profiles() -> tuple[Profile, ...]:
    """All engines' that can be driven."""
    return tuple(profile(name) for name in ENGINES)


def servers() -> tuple[str, ...]:
    """The names of the engines that are servers."""
    return tuple(one.name for one in profiles() if one.is_server)


def dialects() -> Mapping[str, Dialect]:
    """Each engine's SQL, by the engine's name, planned engines included."""
    return {one.name: one.dialect for one in (*profiles(), *PLANNED.values())}

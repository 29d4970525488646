"""Every engine, one line each: a folder of this package, found by its name and imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tdelta.engines.profile import EngineInfo, Profile
from tdelta.errors import require_known
from tdelta.workloads.dialect import Dialect

if TYPE_CHECKING:
    from tdelta.engines.base import Engine

ENGINES: dict[str, str] = {
    "sqlite": "tdelta.engines.sqlite",
    "mariadb": "tdelta.engines.mariadb",
    "mysql": "tdelta.engines.mysql",
    "postgres": "tdelta.engines.postgres",
    "duckdb": "tdelta.engines.duckdb",
    "oracle": "tdelta.engines.oracle",
    "sqlserver": "tdelta.engines.sqlserver",
}
"""The package of each engine, in the order in which they are listed; its
module ``profile`` holds ``PROFILE``, and ``driver`` what makes it ready for a run."""


@cache
def profile(name: str) -> Profile:
    """An engine's profile.

    Raises:
        KeyError: there is no such engine.
    """
    found: Profile = import_module(f"{ENGINES[name]}.profile").PROFILE
    return found


def driver(name: str, options: Mapping[str, Any]) -> Engine:
    """Find an engine and make it ready to be planned with, of the values of all options of a run.

    Raises:
        UnknownName: there is no such engine.
        UsageError: it cannot be run as asked.
        EngineUnavailable: it is not installed.
    """
    require_known("engine", name, ENGINES)
    found: Engine = import_module(f"{ENGINES[name]}.driver").driver(options)
    return found


def server(name: str) -> Any:
    """The class of an engine's servers, a `tdelta.engines.server.base.ServerEngine`: ``SERVER`` of its driver."""
    return import_module(f"{ENGINES[name]}.driver").SERVER


def profiles() -> tuple[Profile, ...]:
    """All engines' that can be driven."""
    return tuple(profile(name) for name in ENGINES)


def defaults(name: str) -> Mapping[str, Any]:
    """The options that have another default on an engine than elsewhere, by their names; none for an unknown engine."""
    return profile(name).defaults if name in ENGINES else {}


def servers() -> tuple[str, ...]:
    """The names of the engines that are servers."""
    return tuple(one.name for one in profiles() if one.is_server)


def dialects() -> Mapping[str, Dialect]:
    """Each engine's SQL, by the engine's name."""
    return {one.name: one.dialect for one in profiles()}


def catalogue() -> tuple[EngineInfo, ...]:
    """Every engine, with what this machine and this version of tdelta can do."""
    return tuple(info for package in ENGINES.values() for info in import_module(f"{package}.driver").listed())

"""Which engines there are, and which of them can run here."""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.engines.sqlite import SqliteEngine
from tdelta.errors import EngineUnavailable, UnknownName, UsageError


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """One engine as ``tdelta engines`` lists it. ``install`` is the remedy where it is not ``available``."""

    name: str
    available: bool
    version: str | None
    ciphers: tuple[str, ...]
    library: str
    install: str
    notes: str = ""


_LATER = (
    ("duckdb", "DuckDB"),
    ("mariadb", "MariaDB"),
    ("mysql", "MySQL, Percona Server"),
    ("postgres", "PostgreSQL"),
    ("oracle", "Oracle Database"),
    ("sqlserver", "SQL Server"),
)


def catalogue() -> tuple[EngineInfo, ...]:
    """Every engine of the design, with what this machine and this version of tdelta can do."""
    sqlite = SqliteEngine()
    version = sqlite.version()
    ready = EngineInfo(
        name=sqlite.name,
        available=version is not None,
        version=version,
        ciphers=tuple(sqlite.ciphers),
        library="SQLite3 Multiple Ciphers, in the wheel apsw-sqlite3mc",
        install="pip install apsw-sqlite3mc",
        notes="embedded: needs no server",
    )
    planned = (
        EngineInfo(name, False, None, (), product, "", "planned: this version of tdelta cannot drive it yet")
        for name, product in _LATER
    )
    return (ready, *planned)


def engine(name: str) -> SqliteEngine:
    """The engine of that name.

    Raises:
        UnknownName: there is no such engine.
        UsageError: this version cannot drive it.
        EngineUnavailable: its library is not installed.
    """
    known = {info.name: info for info in catalogue()}
    if name not in known:
        raise UnknownName("engine", name, known)
    if name != SqliteEngine.name:
        raise UsageError(f"engine {name!r} is planned, but this version of tdelta cannot drive it: use --engine sqlite")
    if not known[name].available:
        raise EngineUnavailable(f"engine {name!r}: {known[name].library} is not installed: {known[name].install}")
    return SqliteEngine()

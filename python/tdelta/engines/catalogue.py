"""Which engines there are, and which of them can run here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tdelta.engines.sqlite import SqliteEngine
from tdelta.engines.sqlite_libraries import SQLITE3MC, WHEELS, Library
from tdelta.errors import EngineUnavailable, UnknownName, UsageError


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """One engine as ``tdelta engines`` lists it, or one library of it.

    ``install`` is the remedy where it is not ``available``. ``option`` is what ``--library`` takes to test it, empty
    where there is no choice; ``crypto`` says whose code encrypts (see `Library`), empty where that is not known.
    """

    name: str
    available: bool
    version: str | None
    ciphers: tuple[str, ...]
    library: str
    install: str
    notes: str = ""
    option: str = ""
    crypto: str = ""


_LATER = (
    ("duckdb", "DuckDB"),
    ("mariadb", "MariaDB"),
    ("mysql", "MySQL, Percona Server"),
    ("postgres", "PostgreSQL"),
    ("oracle", "Oracle Database"),
    ("sqlserver", "SQL Server"),
)

_NOTES = {
    "sqlite3mc": "embedded: needs no server; its own code encrypts, and asks the CPU for AES instructions",
    "sqlcipher": "embedded: needs no server; OpenSSL encrypts",
}


def catalogue(describe: Callable[[Library], str] | None = None) -> tuple[EngineInfo, ...]:
    """Every engine of the design, with what this machine and this version of tdelta can do.

    Args:
        describe: asks an installed library what it is (``SQLCipher 4.19.0 community, SQLite 3.53.1``); may raise
            `EngineUnavailable`. Without it, libraries are called by their products' names.
    """
    libraries = (_library(library, describe) for library in WHEELS.values())
    planned = (
        EngineInfo(name, False, None, (), product, "", "planned: this version of tdelta cannot drive it yet")
        for name, product in _LATER
    )
    return (*libraries, *planned)


def _library(library: Library, describe: Callable[[Library], str] | None) -> EngineInfo:
    """One of the libraries that the embedded engine can be tested with."""
    version = library.installed_version()
    available, name, notes = version is not None, library.product, _NOTES[library.name]
    if available and describe is not None:
        try:
            name = describe(library)
        except EngineUnavailable as fault:
            available, notes = False, str(fault)
    return EngineInfo(
        name=SqliteEngine.name,
        available=available,
        version=version,
        ciphers=tuple(library.ciphers),
        library=f"{name}, in the wheel {library.distribution}",
        install=library.install,
        notes=notes,
        option=library.name,
        crypto=library.crypto,
    )


def engine(name: str, library: Library = SQLITE3MC) -> SqliteEngine:
    """The engine of that name, with that library.

    Raises:
        UnknownName: there is no such engine.
        UsageError: this version cannot drive it.
        EngineUnavailable: its library is not installed.
    """
    known = {SqliteEngine.name, *(later for later, _ in _LATER)}
    if name not in known:
        raise UnknownName("engine", name, known)
    if name != SqliteEngine.name:
        raise UsageError(f"engine {name!r} is planned, but this version of tdelta cannot drive it: use --engine sqlite")
    made = SqliteEngine(library)
    if made.version() is None:
        wheel = f"{library.product}, in the wheel {library.distribution}"
        raise EngineUnavailable(f"engine {name!r}: {wheel}, is not installed: {library.install}")
    return made

"""Which engines there are, and which of them can run here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tdelta.engines.duckdb.engine import DuckdbEngine
from tdelta.engines.registry import PLANNED, profiles
from tdelta.engines.servers import ServerBinary, ServerEngine
from tdelta.engines.sqlite.engine import SqliteEngine
from tdelta.engines.sqlite.libraries import WHEELS, Library
from tdelta.errors import EngineUnavailable


@dataclass(frozen=True, slots=True)
class Unusable:
    """A server that was found and cannot be tested as it is; ``why`` has the remedy."""

    binary: ServerBinary
    why: str


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


_NOTES = {
    "sqlite3mc": "embedded: needs no server; its own code encrypts, and asks the CPU for AES instructions",
    "sqlcipher": "embedded: needs no server; OpenSSL encrypts",
}


def catalogue(
    describe: Callable[[Library], str] | None = None,
    servers: Iterable[ServerEngine | Unusable] = (),
    remedies: Mapping[str, str] = MappingProxyType({}),
) -> tuple[EngineInfo, ...]:
    """Every engine of the design, with what this machine and this version of tdelta can do.

    Args:
        describe: asks an installed library what it is (``SQLCipher 4.19.0 community, SQLite 3.53.1``); may raise
            `EngineUnavailable`. Without it, libraries are called by their products' names.
        servers: the servers that were found here, ready to be driven, or why one cannot be.
        remedies: how to come by a server, by the engine's name.
    """
    libraries = (_library(library, describe) for library in WHEELS.values())
    planned = (
        EngineInfo(one.name, False, None, (), one.product, "", "planned: this version of tdelta cannot drive it yet")
        for one in PLANNED.values()
    )
    return (*libraries, *_found_servers(tuple(servers), remedies), _duckdb(DuckdbEngine()), *planned)


def _duckdb(engine: DuckdbEngine) -> EngineInfo:
    """DuckDB with the module that it cannot encrypt without."""
    available, notes = True, "embedded: needs no server; OpenSSL encrypts, out of the module httpfs, or mbedtls"
    try:
        engine.require()
    except EngineUnavailable as fault:
        available, notes = False, str(fault)
    return EngineInfo(
        name=engine.name,
        available=available,
        version=engine.version(),
        ciphers=tuple(engine.ciphers) if available else (),
        library=", ".join((engine.product, *(f"{name} {found}" for name, found in engine.versions().items()))),
        install=engine.install,
        notes=notes,
        crypto=engine.crypto if available else "",
    )


def _found_servers(servers: tuple[ServerEngine | Unusable, ...], remedies: Mapping[str, str]) -> Iterable[EngineInfo]:
    """Every server that was found, and a line for each kind of which there is none."""
    for name, product in ((one.name, one.product) for one in profiles() if one.is_server):
        found = [engine for engine in servers if engine.binary.kind == name]
        yield from (_unusable(e, product) if isinstance(e, Unusable) else _server(e, remedies) for e in found)
        if not found:
            yield EngineInfo(name, False, None, (), product, remedies.get(name, ""))


def _unusable(found: Unusable, product: str) -> EngineInfo:
    return EngineInfo(found.binary.kind, False, found.binary.version, (), f"{product}, {found.binary.path}", found.why)


def _server(engine: ServerEngine, remedies: Mapping[str, str]) -> EngineInfo:
    binary = engine.binary
    scopes = ", ".join(scope for scope in engine.scopes if scope != "none")
    return EngineInfo(
        name=engine.name,
        available=True,
        version=binary.version,
        ciphers=tuple(engine.ciphers),
        library=f"{binary.product}, {binary.path}",
        install=remedies.get(engine.name, ""),
        notes=f"server: started privately for each twin; scopes: {scopes}",
        crypto=engine.crypto,
    )


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

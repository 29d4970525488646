"""DuckDB found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tdelta.engines.duckdb.engine import DuckdbEngine
from tdelta.engines.duckdb.profile import PROFILE
from tdelta.engines.profile import EngineInfo
from tdelta.errors import EngineUnavailable


def driver(_options: Mapping[str, Any]) -> DuckdbEngine:
    engine = DuckdbEngine()
    engine.require()
    return engine


def listed() -> Iterator[EngineInfo]:
    engine, available = DuckdbEngine(), True
    notes = "embedded: needs no server; OpenSSL encrypts, out of the module httpfs, or mbedtls"
    try:
        engine.require()
    except EngineUnavailable as fault:
        available, notes = False, str(fault)
    yield EngineInfo(
        name=PROFILE.name,
        available=available,
        version=engine.version(),
        ciphers=tuple(engine.ciphers) if available else (),
        library=", ".join((engine.product, *(f"{name} {found}" for name, found in engine.versions().items()))),
        install=engine.install,
        notes=notes,
        crypto=engine.crypto if available else "",
    )

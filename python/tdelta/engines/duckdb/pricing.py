"""Have a worker of its own, with a twin's environment, say what DuckDB's blocks cost."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tdelta import own_folders
from tdelta.driver.workers import Worker
from tdelta.engines.duckdb.engine import DuckdbEngine, DuckdbSettings
from tdelta.engines.duckdb.statements import BLOCK_BYTES
from tdelta.measure import effort

_SECONDS = 300.0
_MEMORY_MIB = 512
"""Room for all blocks that are priced, whatever the twin's queries have."""


def ask_block_prices(
    engine: DuckdbEngine, program: str, home: Path, environment: Mapping[str, str], settings: DuckdbSettings
) -> dict[str, object]:
    """What a block of an encrypted twin costs, pass by pass, with as many threads as its queries have.

    It takes some seconds, and two or three files of 8 MiB (twice that for a moment) in ``home``, which is removed.

    Raises:
        StorageFault: the disk is full, or a file cannot be read or written.
        TdeltaError: DuckDB cannot do it; the message is its own.
        WorkerFault: the worker died.
    """
    cipher = engine.ciphers[settings.cipher]
    levels = {"plain": "none", "encrypted": settings.cipher, "bare": cipher.without_mac}
    files = {name: _options(engine, home / name, settings, level) for name, level in levels.items() if level}
    # A scan in software is thirty times as long.
    request: dict[str, Any] = {"files": files, "repeats": 1 if cipher.is_mbedtls else effort.BLOCK_REPEATS}
    try:
        with Worker(environment, program) as worker:
            answer = worker.ask("price", seconds=_SECONDS, **request, least_seconds=effort.BLOCK_SECONDS)
    finally:
        own_folders.remove(home)
    return {
        "page_bytes": BLOCK_BYTES,
        "counted": "blocks",
        "cipher": f"{settings.cipher} of {'mbedtls' if cipher.is_mbedtls else 'OpenSSL'}",
        "mac": "" if cipher.mode != "GCM" else "GHASH" if cipher.without_mac is None else "what GCM takes beyond CTR",
        "passes": answer["passes"],
    }


def _options(engine: DuckdbEngine, path: Path, settings: DuckdbSettings, level: str) -> dict[str, object]:
    given = dataclasses.replace(settings, cipher=level, memory_mib=_MEMORY_MIB)
    return engine.options(path, given, secrets.token_hex(32) if engine.needs_key(level) else None)

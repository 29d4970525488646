"""Have a worker of its own, with a twin's environment, say what Turso's pages cost."""

from __future__ import annotations

import dataclasses
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from tdelta.driver.workers import Worker
from tdelta.engines.turso.engine import TursoEngine, TursoSettings
from tdelta.engines.turso.page_prices import PAGES
from tdelta.engines.turso.proof import PAGE_BYTES
from tdelta.measure import price_effort

_SECONDS = 120.0


def ask_page_prices(
    engine: TursoEngine, program: str, home: Path, environment: Mapping[str, str], settings: TursoSettings
) -> dict[str, object]:
    """What a page of an encrypted twin costs, pass by pass; see `tdelta.engines.turso.page_prices`.

    It takes some tenths of a second, and two files of 2 MiB with their logs in ``home``, which is made and removed.

    Raises:
        StorageFault: the disk is full, or a file cannot be read or written.
        TdeltaError: Turso cannot do it; the message is its own.
        WorkerFault: the worker died.
    """
    levels = {"plain": "none", "encrypted": settings.cipher}
    try:
        home.mkdir(exist_ok=True)
        files = {name: _options(engine, home / name, settings, level) for name, level in levels.items()}
        with Worker(environment, program) as worker:
            answer = worker.ask("price", seconds=_SECONDS, files=files, passes=price_effort.PASSES)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return {
        "page_bytes": PAGE_BYTES,
        "counted": "bytes",
        "cipher": settings.cipher,
        "mac": "the tag of AEGIS" if settings.cipher.startswith("aegis") else "GHASH",
        "passes": answer["passes"],
    }


def _options(engine: TursoEngine, path: Path, settings: TursoSettings, level: str) -> dict[str, object]:
    given = dataclasses.replace(settings, cipher=level, threads=1, cache_bytes=4 * PAGES * PAGE_BYTES)
    return engine.options(path, given, secrets.token_hex(engine.key_bytes(level)) if engine.needs_key(level) else None)

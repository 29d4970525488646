"""Have a worker of its own, with a condition's environment and library, say what its pages cost."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Mapping
from typing import Any

from tdelta.driver.files import TwinFolder
from tdelta.driver.workers import Worker
from tdelta.engines.sqlite.engine import WORKER, SqliteEngine, TwinSettings
from tdelta.engines.sqlite.page_prices import PAGES, SPARE_BYTES
from tdelta.measure import effort

_SECONDS = 120.0
_SMALLEST_PAGE = 1024
"""In shorter pages a row and what is reserved leave no room for one another."""


def ask_prices(
    engine: SqliteEngine, folder: TwinFolder, environment: Mapping[str, str], settings: TwinSettings
) -> dict[str, object] | None:
    """What a page costs under these settings, pass by pass; None for pages too short to tell.

    It takes some tenths of a second, and three files of 2,048 pages in the folder.

    Raises:
        StorageFault: the disk is full, or a file cannot be opened.
        TdeltaError: the library cannot do it; the message is its own.
        WorkerFault: the worker died.
    """
    if settings.page_size < _SMALLEST_PAGE:
        return None
    cipher = engine.ciphers[settings.cipher]
    names = ["plain", "encrypted", *(["bare"] if cipher.without_mac is not None else [])]
    paths = {name: folder.file(f"price-{name}") for name in names}
    try:
        files = {name: _options(engine, str(path), settings, name) for name, path in paths.items()}
        with Worker(environment, WORKER) as worker:
            body = settings.page_size - settings.reserved_bytes - SPARE_BYTES
            order: dict[str, Any] = {"library": engine.library.name, "files": files, "body_bytes": body}
            answer = worker.ask("price", seconds=_SECONDS, **order, passes=effort.PASSES)
    finally:
        for path in paths.values():
            folder.remove(path)
    return {
        "page_bytes": settings.page_size,
        "counted": "bytes" if engine.encrypts_what_is_moved else "cache",
        "cipher": engine.cipher_words(settings.cipher),
        "mac": cipher.mac,
        "passes": answer["passes"],
    }


def _options(engine: SqliteEngine, path: str, settings: TwinSettings, name: str) -> dict[str, object]:
    given = dataclasses.replace(
        settings,
        cipher="none" if name == "plain" else settings.cipher,
        journal_mode="off",
        synchronous="off",
        threads=1,
        key_kind=engine.key_kind(None, connects=False),
    )
    key = None if name == "plain" else secrets.token_hex(32)
    small = dataclasses.replace(given, cache_bytes=1024)
    large = dataclasses.replace(given, cache_bytes=4 * PAGES * settings.page_size)
    options = {
        "create": engine.create_options(path, given, key),
        "reading": engine.open_options(path, small, key),
        "writing": engine.open_options(path, large, key),
    }
    if name == "bare":
        pragmas = engine.pragmas_without_mac(settings)
        options = {what: {**values, "cipher_pragmas": pragmas} for what, values in options.items()}
    return dict(options)

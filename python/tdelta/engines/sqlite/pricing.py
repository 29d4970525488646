"""Have a worker of its own, with a condition's environment and library, say what its pages cost."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Mapping
from typing import Any

from tdelta.driver.files import TwinFolder
from tdelta.driver.protocol import CipherProof
from tdelta.driver.workers import Worker
from tdelta.engines.sqlite.engine import WORKER, SqliteEngine, TwinSettings
from tdelta.engines.sqlite.page_prices import PAGES, SPARE_BYTES
from tdelta.engines.sqlite.pages import PAGE_BYTES
from tdelta.measure import effort
from tdelta.measure.aes import PreloadMode

# Proof that a worker's AES instructions are what its environment says: its own library decrypts pages, and is
# timed.
#
# A variable that is misspelt, a library that was linked otherwise, a preload that the loader could not load:
# each leaves the instructions on without a word. So every level is shown by what a page costs, in a worker
# like those that trials run in, with the library that they run on.

_PROOF_SECONDS = 120.0
_PLAIN = "none"
_KEY_BYTES = 32


def prove(
    engine: SqliteEngine, folder: TwinFolder, environment: Mapping[str, str], cipher: str | None = None
) -> CipherProof:
    """Time a page cipher in a worker of its own; as `ask_proof`."""
    with Worker(environment, WORKER) as worker:
        return ask_proof(worker, engine, folder, cipher)


def ask_proof(worker: Worker, engine: SqliteEngine, folder: TwinFolder, cipher: str | None = None) -> CipherProof:
    """Have a worker time a page cipher. It takes some tenths of a second and 4 MB in the folder.

    Args:
        folder: where the two files are for so long; one proof at a time.
        cipher: a level of the factor ``cipher`` other than ``none``; the engine's ``proof_cipher`` if not given.

    Raises:
        StorageFault: the disk is full, or a file cannot be opened.
        TdeltaError: the library cannot do it; the message is its own.
        WorkerFault: the worker died.
    """
    cipher = cipher or engine.proof_cipher
    paths = {name: folder.file(f"prove-{name}") for name in ("plain", "encrypted")}
    settings = _settings(engine, cipher)
    keys = {"plain": None, "encrypted": secrets.token_hex(_KEY_BYTES)}
    files = {
        name: {
            "create": engine.create_options(str(path), settings[name], keys[name]),
            "open": engine.open_options(str(path), settings[name], keys[name]),
        }
        for name, path in paths.items()
    }
    try:
        answer = worker.ask("prove", seconds=_PROOF_SECONDS, library=engine.library.name, files=files)
    finally:
        for path in paths.values():
            folder.remove(path)
    return CipherProof(cipher=cipher, **answer | {"mode": PreloadMode(answer["mode"])})


def _settings(engine: SqliteEngine, cipher: str) -> dict[str, TwinSettings]:
    """How the plain and the encrypted file are made: equal but for the cipher, with next to no cache."""
    reserved = engine.reserved_bytes((_PLAIN, cipher))
    return {
        name: TwinSettings(
            cipher=level,
            page_size=PAGE_BYTES,
            journal_mode="delete",
            synchronous="off",
            reserved_bytes=reserved,
            threads=1,
            cache_bytes=1024,
            key_kind=engine.key_kind(None, connects=False),
        )
        for name, level in (("plain", _PLAIN), ("encrypted", cipher))
    }


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

"""Proof that a worker's AES instructions are what its environment says: its own library decrypts pages, and is timed.

A variable that is misspelt, a library that was linked otherwise, a preload that the loader could not load: each leaves
the instructions on without a word. So every level is shown by what a page costs, in a worker like those that trials run
in, with the library that they run on.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from tdelta.driver.files import TwinFolder
from tdelta.driver.protocol import CipherProof
from tdelta.driver.workers import Worker
from tdelta.engines.sqlite.engine import WORKER, SqliteEngine, TwinSettings
from tdelta.engines.sqlite.pages import PAGE_BYTES
from tdelta.measure.aes import PreloadMode

_SECONDS = 120.0
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
        worker: the process that is to show its level.
        engine: whose library, and how it is told its cipher and key.
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
        answer = worker.ask("prove", seconds=_SECONDS, library=engine.library.name, files=files)
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

"""Have a worker, with a condition's environment and library, measure what a page or block costs.

Such a price also proves whether a worker has AES instructions: with a misspelled variable, a library that was linked
differently or a preload that failed to load, they stay on silently. So each level is confirmed by the price of a page,
measured with the library under test in the same kind of worker as the trials.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdelta import own_folders
from tdelta.errors import StorageFault
from tdelta.measure.aes import PreloadMode
from tdelta.measure.private import FOLDER_MODE
from tdelta.messages import Refusal
from tdelta.processes.files import TwinFolder
from tdelta.processes.protocol import CipherProof
from tdelta.processes.workers import Worker

if TYPE_CHECKING:
    from tdelta.engines.embedded.engine import Embedded

_PROOF_SECONDS = 120.0
_PRICE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Pricing:
    """How unit costs are measured, and what they are of.

    ``files`` say how a worker makes a ``plain`` and an ``encrypted`` file, and a ``bare`` one where there is the same
    cipher without its MAC; they hold keys. ``effort`` are the arguments of `tdelta.engines.embedded.prices.prices`. In
    the facts are ``page_bytes`` of what is encrypted at once, what that is ``counted`` by in a trial (``bytes``,
    ``cache`` or ``blocks``), and the ``cipher`` and ``mac`` for people.
    """

    files: Mapping[str, object]
    effort: Mapping[str, float]
    facts: Mapping[str, object]

    def __repr__(self) -> str:
        return "Pricing()"


def new_key() -> str:
    return secrets.token_hex(32)


def ask_proof(worker: Worker, engine: Embedded, folder: TwinFolder, cipher: str, settings: Any) -> CipherProof:
    """Have a worker time a page cipher. It takes some tenths of a second, and some MB in the folder."""
    with _home(folder, "proof") as home:
        files = engine.proof_files(home, cipher, settings)
        answer = worker.ask("prove", seconds=_PROOF_SECONDS, files=files)
    return CipherProof(cipher=cipher, **answer | {"mode": PreloadMode(answer["mode"])})


def ask_prices(
    engine: Embedded, folder: TwinFolder, environment: Mapping[str, str], settings: Any
) -> dict[str, object] | None:
    """The cost of a page under these settings, one value per pass; None where it is not measured.

    It takes some seconds at most, and two or three files of some MB in the folder. Raises as `ask_proof` does.
    """
    with _home(folder, "prices") as home:
        pricing = engine.pricing(home, settings)
        if pricing is None:
            return None
        with Worker(environment, engine.program) as worker:
            answer = worker.ask("price", seconds=_PRICE_SECONDS, files=pricing.files, effort=pricing.effort)
    return {**pricing.facts, "passes": answer["passes"]}


@contextlib.contextmanager
def _home(folder: TwinFolder, name: str) -> Iterator[Path]:
    home = folder.path / name
    try:
        home.mkdir(FOLDER_MODE, exist_ok=True)
    except OSError as error:
        raise StorageFault(Refusal.of("folder-unusable", folder=home, fault=error.strerror)) from error
    try:
        yield home
    finally:
        own_folders.remove(home)

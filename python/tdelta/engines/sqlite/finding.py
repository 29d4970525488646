"""Which SQLite library a request means, and what that library says of itself, asked in a short-lived worker.

A library is never loaded into the parent: it could bring a second SQLite, or end the process it is loaded into.
"""

from __future__ import annotations

import os
from pathlib import Path

from tdelta.driver.workers import Worker
from tdelta.engines.sqlite.engine import WORKER
from tdelta.engines.sqlite.libraries import WHEELS, Library
from tdelta.errors import EngineUnavailable, UnknownName, UsageError, WorkerFault
from tdelta.messages import Refusal


def find_library(text: str) -> Library:
    """The library that ``--library`` names; one by path is loaded once, to ask what it is.

    Raises:
        UsageError: neither a name nor the path of a file.
        EngineUnavailable: the file is no SQLite library that tdelta can drive.
    """
    if text in WHEELS:
        return WHEELS[text]
    path = Path(text)
    if os.sep not in text and not path.exists():
        unknown = str(UnknownName("library", text, WHEELS))
        raise UsageError(Refusal.of("unknown-library", engine="SQLite", unknown=unknown, separator=os.sep))
    if not path.is_file():
        raise UsageError(Refusal.of("no-library", engine="SQLite", library=text))
    name = str(path.absolute())
    facts = ask_library(name)
    return Library(name, facts["kind"], facts["crypto"], version=facts["version"], sha256=facts["sha256"])


def describe_library(library: Library) -> str:
    """What an installed library is, with the versions of what is in it.

    Raises:
        EngineUnavailable: it cannot be loaded.
    """
    return ask_library(library.name)["text"]


def ask_library(name: str) -> dict[str, str]:
    """What a library says of itself: ``kind``, ``crypto``, ``version``, ``text`` (all of it), and its ``sha256``.

    Args:
        name: as in `Library`.

    Raises:
        EngineUnavailable: it cannot be loaded.
    """
    try:
        with Worker(program=WORKER) as worker:
            return worker.ask("library", library=name)
    except WorkerFault as fault:
        raise EngineUnavailable(Refusal.of("library-not-loaded", library=name, fault=fault)) from fault

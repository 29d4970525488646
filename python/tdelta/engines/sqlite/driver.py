"""SQLite found: the libraries that are installed or named."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tdelta.engines.profile import EngineInfo
from tdelta.engines.sqlite.engine import LIBRARY, WORKER, SqliteEngine
from tdelta.engines.sqlite.libraries import WHEELS, Library
from tdelta.engines.sqlite.profile import PROFILE
from tdelta.errors import EngineUnavailable, UnknownName, UsageError, WorkerFault
from tdelta.messages import Refusal
from tdelta.processes.workers import Worker


def find_library(text: str) -> Library:
    """The library that ``--library`` names; one by path is loaded once, to ask what it is."""
    if text in WHEELS:
        return WHEELS[text]
    path = Path(text)
    if os.sep not in text and not path.exists():
        unknown = str(UnknownName("library", text, WHEELS))
        raise UsageError(Refusal.of("unknown-library", engine="SQLite", unknown=unknown, separator=os.sep))
    if not path.is_file():
        raise UsageError(Refusal.of("path-unusable", path=text, fault="not a SQLite shared library"))
    name = str(path.absolute())
    facts = ask_library(name)
    return Library(name, facts["kind"], facts["crypto"], version=facts["version"], sha256=facts["sha256"])


def ask_library(name: str) -> dict[str, str]:
    """A library's own description: ``kind``, ``crypto``, ``version``, ``text`` (all of it), and its ``sha256``."""
    try:
        with Worker(program=WORKER) as worker:
            return worker.ask("library", library=name)
    except WorkerFault as fault:
        raise EngineUnavailable(Refusal.of("path-unusable", path=name, fault=fault)) from fault


def driver(options: Mapping[str, Any]) -> SqliteEngine:
    asked = [str(name) for name in options.get("vary", {}).get(LIBRARY, ())]
    if asked:
        versions = _compared(asked, is_mixed=options.get("contrast") == LIBRARY)
        return SqliteEngine(next(iter(versions.values())).library, versions)
    library = find_library(options["library"])
    _require_installed(library)
    return SqliteEngine(library)


def _require_installed(library: Library) -> None:
    if library.installed_version() is None:
        wheel = f"{library.product}, in the wheel {library.distribution}"
        raise EngineUnavailable(
            Refusal.of("library-not-installed", engine=PROFILE.name, wheel=wheel, install=library.install)
        )


def _compared(asked: Sequence[str], *, is_mixed: bool) -> dict[str, SqliteEngine]:
    """The libraries that a run sets beside each other, by their versions, all of one kind unless they may be mixed."""
    found: dict[str, Library] = {}
    faults: list[Refusal] = []
    for name in asked:
        try:
            library = find_library(name)
            _require_installed(library)
            said = ask_library(library.name)
            found[name] = replace(library, version=said["version"], sha256=said["sha256"])
        except (UsageError, EngineUnavailable) as fault:
            faults += (said.at(f"--vary {LIBRARY}") for said in fault.refusals)
    kinds = dict.fromkeys(library.product for library in found.values())
    if len(kinds) > 1 and not is_mixed:
        faults.append(Refusal.of("libraries-of-several-kinds", found=", ".join(kinds)).at(f"--vary {LIBRARY}"))
    if faults:
        raise UsageError(*faults)
    texts = {name: str(library.version) for name, library in found.items()}
    shown = list(texts.values())
    labels = {name: text if shown.count(text) == 1 else f"{text} ({name})" for name, text in texts.items()}
    return {labels[name]: SqliteEngine(library) for name, library in found.items()}


_NOTES = {
    "sqlite3mc": "embedded: needs no server; its own code encrypts, and asks the CPU for AES instructions",
    "sqlcipher": "embedded: needs no server; OpenSSL encrypts",
}


def listed() -> Iterator[EngineInfo]:
    return map(_listed, WHEELS.values())


def _listed(library: Library) -> EngineInfo:
    version = library.installed_version()
    available, name, notes = version is not None, library.product, _NOTES[library.name]
    if available:
        try:
            name = ask_library(library.name)["text"]
        except EngineUnavailable as fault:
            available, notes = False, str(fault)
    return EngineInfo(
        name=PROFILE.name,
        available=available,
        version=version,
        ciphers=tuple(library.ciphers),
        library=f"{name}, in the wheel {library.distribution}",
        install=library.install,
        notes=notes,
        option=library.name,
        crypto=library.crypto,
    )

"""SQLite as a run sees it: every twin a file and a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tdelta.design.actions import NOTHING, parse_action
from tdelta.design.factors import DEFAULT_PAGE_SIZE
from tdelta.driver import AnyJob, TwinFolder, WorkloadSpec
from tdelta.driver.backups import backup_checks
from tdelta.driver.workers import Worker
from tdelta.engines.capabilities import Build, Template
from tdelta.engines.layout import ResourceEstimate, RunLayout
from tdelta.engines.profile import EngineInfo
from tdelta.engines.shared.estimates import of_files
from tdelta.engines.sqlite.actions import actions_of
from tdelta.engines.sqlite.backups import tools_of
from tdelta.engines.sqlite.engine import WORKER, SqliteEngine, TwinSettings
from tdelta.engines.sqlite.libraries import WHEELS, Library
from tdelta.engines.sqlite.messages import SqliteRefusal
from tdelta.engines.sqlite.profile import PROFILE
from tdelta.engines.sqlite.twins import ONE_LIBRARY, SqliteTwins
from tdelta.engines.sqlite.user_file import FileCopy, UserFile
from tdelta.errors import EngineUnavailable, UnknownName, UsageError, WorkerFault
from tdelta.messages import Detail, Refusal
from tdelta.records import Condition, Level


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
        raise UsageError(Refusal.of("path-unusable", path=text, fault="not a SQLite shared library"))
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

    Raises:
        EngineUnavailable: it cannot be loaded.
    """
    try:
        with Worker(program=WORKER) as worker:
            return worker.ask("library", library=name)
    except WorkerFault as fault:
        raise EngineUnavailable(Refusal.of("path-unusable", path=name, fault=fault)) from fault


LIBRARY = "library"
"""The factor whose levels are libraries."""

_LEAST_USABLE_BYTES = 480


def driver(options: Mapping[str, Any]) -> SqliteDriver:
    """SQLite with the library that is asked for.

    Raises:
        UsageError: there is no such library.
        EngineUnavailable: it is not installed.
    """
    asked = [str(name) for name in options.get("vary", {}).get(LIBRARY, ())]
    if asked:
        versions = _compared(asked, is_mixed=options.get("contrast") == LIBRARY)
        return SqliteDriver(next(iter(versions.values())), versions)
    library = find_library(options["library"])
    _require_installed(library)
    return SqliteDriver(SqliteEngine(library))


def _require_installed(library: Library) -> None:
    if library.installed_version() is None:
        wheel = f"{library.product}, in the wheel {library.distribution}"
        raise EngineUnavailable(
            Refusal.of("library-not-installed", engine=PROFILE.name, wheel=wheel, install=library.install)
        )


def _compared(asked: Sequence[str], *, is_mixed: bool) -> dict[str, SqliteEngine]:
    """The libraries that a run sets beside each other, by their versions, all of one kind unless they may be mixed.

    Raises:
        UsageError: what is wrong with any of them, at once.
    """
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


class SqliteDriver:
    """One SQLite library as a run sees it; see `tdelta.engines.capabilities.Engine`."""

    profile = PROFILE

    def __init__(self, engine: SqliteEngine, versions: Mapping[str, SqliteEngine] = ONE_LIBRARY) -> None:
        self.engine = engine
        self._versions = versions

    def versions_compared(self) -> Mapping[str, Mapping[str, Build]]:
        libraries = {name: engine.library for name, engine in self._versions.items()}
        builds = {name: Build(one.identity(), partial(str, one.sha256)) for name, one in libraries.items()}
        return {LIBRARY: builds} if builds else {}

    def _of(self, settings: TwinSettings) -> SqliteEngine:
        return self._versions.get(settings.library, self.engine)

    @property
    def crypto(self) -> str:
        return self.engine.crypto

    @property
    def ciphers(self) -> tuple[str, ...]:
        return tuple(self.engine.ciphers)

    @property
    def product(self) -> str:
        return self.engine.library.product

    def versions(self) -> dict[str, str]:
        if self._versions:
            return {"libraries": " and ".join(self._versions)}
        return self.engine.library.versions()

    def identity(self) -> str:
        engines = self._versions.values() or (self.engine,)
        return "; ".join(engine.library.identity() for engine in engines)

    def option_checks(
        self, options: Mapping[str, Any], levels: Mapping[str, Sequence[Level]]
    ) -> Iterator[Callable[[], object]]:
        """What a pragma must take, how keys are given, and whether pages can spare what ciphers keep."""
        yield partial(self.engine.check_synchronous, options["synchronous"])
        yield partial(self.engine.check_temp_store, options["temp_store"])
        yield partial(self.engine.key_kind, options["key"], connects=False)
        yield partial(self._check_reserved, options, levels)
        yield partial(self._check_beside, levels, has_own_rows=options["database"] is not None)
        yield from backup_checks(tools_of(self.engine.library), levels)

    def actions(self, factor: str) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """What can be done to a file; beside a load it can be backed up."""
        actions = actions_of(self.engine.library)
        found = {name: action for name, action in actions.items() if factor == "work" or action.is_during}
        return {name: {**dict.fromkeys(action.knobs, ()), **action.choices} for name, action in found.items()}

    def _check_beside(self, levels: Mapping[str, Sequence[Level]], *, has_own_rows: bool) -> None:
        """Say why most does not go on beside a load, and nothing beside that on a user's rows."""
        beside = {parse_action(str(level)).name for level in levels.get("during", ()) if level != NOTHING}
        if beside and has_own_rows:
            raise UsageError(Refusal.of("conflict", one="--database", other="--vary during=…"))
        if wrong := sorted(beside - self.actions("during").keys()):
            raise UsageError(SqliteRefusal.of("locks-beside-load", actions=",".join(wrong)))

    def check_cipher(self, cipher: str) -> None:
        """Raise ``UsageError`` for a cipher that this library does not have."""
        self.engine.check_ciphers([cipher])

    def recorded_key(self, asked: str | None, *, connects: bool) -> str | None:
        """How keys are given, where there is a choice."""
        if not self.engine.has_choice_of_keys():
            return asked
        return self.engine.key_kind(asked, connects=connects)

    def settings(self, layout: RunLayout, condition: Condition, data_bytes: int) -> TwinSettings:
        levels, options = dict(condition.levels), layout.options
        cipher = str(levels["cipher"])
        return TwinSettings(
            cipher=cipher,
            page_size=int(levels.get("page_size", _page_size(layout))),
            journal_mode="wal",
            synchronous=options["synchronous"],
            reserved_bytes=self._reserved_bytes(layout),
            threads=int(levels["threads"]),
            cache_bytes=layout.cache_bytes(condition, data_bytes),
            key_kind=self.engine.key_kind(options["key"], connects=layout.connects),
            aes_instructions=str(levels.get("aes_instructions", "on")),
            temp_store=options["temp_store"],
            is_cold=layout.is_cold(condition),
            library=str(levels.get(LIBRARY, "")),
        )

    def template(self, settings: TwinSettings) -> Template:
        words = f"{settings.cipher}, pages of {settings.page_size} bytes"
        if settings.library:
            return Template((settings.cipher, settings.page_size, settings.library), f"{words}, {settings.library}")
        return Template((settings.cipher, settings.page_size), words)

    def page_size(self, settings: TwinSettings) -> int | None:
        """The bytes of a page of an encrypted twin."""
        return settings.page_size if self.engine.needs_key(settings.cipher) else None

    def described(self, settings: TwinSettings, facts: Mapping[str, str]) -> str:
        if settings.cipher == "none":
            return "a plain file"
        return ", ".join(f"{name} {facts[name]}" for name in self.engine.ciphers[settings.cipher].in_force)

    def fault(self, settings: TwinSettings, facts: Mapping[str, str]) -> Detail | None:
        return self.engine.cipher_fault(settings.cipher, facts)

    def differing(self, settings: TwinSettings) -> tuple[str, ...]:
        """The cipher itself, by the name it has here: its settings are in the check of the cipher in force."""
        return (f"cipher {settings.cipher}",) if self.engine.needs_key(settings.cipher) else ()

    def estimate(self, layout: RunLayout) -> ResourceEstimate:
        return of_files(self, layout, times_calls=self.engine.calls_openssl)

    def make_twins(self, folder: TwinFolder, job: AnyJob, mix: WorkloadSpec) -> SqliteTwins:
        return SqliteTwins(self.engine, folder, job, mix, self._versions)

    def user_file(self, file: Path) -> UserFile:
        """A user's database, found; twins are conversions of a copy."""
        return UserFile(self.engine, file)

    def check_layout(self, layout: RunLayout) -> None:
        """A page must leave SQLite 480 bytes to use (https://sqlite.org/fileformat2.html, offset 20 of the header).

        Raises:
            UsageError: one does not.
        """
        kinds = {self.settings(layout, condition, 0) for condition in layout.conditions}
        narrow = sorted({k.page_size for k in kinds if k.page_size - k.reserved_bytes < _LEAST_USABLE_BYTES})
        if narrow:
            kept = max(kind.reserved_bytes for kind in kinds)
            found = {"page_size": narrow[0], "usable": narrow[0] - kept, "reserved": kept}
            raise UsageError(Refusal.of("narrow-page", least=_LEAST_USABLE_BYTES, **found))

    def _reserved_bytes(self, layout: RunLayout) -> int:
        """The most that a cipher of the run needs, or the user's file keeps."""
        own = layout.copy.layout.reserved_bytes if isinstance(layout.copy, FileCopy) else 0
        return max(own, self.engine.reserved_bytes(layout.ciphers))

    def _check_reserved(self, options: Mapping[str, Any], levels: Mapping[str, Sequence[Level]]) -> None:
        known = [cipher for cipher in map(str, levels.get("cipher", ())) if cipher in self.engine.ciphers]
        asked = DEFAULT_PAGE_SIZE if options["page_size"] is None else options["page_size"]
        for page_size in levels.get("page_size", (asked,)):
            self.engine.check_reserved(["none", *known], page_size if isinstance(page_size, int) else 0)


def _page_size(layout: RunLayout) -> int:
    own = layout.copy.layout.page_size if isinstance(layout.copy, FileCopy) else DEFAULT_PAGE_SIZE
    asked: int | None = layout.options["page_size"]
    return own if asked is None else asked


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
            name = describe_library(library)
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

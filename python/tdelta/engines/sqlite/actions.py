"""What can be done to a SQLite file: opened anew, opened by many at once, backed up, rewritten."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tdelta import own_folders
from tdelta.design.actions import AskedAction
from tdelta.driver.acting import ACTION_SECONDS, Act, Outcome
from tdelta.driver.backups import choices_of
from tdelta.engines.shared.rewriting import REWRITES, PeakDisk, left_by, markers_of, require_rows
from tdelta.engines.sqlite.backups import backup_act, tools_of
from tdelta.engines.sqlite.libraries import Library
from tdelta.engines.sqlite.site import FileSite
from tdelta.measure.private import FOLDER_MODE

_STORM = 64
_CHECKPOINT = "PRAGMA wal_checkpoint(TRUNCATE)"


class Reopen:
    def __init__(self, site: FileSite) -> None:
        self._site = site

    def prepare(self) -> None:
        """Close it; what the log held goes into the file."""
        self._site.worker.ask("shut")

    def perform(self) -> Outcome:
        site = self._site
        options = site.options(site.path, site.settings, site.key)
        sql = f"SELECT 1 FROM {site.table} LIMIT 1"
        answer = site.worker.ask("open_another", seconds=ACTION_SECONDS, options=options, connections=1, sql=sql)
        require_rows(answer["text"], "1")
        return Outcome({}, seconds=answer["elapsed_ns"] / 1e9)

    def undo(self) -> None:
        self._site.worker.ask("close_others")
        self._site.worker.ask("resume", seconds=ACTION_SECONDS)


class Storm:
    """So many connections opened, one after another (knob ``connections``): each derives its key."""

    def __init__(self, site: FileSite, connections: int) -> None:
        self._site = site
        self._connections = connections

    def prepare(self) -> None:
        """Nothing."""

    def perform(self) -> Outcome:
        site, connections = self._site, self._connections
        settings = replace(site.settings, threads=connections)  # which share the cache
        options = site.options(site.path, settings, site.key)
        answer = site.worker.ask(
            "open_another", seconds=ACTION_SECONDS, options=options, connections=connections, sql="SELECT 1"
        )
        return Outcome({"connections": connections}, seconds=answer["elapsed_ns"] / 1e9)

    def undo(self) -> None:
        self._site.worker.ask("close_others", seconds=ACTION_SECONDS)


class RewriteFile:
    """A copy of the file is encrypted, gets another key, or is decrypted; of a plain twin it is rewritten likewise.

    `tdelta.engines.sqlite.conversion` has the statements. The journal is a rollback journal: encryption is refused with
    a write-ahead log.
    """

    def __init__(self, site: FileSite, change: str) -> None:
        self._site = site
        self._change = change
        self._place = site.path.with_suffix(".action")
        self._file = self._place / "database.db"
        self._settings = replace(site.settings, threads=1, journal_mode="delete")
        self._given = self._to_be_given()
        path = self._place / "new.db"
        self._rewrite = site.engine.rewrite(change, str(path), self._settings, is_encrypted=site.key is not None)
        self._made = self._file if self._rewrite.is_in_place else path
        self._rows = ""

    def _to_be_given(self) -> str | None:
        if self._site.key is None or self._change == "decrypt":
            return None
        return self._site.key if self._change == "encrypt" else secrets.token_hex(32)

    def prepare(self) -> None:
        site = self._site
        own_folders.remove(self._place)
        self._place.mkdir(FOLDER_MODE)
        site.worker.ask("facts", seconds=ACTION_SECONDS, queries={"checkpoint": _CHECKPOINT})
        is_from_plain = self._change == "encrypt"
        self._copy("database", is_from_plain=is_from_plain)
        had = None if is_from_plain else site.key
        self._rows = self._open(self._file, had)
        if self._rewrite.writes_pages:
            site.worker.ask("close_others")
            source = self._copy("pages", is_from_plain=is_from_plain)
            pragmas = site.options(self._file, self._settings, None)["pragmas"]
            target, library = str(self._file), site.engine.library.name
            site.worker.ask("take_pages", library=library, source=str(source), target=target, pragmas=pragmas)

    def _copy(self, name: str, *, is_from_plain: bool) -> Path:
        source = self._site.plain if is_from_plain else self._site.path
        return self._site.folder.copy(source, f"{self._place.name}/{name}")

    def _open(self, path: Path, key: str | None) -> str:
        """How many rows a file has in one of its tables; it stays open."""
        site, sql = self._site, f"SELECT count(*) FROM {self._site.table}"
        settings = self._settings if key is not None else replace(self._settings, cipher="none")
        options = site.options(path, settings, key)
        answer = site.worker.ask("open_another", seconds=ACTION_SECONDS, options=options, connections=1, sql=sql)
        return str(answer["text"])

    def perform(self) -> Outcome:
        site = self._site
        with PeakDisk(self._place, site.worker.pid) as peak:
            answer = self._rewritten()
        site.worker.ask("close_others", seconds=ACTION_SECONDS)
        counted = {**left_by(self._made, markers_of(site.job)), "peak_disk_bytes": peak.bytes}
        require_rows(self._open(self._made, self._given), self._rows)
        return Outcome(counted, seconds=answer["elapsed_ns"] / 1e9)

    def _rewritten(self) -> Mapping[str, Any]:
        site = self._site
        if self._rewrite.writes_pages:
            return site.worker.ask("write_pages", seconds=ACTION_SECONDS)
        steps = [step.as_json() for step in self._rewrite.steps]
        key = site.engine.given_key(self._settings, self._given)
        return site.worker.ask("rewrite", seconds=ACTION_SECONDS, steps=steps, key=key)

    def undo(self) -> None:
        self._site.worker.ask("close_others", seconds=ACTION_SECONDS)
        own_folders.remove(self._place)


def _storm(site: FileSite, asked: AskedAction) -> Act:
    return Storm(site, asked.knobs.get("connections", _STORM))


def _rewrites(site: FileSite, asked: AskedAction) -> Act:
    return RewriteFile(site, asked.name)


@dataclass(frozen=True, slots=True)
class FileAction:
    """An action of a library: what makes it for a twin, and its knobs.

    ``knobs`` take numbers, ``choices`` one of the words that are given, the default first. ``is_during``: it can go on
    beside a load, too.
    """

    make: Callable[[FileSite, AskedAction], Act]
    knobs: tuple[str, ...] = ()
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_during: bool = False


_OPENED = {
    "restart": FileAction(lambda site, _: Reopen(site)),
    "storm": FileAction(_storm, ("connections",)),
}
_REWRITTEN = {name: FileAction(_rewrites) for name in REWRITES}


def actions_of(library: Library) -> Mapping[str, FileAction]:
    """The actions of a library, by the names of `tdelta.design.actions`.

    Files are rewritten with libraries that come in wheels: their Python modules have what the plain twin needs.
    """
    backed_up = choices_of(tools_of(library))
    return {
        **_OPENED,
        "backup": FileAction(backup_act, choices=backed_up, is_during=True),
        "restore": FileAction(backup_act, choices=backed_up),
        **(_REWRITTEN if library.distribution is not None else {}),
    }

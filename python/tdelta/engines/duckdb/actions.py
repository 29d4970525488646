"""What can be done to a DuckDB file beside its load: attached anew, or copied into a file with a key or without.

DuckDB does not change a file in place: all of its rows are copied (``COPY FROM DATABASE``) into a new file, which is
plain or has a cipher and a key of its own. The plain twin copies into a plain file.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from tdelta import own_folders
from tdelta.design.actions import AskedAction
from tdelta.driver.acting import ACTION_SECONDS, Act, Outcome
from tdelta.driver.backups import choices_of
from tdelta.engines.duckdb.backups import BESIDE, TOOLS, backup_act
from tdelta.engines.duckdb.site import DuckdbSite
from tdelta.engines.shared.rewriting import REWRITES, PeakDisk, left_by, markers_of, require_rows
from tdelta.measure.private import FOLDER_MODE


class Attach:
    def __init__(self, site: DuckdbSite) -> None:
        self._site = site

    def prepare(self) -> None:
        self._site.worker.ask("detach", seconds=ACTION_SECONDS)

    def perform(self) -> Outcome:
        sql = f"SELECT 1 FROM {self._site.table} LIMIT 1"
        answer = self._site.worker.ask("attach", seconds=ACTION_SECONDS, sql=sql)
        require_rows(answer["text"], "1")
        return Outcome({}, seconds=answer["elapsed_ns"] / 1e9)

    def undo(self) -> None:
        self._site.worker.ask("rejoin", seconds=ACTION_SECONDS)


class CopyFile:
    """All rows of a file are copied into a new one, which has the twin's cipher, or none.

    The plain file is what is copied where a database is encrypted, else the twin's own.
    """

    def __init__(self, site: DuckdbSite, change: str) -> None:
        self._site = site
        self._place = site.path.parent / "action"
        self._source = (site.plain, None) if change == "encrypt" else (site.path, site.key)
        self._target = self._place / "new.db"
        is_kept_plain = site.key is None or change == "decrypt"
        self._given = None if is_kept_plain else site.key if change == "encrypt" else secrets.token_hex(32)
        self._rows = ""

    def prepare(self) -> None:
        site = self._site
        self._remove()
        self._place.mkdir(FOLDER_MODE)
        site.worker.ask("detach", seconds=ACTION_SECONDS)
        path, key = self._source
        self._rows = self._attached(path, key)

    def _attached(self, path: Path, key: str | None) -> str:
        """How many rows a file has in one of its tables; it stays attached as what is copied."""
        options = self._site.options(path, key, read_only=True)
        answer = self._site.worker.ask("take", seconds=ACTION_SECONDS, options=options, table=self._site.table)
        return str(answer["text"])

    def perform(self) -> Outcome:
        """Copy it, as far as the disk; then look at what is left."""
        site = self._site
        options = site.options(self._target, self._given)
        with PeakDisk(self._place, site.worker.pid) as peak:
            answer = site.worker.ask("copy", seconds=ACTION_SECONDS, options=options)
        counted = {**left_by(self._target, markers_of(site.job)), "peak_disk_bytes": peak.bytes}
        require_rows(self._attached(self._target, self._given), self._rows)
        return Outcome(counted, seconds=answer["elapsed_ns"] / 1e9)

    def undo(self) -> None:
        self._site.worker.ask("rejoin", seconds=ACTION_SECONDS)
        self._remove()

    def _remove(self) -> None:
        own_folders.remove(self._place)


ACTIONS: Mapping[str, Callable[[DuckdbSite, AskedAction], Act]] = {
    "restart": lambda site, _: Attach(site),
    "backup": backup_act,
    "restore": backup_act,
    **{name: lambda site, asked: CopyFile(site, asked.name) for name in REWRITES},
}
"""The actions, by the names of `tdelta.design.actions`."""

CHOICES: Mapping[str, Mapping[str, tuple[str, ...]]] = dict.fromkeys(("backup", "restore"), choices_of(TOOLS))
"""What those that have choices take."""

DURING: Mapping[str, Mapping[str, tuple[str, ...]]] = {"backup": choices_of(BESIDE)}
"""The actions that go on beside a load, with what they take."""

"""What can be done to the file of an embedded twin: opened anew, or written anew with another key or none."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tdelta import own_folders
from tdelta.design.actions import AskedAction
from tdelta.driver.acting import ACTION_SECONDS, Act, Outcome
from tdelta.engines.embedded.pricing import new_key
from tdelta.engines.embedded.site import Site
from tdelta.engines.shared.rewriting import PeakDisk, left_by, markers_of, require_rows
from tdelta.measure.private import FOLDER_MODE


@dataclass(frozen=True, slots=True)
class FileAction:
    """An action of an engine: what makes it for a twin, and its knobs.

    ``knobs`` take numbers, ``choices`` one of the words that are given, the default first. ``beside`` are the choices
    where it goes on beside a load; None where it cannot.
    """

    make: Callable[[Site, AskedAction], Act]
    knobs: tuple[str, ...] = ()
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    beside: Mapping[str, tuple[str, ...]] | None = None


class Reopen:
    """The file is closed, what the log held being moved into it, and opened again until it answers."""

    def __init__(self, site: Site, _asked: AskedAction) -> None:
        self._site = site

    def prepare(self) -> None:
        self._site.worker.ask("shut", seconds=ACTION_SECONDS)

    def perform(self) -> Outcome:
        sql = f"SELECT 1 FROM {self._site.table} LIMIT 1"
        answer = self._site.worker.ask("reopen", seconds=ACTION_SECONDS, sql=sql)
        require_rows(answer["text"], "1")
        return Outcome({}, seconds=answer["elapsed_ns"] / 1e9)

    def undo(self) -> None:
        self._site.worker.ask("resume", seconds=ACTION_SECONDS)


class RewriteFile(ABC):
    """A file is encrypted, gets another key, or is decrypted; of a plain twin it is rewritten likewise.

    What is encrypted is a plain file with the same rows, else the twin's own.
    """

    def __init__(self, site: Site, asked: AskedAction) -> None:
        self.site = site
        self.change = asked.name
        self.place = site.path.with_suffix(".action")
        self.source, self.source_key = (site.plain, None) if self.change == "encrypt" else (site.path, site.key)
        self.key = None if site.key is None or self.change == "decrypt" else site.key
        if self.change == "rekey" and site.key is not None:
            self.key = new_key()
        self._rows = ""

    @abstractmethod
    def brought(self) -> str:
        """Have the worker open what is rewritten; returns how many rows it has in one of its tables."""

    @abstractmethod
    def rewritten(self) -> tuple[Path, Mapping[str, Any]]:
        """Have the worker rewrite it, as far as the disk; returns the file that came of it, and what that took."""

    @abstractmethod
    def rows_of(self, made: Path) -> str:
        """How many rows the file that came of it has in the same table."""

    def prepare(self) -> None:
        own_folders.remove(self.place)
        self.place.mkdir(FOLDER_MODE)
        self._rows = self.brought()

    def perform(self) -> Outcome:
        """Rewrite it; then look at what is left."""
        with PeakDisk(self.place, self.site.worker.pid) as peak:
            made, answer = self.rewritten()
        counted = {**left_by(made, markers_of(self.site.job)), "peak_disk_bytes": peak.bytes}
        require_rows(self.rows_of(made), self._rows)
        return Outcome(counted, seconds=answer["elapsed_ns"] / 1e9)

    def undo(self) -> None:
        self.site.worker.ask("resume", seconds=ACTION_SECONDS)
        own_folders.remove(self.place)

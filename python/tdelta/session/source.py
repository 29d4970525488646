"""A user's database, staged: tdelta's own copy of it, what is in it, and the workload on it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tdelta.driver import Checksums, DatabaseJob, RestoreJob
from tdelta.driver.protocol import Tables
from tdelta.engines.sqlite.conversion import Layout
from tdelta.engines.sqlite.staging import Original
from tdelta.records import DatabaseFacts
from tdelta.workloads import Workload
from tdelta.workloads.database import Database


class Source(Protocol):
    """What a run on rows of the user's starts from, instead of generated ones."""

    @property
    def workload(self) -> Workload:
        """The transactions on it."""

    @property
    def database(self) -> Database:
        """What is in it."""

    @property
    def constants(self) -> Mapping[str, int]:
        """The variables that scripts are given."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a proposal left out and why."""

    @property
    def cautions(self) -> tuple[str, ...]:
        """What goes with the answer."""

    @property
    def unrepeatable(self) -> tuple[str, ...]:
        """The tables into which transactions write what depends on the clock or on chance."""

    @property
    def size_bytes(self) -> int:
        """About how large a plain twin's data is."""

    @property
    def load_seconds(self) -> float:
        """How long it took to load it as twins are loaded; 0 where that was not done."""

    def facts(self) -> DatabaseFacts:
        """What a report may tell of it."""

    def job(self) -> DatabaseJob | RestoreJob:
        """How twins get their rows."""

    def fingerprint(self) -> str:
        """A digest of the work: of the rows, and the scripts with their variables."""

    def as_json(self) -> dict[str, object]:
        """The workload on it, as JSON values to be kept with the run."""

    def let_go(self) -> None:
        """Remove tdelta's own copy: every kind of twin has been made of it."""


@dataclass(frozen=True, slots=True)
class DatabaseSource:
    """What a run on a user's SQLite file starts from.

    ``path`` is the copy, recovered, with its key tables, rebuilt; ``tables`` and ``checksums`` are of the copy as it
    was read, and of the key tables. ``constants`` are the variables that scripts are given. ``notes`` say what a
    proposal left out and why; ``cautions`` go with the answer. ``unrepeatable`` are the tables into which transactions
    write what depends on the clock or on chance, so that they cannot be compared after trials.
    """

    original: Original
    path: Path
    layout: Layout
    database: Database
    workload: Workload
    constants: Mapping[str, int]
    tables: Tables
    checksums: Checksums
    is_proposed: bool
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    unrepeatable: tuple[str, ...] = ()
    load_seconds: float = 0.0

    @property
    def size_bytes(self) -> int:
        """The size of the copy, which a plain twin has, too; of the original once the copy is gone."""
        return self.path.stat().st_size if self.path.exists() else self.original.size_bytes

    def let_go(self) -> None:
        """Remove the copy."""
        self.path.unlink(missing_ok=True)

    def facts(self) -> DatabaseFacts:
        """What a report may tell of it."""
        return DatabaseFacts(
            file=self.original.file_name,
            size_bytes=self.original.size_bytes,
            page_size=self.layout.page_size,
            tables=len(self.database.tables),
            rows=self.database.rows,
            proposed=self.is_proposed,
        )

    def job(self) -> DatabaseJob:
        """How twins get their rows."""
        return DatabaseJob(str(self.original.named), self.path, self.layout, self.tables, self.checksums)

    def reserved_bytes(self, wanted: int, *, is_shared: bool) -> int:
        """Reserved bytes a page of a twin: what the original keeps stays kept, unless a cipher decides for itself.

        Args:
            wanted: what the ciphers of the run need.
            is_shared: whether this twin's pages are to be those of the plain twin.
        """
        return max(wanted, self.layout.reserved_bytes) if is_shared else wanted

    def fingerprint(self) -> str:
        """A digest of the work: of the original's files, its rows, and the scripts with their variables."""
        rows = {table: list(found) for table, found in self.checksums.items()}
        values = [self.original.as_json(), rows, self.workload.scripts(), dict(self.constants)]
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()

    def as_json(self) -> dict[str, object]:
        """The workload on it, as JSON values to be kept with the run."""
        return {
            "workload": self.workload.scripts(),
            "keys": {key.name: key.table for key in self.workload.keys},
            "variables": dict(self.constants),
            "notes": list(self.notes),
        }

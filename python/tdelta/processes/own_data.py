"""A user's database file or dump as the session's one staging sees it, whichever engine it is for.

`UserData` is what was named; `Staged` is tdelta's own copy of it while it is looked at, added to and tried on; a
`StagedCopy` is what is left of that, and twins are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from tdelta.messages import Caution, Refusal
from tdelta.processes.answers import checksums
from tdelta.processes.files import TwinFolder
from tdelta.processes.jobs import DatabaseJob, OwnTablesJob, RestoreJob, TrialJob
from tdelta.processes.protocol import Checksums, Tables
from tdelta.processes.workers import GRACE_SECONDS, Worker
from tdelta.records import DatabaseFacts, Event
from tdelta.workloads.database import Database

Observer: TypeAlias = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Inventory:
    """The content of a user's data. ``cautions`` go with the answer; ``notes`` among them name the parts left out."""

    database: Database
    cautions: tuple[Caution, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Additions:
    """Tables that tdelta adds by statements: of sampled keys, and of markers for the search for plaintext."""

    statements: tuple[str, ...]
    tables: Tables
    needles: tuple[bytes, ...]


class StagedCopy(Protocol):
    """The source of twins: tdelta's own copy, or the user's command that loads each of them."""

    @property
    def size_bytes(self) -> int:
        """About how large a plain twin's data is."""

    @property
    def load_seconds(self) -> float:
        """How long it took to load it as twins are loaded; 0 where that was not done."""

    def identity(self) -> Sequence[object]:
        """Facts that must be the same when the run is resumed besides rows and scripts, as JSON values."""

    def facts(self, database: Database, *, is_proposed: bool) -> DatabaseFacts:
        """Facts that a report may contain."""

    def job(self, tables: Tables, checksums: Checksums) -> DatabaseJob | RestoreJob | OwnTablesJob:
        """How twins get their rows, which must have these checksums."""

    def let_go(self) -> None:
        """Remove what every kind of twin has been made of by now."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A copy that holds all that twins will. ``may_vary``: a write may store what depends on the clock or on chance."""

    copy: StagedCopy
    database: Database
    checksums: Checksums
    may_vary: bool


class Tries(Protocol):
    def said(self, transaction: Mapping[str, object], trial: TrialJob | None) -> Refusal | None:
        """The objection to a transaction, if any; without a trial it is only prepared."""

    def checksums(self, tables: Tables) -> Checksums:
        """Rows and checksum of each table, as the transactions have left them."""


class Staged(Protocol):
    """tdelta's own copy, under way; its stages are called in this order."""

    def bring(self, observe: Observer) -> None:
        """Copy or restore it, and see that it is whole.

        Raises:
            DatabaseFault: it cannot be used as it is.
            RestoreFault: the user's command failed.
            StorageFault: there is no room.
        """

    def describe(self) -> Inventory:
        """The inventory of its content."""

    def complete(self, database: Database, tables: Tables, additions: Additions, observe: Observer) -> Completed:
        """Add what is tdelta's, and read all rows; from now on it is only copied.

        Raises:
            DatabaseFault: it refuses.
            InvalidTwins: rows of the user's changed meanwhile.
        """

    def scratch(self, constants: Mapping[str, int]) -> AbstractContextManager[Tries]:
        """A copy to try on, with the variables of scripts; gone at the end of the block."""


class UserData(Protocol):
    """The data that a user named, found but not touched."""

    @property
    def named(self) -> object:
        """Its name in messages."""

    @property
    def title(self) -> str:
        """Its name in short."""

    @property
    def needed_bytes(self) -> int:
        """The room that staging must find; 0 where it is not known before."""

    def staged(self, folder: TwinFolder) -> AbstractContextManager[Staged]:
        """Stage it in this folder, while the block lasts."""


class Trier:
    """Tries transactions in a worker that has a copy open, which does not grow beyond ``most_bytes``, if given."""

    def __init__(self, worker: Worker, constants: Mapping[str, int], most_bytes: int | None = None) -> None:
        self._worker = worker
        self._most_bytes = most_bytes
        self._constants = constants

    def said(self, transaction: Mapping[str, object], trial: TrialJob | None) -> Refusal | None:
        """The database's objection to a transaction, if any; without a trial it is only prepared."""
        answer = self._worker.ask(
            "try",
            seconds=GRACE_SECONDS + (trial.deadline_seconds if trial is not None else 0.0),
            transaction=transaction,
            constants=self._constants,
            trial=None if trial is None else trial.as_json(),
        )
        if (said := answer["said"]) is None:
            return None
        if self._most_bytes is not None and answer.get("is_full"):
            return too_much(said, self._most_bytes)
        return Refusal.of("database-says", said=said)

    def checksums(self, tables: Tables) -> Checksums:
        return checksums(self._worker, tables)


def too_much(said: object, most_bytes: int) -> Refusal:
    """The objection to a transaction beyond the limit that it is tried on, after the database's own or another one."""
    return Refusal.of("transaction-grows", said=said, most=most_bytes / 1e6)

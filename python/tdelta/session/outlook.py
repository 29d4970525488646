"""What a run would take, for ``--dry-run``."""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.messages import Caution, Refusal
from tdelta.records import DatabaseFacts


@dataclass(frozen=True, slots=True)
class TableLine:
    name: str
    rows: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class TransactionLine:
    """A transaction type on a user's database, in a dry run. ``share`` is its share of all transactions."""

    name: str
    title: str
    share: float
    script: str


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a run would take, before anything is made (``--dry-run``).

    ``seconds_least`` is the shortest run there is, ``seconds_at_least`` one of the fewest rounds asked for. ``faults``
    say why the run would be refused; empty where it would not. What follows the cautions is of a user's database only:
    its tables, the transactions on it, what a proposal left out, and the folder to which the proposal was written.
    """

    conditions: tuple[str, ...]
    seconds_least: float
    seconds_at_least: float
    seconds_at_most: float
    disk_bytes: int
    disk_free_bytes: int
    memory_bytes: int
    memory_free_bytes: int
    directory: str
    trials_at_least: int
    faults: tuple[Refusal, ...] = ()
    cautions: tuple[Caution, ...] = ()
    database: DatabaseFacts | None = None
    tables: tuple[TableLine, ...] = ()
    transactions: tuple[TransactionLine, ...] = ()
    notes: tuple[str, ...] = ()
    written: str | None = None

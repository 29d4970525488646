"""Chooses what is run on rows of the user's, by trying every transaction on something that may be spoilt."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tdelta.errors import DatabaseFault, WorkloadError
from tdelta.evidence import COLUMNS, TABLE
from tdelta.messages import Caution, Refusal
from tdelta.processes import TrialJob
from tdelta.processes.own_data import Observer, Tries
from tdelta.processes.protocol import Checksums, Tables
from tdelta.records import Phase
from tdelta.workloads import Workload
from tdelta.workloads.database import Database, DatabaseTable
from tdelta.workloads.keys import key_columns, key_table_name
from tdelta.workloads.model import Transaction
from tdelta.workloads.proposal import Choice, Proposal, TransactionKind, settle
from tdelta.workloads.scan import Piece, cut

TRIES: Mapping[TransactionKind, int] = {
    TransactionKind.READ: 100,
    TransactionKind.RANGE: 50,
    TransactionKind.UPDATE: 1000,
    TransactionKind.INSERT: 1000,
}
"""How often a proposed transaction is tried, with other rows each time: a trigger may refuse few rows only."""

MOMENT_SECONDS = 1.1
"""Longer than the second in which most clocks of SQL count."""

_REPEATED = 100
_TRY_SECONDS = 60.0
_SHARE_OF_TIME = 0.1
"""How much of the run's time trying one transaction may take at the most: longer ones could not be measured in it."""

_SHARE_OF_ALL = 0.25
"""How much of it trying all that is proposed may take: what remains has to do for loads and rounds."""

_TRY_SEED = 20261122
_TRY_STREAM = 1 << 42
_MOST_REFUSED = 20
"""Statements of one script."""
_PLACE = re.compile(r"^(\w+), line (\d+): ")


@dataclass(frozen=True, slots=True)
class Chosen:
    workload: Workload
    notes: tuple[str, ...] = ()
    cautions: tuple[Caution, ...] = ()


@dataclass(frozen=True, slots=True)
class Names:
    """What a user's things are called in messages: the workload, the database, and that in short."""

    workload: object
    database: object
    title: str


@dataclass(frozen=True, slots=True)
class _Limit:
    """How long what is proposed may be tried: each transaction, and all of them."""

    each_seconds: float
    all_seconds: float
    end: float
    now: Callable[[], float]

    def left(self) -> float:
        """For the next try; 0 once all have had their time."""
        return max(0.0, min(self.each_seconds, self.end - self.now()))


def choose(
    wanted: Workload | Proposal,
    named: Names,
    on: Tries,
    tell: Observer,
    max_seconds: float,
    now: Callable[[], float] = time.monotonic,
) -> Chosen:
    """Try every transaction, for at most a tenth of the run's time each, and for a quarter all that is proposed.

    Args:
        wanted: the user's workload, or what is proposed.
        now: the clock, seconds.

    Raises:
        WorkloadError: statements of the user's that the database does not take, all of them.
        DatabaseFault: nothing that was proposed works.
    """
    seconds = min(_TRY_SECONDS, _SHARE_OF_TIME * max_seconds)
    if isinstance(wanted, Proposal):
        all_seconds = _SHARE_OF_ALL * max_seconds
        return _proposed(wanted, named, on, tell, _Limit(seconds, all_seconds, now() + all_seconds, now))
    return _given(wanted, named, on, tell, _trial(1, seconds))


def left_by_writes(workload: Workload, tables: Tables, on: Tries) -> Checksums:
    for transaction in writing(workload):
        on.said({"name": transaction.name, "weight": 1.0, "text": transaction.text}, _trial(_REPEATED))
    return on.checksums(tables)


def writing(workload: Workload) -> list[Transaction]:
    return [transaction for transaction in workload.transactions if transaction.writes]


def nondeterminism_cautions(nondeterministic_tables: tuple[str, ...]) -> Iterator[Caution]:
    if nondeterministic_tables:
        yield Caution.of("nondeterministic-tables", tables=", ".join(nondeterministic_tables))


def tables_of(database: Database) -> Tables:
    return tuple((table.name, table.stored_columns) for table in database.tables)


def own_tables(wanted: Workload | Proposal, database: Database) -> Tables:
    """What tdelta adds: tables of sampled keys, and the markers that a search for plaintext looks for."""
    keys = ((key_table_name(key.name), _sampled_columns(database.table(key.table))) for key in wanted.keys)
    return (*keys, (TABLE, COLUMNS))


def _sampled_columns(table: DatabaseTable | None) -> tuple[str, ...]:
    key = None if table is None else table.key
    return ("n",) if key is None else ("n", *key_columns(key))


def _given(workload: Workload, named: Names, on: Tries, tell: Observer, once: TrialJob) -> Chosen:
    """Every statement has to be one that the database takes, and every transaction has to come to its end."""
    faults = []
    for done, (name, script) in enumerate(workload.scripts().items()):
        tell(Phase("prepare", "each transaction, tried once", done, len(workload.transactions)))
        transaction = {"name": name, "weight": 1.0, "text": script["text"]}
        if refused := _refused(name, str(script["text"]), on):
            faults += refused
        elif said := on.said(transaction, once):
            faults.append(_placed(said))
    if faults:
        raise WorkloadError(str(named.workload), faults)
    return Chosen(workload)


def _refused(name: str, text: str, on: Tries) -> list[Refusal]:
    """What the database does not take of a script: a statement that it refuses is put aside, and the rest prepared."""
    found: list[Refusal] = []
    lines: set[int] = set()
    while len(found) < _MOST_REFUSED and (said := on.said({"name": name, "weight": 1.0, "text": text}, None)):
        found.append(_placed(said))
        place = _PLACE.match(said.text)
        line = 0 if place is None else int(place[2])
        pieces = cut(text)[0]
        at = next((n for n, it in reversed(list(enumerate(pieces))) if it.line <= line and not it.is_command), None)
        if at is None or pieces[at].line in lines:
            break
        lines.add(pieces[at].line)
        text = _without(text, pieces, at)
    return found


def _without(text: str, pieces: Sequence[Piece], at: int) -> str:
    r"""The script with ``SELECT 1`` in place of a statement and without its ``\raw``; every line keeps its number."""
    piece, before = pieces[at], pieces[at - 1] if at else None
    begin = text.index(piece.text, _line_begin(text, piece.line))
    text = text[:begin] + "SELECT 1" + "\n" * piece.text.count("\n") + text[begin + len(piece.text) :]
    if before is None or not before.is_raw:
        return text
    begin = text.index(before.text, _line_begin(text, before.line))
    return text[:begin] + text[begin + len(before.text) :]


def _line_begin(text: str, line: int) -> int:
    return sum(len(it) + 1 for it in text.split("\n")[: line - 1])


def _placed(said: Refusal) -> Refusal:
    """What the database says against a transaction, with file and line where it says them."""
    words = str(said.parameters["said"])
    place = _PLACE.match(words)
    if place is None:
        return said
    rest = replace(said, parameters={**said.parameters, "said": words[place.end() :]})
    return rest.at(place.expand(r"\1.sql:\2"))


def _proposed(proposal: Proposal, named: Names, on: Tries, tell: Observer, limit: _Limit) -> Chosen:
    works: dict[str, str] = {}
    cautions = []
    for done, choice in enumerate(proposal.choices):
        tell(Phase("propose", "trying each transaction on a scratch copy", done, len(proposal.choices)))
        script, said = _first_that_works(choice, on, limit)
        if script is not None:
            works[choice.name] = script
        else:
            cautions.append(Caution.of("transaction-left-out", transaction=choice.name, fault=said or ""))
    if not works:
        raise DatabaseFault(
            named.database,
            Refusal.of(
                "nothing-proposed",
                why="; ".join(map(str, (*cautions, *proposal.notes)) or ("no table has rows and a key",)),
            ),
        )
    return Chosen(settle(proposal, works, named.title), tuple(map(str, (*proposal.notes, *cautions))), tuple(cautions))


def _first_that_works(choice: Choice, on: Tries, limit: _Limit) -> tuple[str | None, Refusal | None]:
    """The first script of a choice that works; else None and what was said against the first."""
    said: list[Refusal] = []
    for text in choice.scripts:
        if not (seconds := limit.left()):
            said.append(Refusal.of("transaction-without-time", seconds=limit.all_seconds))
            break
        found = on.said({"name": choice.name, "weight": 1.0, "text": text}, _trial(TRIES[choice.kind], seconds))
        if found is None:
            return text, None
        said.append(found)
    return None, said[0]


def _trial(operations: int, seconds: float = _TRY_SECONDS) -> TrialJob:
    return TrialJob(_TRY_SEED, _TRY_STREAM, operations, first_op=1, deadline_seconds=seconds, patience_seconds=0.0)

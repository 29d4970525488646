"""Stages what a user brings, a database file or a dump: tdelta's own copy, given its workload and tried.

One course for both; how a file is copied or a dump restored is the engine's (`tdelta.processes.own_data`). Everything
takes place in a folder of the run's own, which is gone at its end.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tdelta.engines.base import Engine
from tdelta.engines.registry import profile
from tdelta.engines.server.external_twins import (
    BASELINE_PLACE,
    ENCRYPTED_PLACE,
    MOST_COMPARED_BYTES,
    OwnTables,
    compared_tables,
    connected,
    described,
)
from tdelta.engines.server.pairs import ReachedServers
from tdelta.engines.server.schema_actions import data_bytes
from tdelta.errors import DatabaseFault, UsageError, WorkloadError
from tdelta.evidence import COLUMNS, TABLE, Markers
from tdelta.measure.space import require_space, require_writable
from tdelta.messages import Caution, Refusal
from tdelta.processes import TrialJob, TwinFolder, default_base, sweep
from tdelta.processes.answers import checksums
from tdelta.processes.own_data import Additions, Observer, Staged, Trier, Tries, UserData
from tdelta.processes.protocol import Checksums, Tables
from tdelta.processes.rows import require_no_markers
from tdelta.processes.templates import Templates
from tdelta.records import Phase
from tdelta.session.request import RunRequest
from tdelta.session.run_plan import ROWS_SEED, Source, check, engine_of
from tdelta.store import default_path
from tdelta.workloads import Workload
from tdelta.workloads.database import Database, DatabaseTable
from tdelta.workloads.keys import key_columns, key_sql, key_table_name, key_variables
from tdelta.workloads.model import Transaction
from tdelta.workloads.proposal import Choice, Proposal, TransactionKind, propose, settle
from tdelta.workloads.scan import Piece, cut
from tdelta.workloads.user_workload import read_user_workload

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
    """Names in messages for the user's workload, for the database, and for that in short."""

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
    """Tables that tdelta adds: of sampled keys, and of markers that a search for plaintext looks for."""
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
    """The database's refusals of a script: a statement that it refuses is put aside, and the rest prepared."""
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
    """The database's objection to a transaction, with file and line where it names them."""
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


_CONNECTS = re.compile(r"\\(connect|raw)\b")
_READS = re.compile(r"\s*\(*\s*(SELECT|WITH|VALUES|TABLE)\b", re.IGNORECASE)
_MORE = re.compile(
    r"\b(INSERT\b(?!\s*\()|UPDATE\b|DELETE\b|MERGE\b|INTO\b|LOCK\s+IN\b|FOR\s+(NO\s+KEY\s+|KEY\s+)?SHARE\b"
    r"|(SET_CONFIG|GET_LOCK|PG_(TERMINATE|CANCEL)_BACKEND|DBLINK\w*|LO_\w+)\s*\()",
    re.IGNORECASE,
)
"""Writes, locks, and functions with an effect that a read-only transaction does not prevent."""

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_NO_COMMENT = re.compile(r"--\S+")
"""To servers of MySQL's protocol this is two minus signs, and what follows is code."""

_EXECUTED = re.compile(r"/\*M?!")
"""A comment that servers of MySQL's protocol run."""


@contextmanager
def staged(
    request: RunRequest, run_id: str, observe: Observer, templates: Templates | None = None
) -> Iterator[Source | None]:
    """A user's rows made ready for a run, while the block lasts; None where the rows are generated.

    Args:
        templates: where restored rows are kept beyond that; None for nowhere.

    Raises:
        UsageError: what was asked cannot be done; every fault that can be seen is named before a byte is copied.
        RestoreFault: the user's command failed.
        DatabaseFault: the database cannot be used as it is.
        WorkloadError: the workload does not fit it.
        StorageFault: there is no room for copies.
    """
    if request.database is None and request.restore is None:
        yield None
        return
    check(request)
    engine = engine_of(request)
    data = _user_data(request, engine)
    base = request.directory or default_base()
    sweep(base)
    require_writable(base)
    require_space(base, data.needed_bytes, remedy="or name another folder (--dir)")
    with TwinFolder(base, f"{run_id}-original", templates) as folder, data.staged(folder) as copy:
        yield _Staging(request, engine, data, copy, observe).run()


def require_data(request: RunRequest) -> None:
    """See whether the user's data that a request names are there; copies nothing, and nothing without such data."""
    if request.database is None and request.restore is None:
        return
    check(request)
    _user_data(request, engine_of(request))


def _user_data(request: RunRequest, engine: Engine) -> UserData:
    file, command = request.database, request.restore
    if file is None:
        return engine.user_dump(command or "")
    _require_other_than_store(file, request)
    return engine.user_file(file)


def _require_other_than_store(database: Path, request: RunRequest) -> None:
    """To read and close the store's file, even once, would drop the locks that this process holds on it."""
    store = request.store or default_path()
    if store.exists() and database.exists() and store.samefile(database):
        raise UsageError(Refusal.of("store-as-database", database=str(database)))


def own_source(request: RunRequest, servers: ReachedServers, observe: Observer) -> Source:
    """The user's tables on both servers, with a workload that only reads; nothing is made there."""
    observe(Phase("examine", "tables, keys and rows of your schema on both servers"))
    schemas, access = servers.own(), servers.access
    database = described(schemas, access)
    folder = request.workload or ""
    workload = read_user_workload(Path(folder), database, profile(servers.pair.baseline.identity.engine).dialect)
    require_reading(workload, folder)
    constants, named = database.variables(), Names(folder, f"schema {servers.schema}", servers.schema)
    for place in (BASELINE_PLACE, ENCRYPTED_PLACE):
        with connected(schemas[place], access) as worker:
            choose(workload, named, Trier(worker, constants), observe, request.max_seconds)
    size_bytes = data_bytes(schemas[BASELINE_PLACE])
    has_keys_only = size_bytes > MOST_COMPARED_BYTES
    tables = compared_tables(database, has_keys_only=has_keys_only)
    observe(Phase("checksum", "the rows of your schema on the baseline's server"))
    with connected(schemas[BASELINE_PLACE], access) as worker:
        sums = checksums(worker, tables)
    return Source(
        OwnTables(servers.schema, size_bytes),
        database,
        workload,
        constants,
        tables,
        sums,
        is_proposed=False,
        has_keys_only=has_keys_only,
    )


def require_reading(workload: Workload, folder: str) -> None:
    """See that every statement is a SELECT that neither locks rows nor writes a file."""
    wrong = [Refusal.of("own-script-writes", found=f"[keys.{key.name}]").at("workload.toml") for key in workload.keys]
    wrong += [
        Refusal.of("own-script-writes", found=piece.text.split("\n")[0]).at(f"{transaction.name}.sql:{piece.line}")
        for transaction in workload.transactions
        for piece in cut(transaction.text)[0]
        if not _only_reads(piece)
    ]
    for transaction in workload.transactions:
        code = _QUOTED.sub(lambda quoted: "\n" * quoted[0].count("\n"), transaction.text)
        for match in _NO_COMMENT.finditer(code):
            line = 1 + code.count("\n", 0, match.start())
            wrong.append(Refusal.of("own-script-writes", found=match[0]).at(f"{transaction.name}.sql:{line}"))
    if wrong:
        raise WorkloadError(folder, wrong)


def _only_reads(piece: Piece) -> bool:
    if piece.is_command:
        return not _CONNECTS.match(piece.text)
    return _READS.match(piece.code) is not None and not (_MORE.search(piece.code) or _EXECUTED.search(piece.text))


class _Staging:
    def __init__(self, request: RunRequest, engine: Engine, data: UserData, copy: Staged, observe: Observer) -> None:
        self._request = request
        self._dialect = engine.profile.dialect
        self._data = data
        self._copy = copy
        self._observe = observe

    def run(self) -> Source:
        self._copy.bring(self._observe)
        self._observe(Phase("examine", "tables, keys, columns and sizes"))
        found = self._copy.describe()
        wanted = self._wanted(found.database)
        require_no_markers(found.database.names)
        tables, additions = tables_of(found.database), self._additions(wanted, found.database)
        done = self._copy.complete(found.database, tables, additions, self._observe)
        constants = {**done.database.variables(), **key_variables(wanted.keys, done.database)}
        with self._copy.scratch(constants) as trier:
            named = Names(self._request.workload, self._data.named, self._data.title)
            max_seconds = self._request.max_seconds
            chosen = choose(wanted, named, trier, self._observe, max_seconds)
        nondeterministic_tables = (
            self._nondeterministic_tables(chosen.workload, constants, tables) if done.may_vary else ()
        )
        proposed = (Caution.of("proposed-workload"),) if isinstance(wanted, Proposal) else ()
        return Source(
            copy=done.copy,
            database=done.database,
            workload=chosen.workload,
            constants=constants,
            tables=tables + additions.tables,
            checksums=done.checksums,
            is_proposed=isinstance(wanted, Proposal),
            notes=(*found.notes, *chosen.notes),
            cautions=(*found.cautions, *proposed, *chosen.cautions, *nondeterminism_cautions(nondeterministic_tables)),
            nondeterministic_tables=nondeterministic_tables,
        )

    def _wanted(self, database: Database) -> Workload | Proposal:
        if self._request.workload is not None:
            return read_user_workload(Path(self._request.workload), database, self._dialect)
        if not database.rows:
            raise DatabaseFault(self._data.named, Refusal.of("no-rows"))
        return propose(database, self._dialect)

    def _additions(self, wanted: Workload | Proposal, database: Database) -> Additions:
        """Tables of keys, and the markers."""
        markers = Markers.drawn(ROWS_SEED)
        keys = (sql for key in wanted.keys for sql in key_sql(key, database, self._dialect))
        return Additions((*keys, *markers.table_sql(self._dialect)), own_tables(wanted, database), markers.rows)

    def _nondeterministic_tables(
        self, workload: Workload, constants: Mapping[str, int], tables: Tables
    ) -> tuple[str, ...]:
        """The tables that hold other rows when the same work is done a moment later.

        A trigger that stamps rows with the time is common; twins under it do the same work and differ all the same.
        """
        if not writing(workload):
            return ()
        self._observe(Phase("compare", "whether the same writes leave the same rows a moment later"))
        found = []
        for wait_seconds in (MOMENT_SECONDS, 0.0):
            with self._copy.scratch(constants) as trier:
                found.append(left_by_writes(workload, tables, trier))
            time.sleep(wait_seconds)
        return tuple(table for table, _ in tables if found[0][table] != found[1][table])

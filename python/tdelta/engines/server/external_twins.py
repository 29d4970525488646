"""Twins on two servers of the user's: schemas that tdelta made there, connections to them, and nothing else.

There is one server of each kind and it runs all the time: nothing is started, frozen, copied or searched, and what is
peculiar to one server's start-up and layout is in the answer. A round has fresh connections and, where that is cheap or
the transactions write, freshly loaded tables. An A/A twin is another schema on the baseline's server.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tdelta.design.actions import parse_action
from tdelta.design.factors import PROGRAM
from tdelta.engines.server.base import ANSWER_SECONDS, PREFIX, ConvertsSchemas
from tdelta.engines.server.catalog import describe
from tdelta.engines.server.discovery import FoundServer
from tdelta.engines.server.schema_actions import SchemaSite, SchemaStep, data_bytes, is_offline
from tdelta.engines.server.schemas import RunSchema
from tdelta.engines.server.sessions import Ask, Row, Session, asking, first
from tdelta.engines.server.twin import ServerTwin
from tdelta.errors import Defect, ExternalServerFault, InvalidTwins, StatementFault
from tdelta.evidence.plans import NOT_EXPLAINED, Sampled, sampled
from tdelta.messages import Refusal
from tdelta.processes import actions as acting
from tdelta.processes.answers import STEP_SECONDS, SequentialTwins, checksums, client_step, connect_seconds
from tdelta.processes.jobs import LOAD, REBUILD, OwnTablesJob, PopulateJob, TrialJob, WorkloadSpec
from tdelta.processes.load_generator.trial import with_server
from tdelta.processes.process_tree import living
from tdelta.processes.protocol import NOTHING, Checksums, Tables
from tdelta.processes.rows import POPULATE_SECONDS, generated_checksums, populate
from tdelta.processes.workers import Refused, Worker
from tdelta.records import DatabaseFacts, Measurement
from tdelta.workloads.database import Database
from tdelta.workloads.folder import SCHEMA

_TRIES_UNTIL_DEADLINE = (1 << 32) - 1
_QUICK_SECONDS = 5.0
"""Tables that are loaded in less are loaded again for each round, even if the transactions only read."""

ENCRYPTED_TABLES, PLAIN_TABLES = "encrypted", "plain"


@dataclass(frozen=True, slots=True)
class ExternalSettings:
    """The settings of a twin on a user's servers.

    ``cipher`` is ``none`` on the baseline's server and ``encrypted`` on the other; ``place`` names the schema (a key of
    `ExternalTwins`' schemas), ``loaded`` that of its kind that is loaded first. ``is_cold``: caches are emptied before
    each trial. ``session_bytes`` is what sorts and temporary tables of a session have; 0: as the server has it.
    ``fetch_size`` is how many rows the driver fetches at once (0: as many as it does), ``load_by`` how it loads rows
    (empty: the fastest way), ``maxdop`` how many CPUs a statement may use (0: as the server has it).
    """

    cipher: str
    place: str
    threads: int
    loaded: str
    aes_instructions: str = "on"
    cache_bytes: int = 0
    is_cold: bool = False
    session_bytes: int = 0
    fetch_size: int = 0
    load_by: str = ""
    maxdop: int = 0


@dataclass(frozen=True, slots=True)
class Access:
    """How a run gets into its schemas. ``password`` finds a server's; ``processes`` are servers' on this machine."""

    password: Callable[[FoundServer], str | None] = field(repr=False)
    processes: Mapping[str, int] = field(default_factory=dict)

    def options(self, schema: RunSchema) -> dict[str, object]:
        """The options of a connection; they hold the password."""
        return schema.options(self.password(schema.server))

    def session(self, schema: RunSchema) -> Session:
        return Session(self.options(schema), schema.server.dsn.program, Refused)

    def watched(self, schema: RunSchema) -> list[int]:
        """The processes whose trees are the schema's server; none where they are not known."""
        process = self.processes.get(schema.server.option)
        return [] if process is None else [process]


@dataclass(slots=True)
class _Rows:
    """How the rows of a schema stand: ``is_fresh`` until the first trial."""

    is_fresh: bool
    load_seconds: float


class ExternalTwins(SequentialTwins):
    """Makes the twins of one run; see `tdelta.processes.protocol.Twins`.

    Args:
        schemas: tdelta's schemas, by place.
        folder: the run's, for files of rows.
    """

    def __init__(
        self,
        schemas: Mapping[str, RunSchema],
        access: Access,
        job: PopulateJob | OwnTablesJob,
        mix: WorkloadSpec,
        folder: Path = Path(),
    ) -> None:
        super().__init__(mix)
        self._folder = folder
        self._schemas = schemas
        self._access = access
        self._job = job
        self._tables = job.tables
        self._rows: dict[str, _Rows] = {}
        self._encrypted: set[str] = set()
        servers = dict.fromkeys(schema.server.identity.described for schema in schemas.values())
        self.library = " and ".join(servers)

    def load(self, settings: ExternalSettings) -> tuple[Path, Checksums]:
        """Load the tables of a kind; see in the server's catalog that they are as they are to be."""
        self._fill(settings.loaded)
        self._encrypted |= {settings.loaded} if settings.cipher != "none" else set()
        schema = self._schemas[settings.loaded]
        schema.require_tables()
        with connected(schema, self._access) as worker:
            return Path(settings.loaded), checksums(worker, self._tables)

    def expected_checksums(self) -> Checksums:
        return self._job.checksums if isinstance(self._job, OwnTablesJob) else generated_checksums(self._job)

    def data_bytes(self, path: Path) -> int:
        return data_bytes(self._schemas[str(path)])

    def is_encrypted(self, path: Path) -> bool:
        """Whether it is the encrypted server; that its tables are as they are to be was required when it was loaded."""
        return str(path) in self._encrypted

    def start(self, settings: ExternalSettings, _name: str, _environment: Mapping[str, str] = NOTHING) -> ExternalTwin:
        rows = self._rows.get(settings.place)
        may_be_kept = rows is not None and not self._mix.writes and rows.load_seconds > _QUICK_SECONDS
        if rows is None or not (rows.is_fresh or may_be_kept):
            self._fill(settings.place)
        return self.connected(settings)

    def join(self, _twin: ExternalTwin, settings: ExternalSettings) -> ExternalTwin:
        return self.connected(settings)

    def connected(self, settings: ExternalSettings) -> ExternalTwin:
        schema = self._schemas[settings.place]
        used = partial(self._used, settings.place)
        return ExternalTwin(schema, self._access, settings, self._mix, self._tables, used, self._folder)

    def end(self) -> None:
        """Schemas are dropped by whoever made them."""

    def _used(self, place: str) -> None:
        self._rows[place].is_fresh = False

    def _fill(self, place: str) -> None:
        began, schema, job = time.monotonic(), self._schemas[place], self._job
        if isinstance(job, OwnTablesJob):
            raise Defect("tables of the user's are never filled")
        kind, names = schema.server.kind, [name for name, _ in job.tables]
        with connected(schema, self._access) as worker:
            _run(worker, schema, kind.drop_tables_sql([*reversed(names)]))
            populate(worker, job)
            schema.require_indexes(job.indexes_sql)
            _run(worker, schema, kind.statistics_sql(names))
            if statements := kind.presize_sql(schema.name, self.data_bytes(Path(place))):
                _run(worker, schema, statements)
        self._kept(place, time.monotonic() - began)

    def _kept(self, place: str, load_seconds: float) -> None:
        self._rows[place] = _Rows(is_fresh=True, load_seconds=load_seconds)


def connected(schema: RunSchema, access: Access) -> Worker:
    """A worker with one connection to a schema.

    Raises:
        ExternalServerFault: the server does not let it in.
        ServerLost: it does not answer.
    """
    return _opened(schema, _options(schema, access, (), 0))


def _opened(schema: RunSchema, options: Mapping[str, object]) -> Worker:
    worker = _worker_of(schema)
    try:
        worker.ask("connect", seconds=connect_seconds(1), options=options, connections=1)
    except BaseException:
        worker.kill()
        worker.end()
        raise
    return worker


BASELINE_PLACE, ENCRYPTED_PLACE = "baseline", "encrypted"
"""The places of the schemas that are loaded first, of each kind."""


class ExternalTwin(ServerTwin):
    """One condition's connections to a schema.

    Args:
        used: told ahead of a trial, which may change rows.
        folder: the run's, for files of rows.
    """

    def __init__(
        self,
        schema: RunSchema,
        access: Access,
        settings: ExternalSettings,
        mix: WorkloadSpec,
        tables: Tables,
        used: Callable[[], None],
        folder: Path,
    ) -> None:
        server = schema.server
        agents = None if mix.agents is None else mix.agents.twin(server.failed, server.dsn.program)
        super().__init__(server.kind, mix, settings.threads, _worker_of(schema), agents)
        self.schema = schema
        self._used = used
        self._folder = folder
        self._access = access
        self._settings = settings
        self._tables = tables
        self._is_seen = bool(access.watched(schema))
        self._can_act_beside = isinstance(server.kind, ConvertsSchemas) and agents is None
        try:
            self._connect(settings.threads if agents is None else 1)
        except BaseException:
            self.end()
            raise

    def _options(self) -> Mapping[str, Any]:
        session_bytes = self._settings.session_bytes
        limited = self.engine.memory_sql(session_bytes) if session_bytes else ()
        return _options(self.schema, self._access, limited, self._settings.fetch_size)

    def _observed(self) -> dict[str, object]:
        """Nothing brings a user's server to rest: that would take rights, and change what it does."""
        watched, engine = self._access.watched(self.schema), self.engine
        accounted = {"cpu": engine.cpu_sql} if engine.cpu_sql and not watched else {}
        return {**accounted, "watch": watched, "counters": list(engine.counters), "flush": list(engine.flushing)}

    def facts(self) -> dict[str, str]:
        """None that both must share: settings of users' servers are compared once, and told where they differ."""
        return {}

    def cipher_facts(self) -> dict[str, str]:
        """The server's own words on each scope, and under ``tables`` how its catalog has the tables of the schema."""
        server = self.schema.server
        scopes = {scope.name: scope.said for scope in server.encryption.scopes}
        with server.translated_errors():
            return {**scopes, "tables": _states(server.kind.tables(server.ask, self.schema.name))}

    def plans(self, scripts: Mapping[str, str]) -> Mapping[str, Any]:
        """How the server runs each statement of these transactions; none where it cannot be asked."""
        engine, server = self.engine, self.schema.server
        with server.translated_errors():
            remembered = engine.plan_hashes(server.ask, self.schema.name, scripts)
        if remembered is not None:
            return remembered
        if engine.explained_sql:
            return {one.name: self._plan(one) for one in sampled(engine.profile.dialect, scripts)}
        return super().plans(scripts) if engine.profile.dialect.explain else {}

    def _rows(self, sql: str) -> list[list[str | None]]:
        """An A/A twin's schema has another name, which plans do not show."""
        named = re.compile(rf"(?<!\w){self.schema.name}(?=[.`\"])")
        return [[cell and named.sub(PREFIX, cell) for cell in row] for row in super()._rows(sql)]

    def _plan(self, statement: Sampled) -> Any:
        refused = ""
        for text in dict.fromkeys(statement.texts):
            try:
                self._worker.ask("run", statements=[self.engine.explain_sql(text)])
                return self.engine.plan(super()._rows(self.engine.explained_sql))
            except StatementFault as fault:
                refused = refused or str(fault)
        return {NOT_EXPLAINED: refused}

    @contextlib.contextmanager
    def _connected(self) -> Iterator[None]:
        self._used()
        if self._settings.maxdop:  # of the database, which conditions share: others may have set it since
            self._run((self.engine.parallel_sql(self._settings.maxdop),))
        yield

    def _cool(self, _job: TrialJob) -> None:
        """Empty the server's caches, for all who use it."""
        if self._settings.is_cold and not _job.step:
            if not self.engine.cooling_sql:
                raise Defect("a cold trial was asked of a server whose caches cannot be emptied")
            self._run(self.engine.cooling_sql)

    def _acted(self, level: str, ready: Callable[[], None]) -> Measurement:
        act = self._act(level)
        assert isinstance(act, SchemaStep)  # noqa: S101 - others are not trials by themselves
        with acting.prepared(act, self._halt):
            ready()
            self._worker.ask("begin_external_load")
            act.perform()
            used = self._worker.ask("end_external_load", seconds=STEP_SECONDS)
            measured = with_server(client_step(level, act.answer), used)
            counters = {**measured.engine_counters, acting.SECONDS: measured.elapsed_ns}
            return acting.inspected(act, dataclasses.replace(measured, engine_counters=counters))

    def _act(self, level: str) -> acting.Act:
        asked, unlimited = parse_action(level), partial(self._access.session, self.schema)
        where, how = (self.schema, self._worker, self._tables), (asked, self._halt)
        site = SchemaSite(*where, *how, self._elsewhere, unlimited)
        return self.engine.schema_actions[asked.name].make(site)

    def _waits(self, level: str) -> Mapping[str, Any]:
        return {"max_tries": _TRIES_UNTIL_DEADLINE} if is_offline(parse_action(level)) else {}

    @contextlib.contextmanager
    def _executed(self) -> Iterator[Callable[[], int] | None]:
        server, kind = self.schema.server, self.engine
        assert isinstance(kind, ConvertsSchemas)  # noqa: S101 - only then something goes on beside
        query = kind.executed_sql

        def executed() -> int:
            with server.translated_errors():
                return int(float(first(server.ask(query)) or 0))

        yield executed

    def _empty(self, step: str, before: list[str]) -> None:
        self._run(self.engine.drop_tables_sql([*reversed(self._names)]) if step == LOAD else before)
        if "folder" in (how := self._load_by(step)) and self._mix.steps is not None:
            load = self._mix.steps.request(os.cpu_count() or 1)
            self._worker.ask("write_rows", seconds=STEP_SECONDS, load=load, folder=how["folder"])

    def _load_by(self, step: str) -> Mapping[str, str]:
        by = self._settings.load_by if step == LOAD else ""
        return {"load_by": by, **({"folder": str(self._folder)} if by == PROGRAM else {})} if by else {}

    def _filled(self, step: str) -> None:
        """After a load, leave the tables as every other trial finds them: rebuilt, with statistics."""
        if step == LOAD and self._mix.steps is not None:
            self._worker.ask("step", seconds=STEP_SECONDS, **self._mix.steps.step_request(REBUILD, 1))
            self._run(self.engine.statistics_sql(self._names))

    @property
    def _names(self) -> list[str]:
        steps = self._mix.steps
        return [] if steps is None else [name for name, _ in steps.tables]

    def _run(self, statements: Sequence[str]) -> None:
        _run(self._worker, self.schema, statements)

    def _elsewhere(self, database: str) -> Worker:
        options = {**_options(self.schema, self._access, (), 0), "database": database}
        return _opened(self.schema, options)

    def client(self) -> str:
        return str(self._worker.ask("client")["client"])

    def processes(self) -> tuple[int, ...]:
        """The server's whole tree, where its first process was found on this machine."""
        watched = self._access.watched(self.schema)
        return tuple(pid for first in watched for pid in (first, *living(first)))


def _worker_of(schema: RunSchema) -> Worker:
    return Worker(program=schema.server.dsn.program, failed=schema.server.failed)


def _options(schema: RunSchema, access: Access, setup: Sequence[str], fetch_size: int) -> dict[str, object]:
    options = {**schema.options(access.password(schema.server), setup), "answer_seconds": ANSWER_SECONDS}
    return {**options, "fetch_size": fetch_size} if fetch_size else options


def _run(worker: Worker, schema: RunSchema, statements: Sequence[str]) -> None:
    try:
        worker.ask("run", seconds=POPULATE_SECONDS, statements=list(statements))
    except StatementFault as fault:
        raise ExternalServerFault(schema.server.name, *fault.refusals) from fault


def _states(tables: Mapping[str, bool | None]) -> str:
    """How the tables are, in a word; every table by name where they differ."""
    words = {True: ENCRYPTED_TABLES, False: PLAIN_TABLES, None: "the server cannot tell"}
    found = {words[state] for state in tables.values()}
    if len(found) == 1:
        return found.pop()
    return ", ".join(f"{table} {words[state]}" for table, state in sorted(tables.items()))


MOST_COMPARED_BYTES = 256_000_000
"""Of larger schemas only keys are compared: all rows are read several times in a run."""


def reads_own_tables(baseline: str | None, schema: str | None, workload: str | None) -> bool:
    """Whether a run reads tables that are there: a schema is named, and the workload's folder makes none."""
    is_own = workload is not None and Path(workload).is_dir() and not (Path(workload) / SCHEMA).exists()
    return baseline is not None and schema is not None and is_own


@dataclass(frozen=True, slots=True)
class OwnTables:
    """See `tdelta.processes.own_data.StagedCopy`; here it is no copy."""

    schema: str
    size_bytes: int
    load_seconds: float = 0.0

    def identity(self) -> tuple[str]:
        return (self.schema,)

    def facts(self, database: Database, *, is_proposed: bool) -> DatabaseFacts:
        tables, rows = len(database.tables), database.rows
        return DatabaseFacts(f"schema {self.schema}", self.size_bytes, 0, tables, rows, is_proposed, in_place=True)

    def job(self, tables: Tables, checksums: Checksums) -> OwnTablesJob:
        return OwnTablesJob(tables, checksums)

    def let_go(self) -> None:
        """There is nothing to remove."""


def described(schemas: Mapping[str, RunSchema], access: Access) -> Database:
    """The content of the schema, which has the same tables and as many rows on both servers.

    Raises:
        InvalidTwins: it has not, or there are none.
    """
    found = [_described(schemas[place], access) for place in (BASELINE_PLACE, ENCRYPTED_PLACE)]
    one, other = (
        {
            table.name: ([column.name for column in table.columns], table.rows, table.lowest, table.highest)
            for table in database.tables
        }
        for database in found
    )
    unlike = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    if unlike:
        raise InvalidTwins(Refusal.of("own-tables-differ", tables=", ".join(unlike)))
    if not one:
        raise InvalidTwins(Refusal.of("own-schema-empty", schema=schemas[BASELINE_PLACE].name))
    return found[0]


def _described(schema: RunSchema, access: Access) -> Database:
    kind = schema.server.kind
    if kind.read_only is None:
        raise Defect("refused when the servers were found")
    with schema.server.translated_errors(), contextlib.closing(access.session(schema)) as session:
        return describe(kind.catalog, _reading(asking(session)), schema.name).database


def _reading(ask: Ask) -> Ask:
    """Only queries: whatever a catalog would rather run first, these are not tdelta's tables."""

    def asked(sql: str) -> Sequence[Row]:
        if not sql.startswith("SELECT "):
            raise Defect(f"not a query: {sql}")
        return ask(sql)

    return asked


def compared_tables(database: Database, *, has_keys_only: bool) -> Tables:
    """The columns of each table that are compared: all, or its key, without which a table is left out."""
    if not has_keys_only:
        return tuple((table.name, table.stored_columns) for table in database.tables)
    return tuple((table.name, table.key.names) for table in database.tables if table.key is not None)


class OwnTablesTwins(ExternalTwins):
    """Connections to tables of the user's that are there already, and are only read.

    Every session of a load is read-only by the server's own word, which it is asked for as the session opens; what the
    scripts may hold is checked before. One schema on each server has all its copies: a control reads the same tables
    through other connections, so neither cache holds more than the other.
    """

    def _fill(self, place: str) -> None:
        self._kept(place, 0.0)

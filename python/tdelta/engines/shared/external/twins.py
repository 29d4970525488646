"""Twins on two servers of the user's: schemas that tdelta made there, connections to them, and nothing else.

There is one server of each kind and it runs all the time: nothing is started, frozen, copied or searched, and what is
peculiar to one server's start-up and layout is in the answer. A round has fresh connections and, where that is cheap or
the transactions write, freshly loaded tables. An A/A twin is another schema on the baseline's server.
"""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tdelta.driver.acting import Halt
from tdelta.driver.answers import STEP_SECONDS, checksums, client_step, measurement, raise_failed, traced
from tdelta.driver.jobs import LOAD, STEPS, TRACE, OwnTablesJob, PopulateJob, TrialJob, WorkloadSpec
from tdelta.driver.load_generator.trial import with_server
from tdelta.driver.protocol import Checksums, Tables
from tdelta.driver.rows import POPULATE_SECONDS, generated_checksums, populate
from tdelta.driver.servers.sequential import SequentialBlocks, by_agents, work_of
from tdelta.driver.tree import living
from tdelta.driver.workers import Worker
from tdelta.engines.registry import profile
from tdelta.engines.servers import flushing
from tdelta.engines.shared.external.acts import ActionTarget, acted, data_bytes
from tdelta.engines.shared.external.beside import trial_beside
from tdelta.engines.shared.external.kind import (
    ANSWER_SECONDS,
    PREFIX,
    AccountsCpu,
    ConvertsBeside,
    EmptiesCaches,
    ExplainsBySteps,
    LimitsSessions,
    MetersStatements,
    Presizes,
    RemembersPlans,
)
from tdelta.engines.shared.external.schemas import RunSchema
from tdelta.engines.shared.external.servers import FoundServer
from tdelta.engines.shared.sessions import WorkerSession
from tdelta.errors import Defect, ExternalServerFault, StatementFault
from tdelta.evidence.plans import NOT_EXPLAINED, Sampled, plans_of, sampled
from tdelta.records import Measurement

_CONNECT_SECONDS = 60.0
_CONNECTIONS_A_SECOND = 50.0
_GRACE_SECONDS = 60.0
_QUICK_SECONDS = 5.0
"""Tables that are loaded in less are loaded again for each round, even if the transactions only read."""

ENCRYPTED_TABLES, PLAIN_TABLES = "encrypted", "plain"


@dataclass(frozen=True, slots=True)
class ExternalSettings:
    """What decides a twin on a user's servers.

    ``cipher`` is ``none`` on the baseline's server and ``encrypted`` on the other; ``place`` names the schema (a key of
    `ExternalTwins`' schemas), ``loaded`` that of its kind that is loaded first. ``is_cold``: caches are emptied before
    each trial. ``session_bytes`` is what sorts and temporary tables of a session have; 0: as the server has it.
    ``fetch_size`` is how many rows the driver fetches at once (0: as many as it does), ``load_by`` how it loads rows
    (empty: the fastest way).
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


@dataclass(frozen=True, slots=True)
class Access:
    """How a run gets into its schemas. ``password`` finds a server's; ``processes`` are servers' on this machine."""

    password: Callable[[FoundServer], str | None] = field(repr=False)
    processes: Mapping[str, int] = field(default_factory=dict)

    def options(self, schema: RunSchema) -> dict[str, object]:
        """The options of a connection; they hold the password."""
        return schema.options(self.password(schema.server))

    def watched(self, schema: RunSchema) -> list[int]:
        """The processes whose trees are the schema's server; none where they are not known."""
        process = self.processes.get(schema.server.option)
        return [] if process is None else [process]


@dataclass(slots=True)
class _Rows:
    """How the rows of a schema stand: ``is_fresh`` until the first trial."""

    is_fresh: bool
    load_seconds: float


class ExternalTwins(SequentialBlocks):
    """Makes the twins of one run; see `tdelta.driver.protocol.Twins`.

    Args:
        schemas: tdelta's schemas, by place.
    """

    def __init__(
        self, schemas: Mapping[str, RunSchema], access: Access, job: PopulateJob | OwnTablesJob, mix: WorkloadSpec
    ) -> None:
        super().__init__(mix)
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

    def start(self, settings: ExternalSettings, _name: str) -> ExternalTwin:
        rows = self._rows.get(settings.place)
        if rows is None or not (rows.is_fresh or self._may_be_kept(rows)):
            self._fill(settings.place)
        return self.connected(settings)

    def join(self, _twin: ExternalTwin, settings: ExternalSettings) -> ExternalTwin:
        return self.connected(settings)

    def connected(self, settings: ExternalSettings) -> ExternalTwin:
        """Connections to a schema whose tables are there."""
        schema = self._schemas[settings.place]
        used = partial(self._used, settings.place)
        return ExternalTwin(schema, self._access, settings, self._mix, self._tables, used)

    def end(self) -> None:
        """Schemas are dropped by whoever made them."""

    def _may_be_kept(self, rows: _Rows) -> bool:
        return not self._mix.writes and rows.load_seconds > _QUICK_SECONDS

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
            _run(worker, schema, kind.statistics_sql(names))
            self._presize(worker, place)
        self._kept(place, time.monotonic() - began)

    def _kept(self, place: str, load_seconds: float) -> None:
        self._rows[place] = _Rows(is_fresh=True, load_seconds=load_seconds)

    def _presize(self, worker: Worker, place: str) -> None:
        schema = self._schemas[place]
        if isinstance(schema.server.kind, Presizes):
            _run(worker, schema, schema.server.kind.presize_sql(schema.name, self.data_bytes(Path(place))))


def connected(schema: RunSchema, access: Access) -> Worker:
    """A worker with one connection to a schema."""
    worker = _worker_of(schema)
    try:
        connect(worker, schema, access, 1)
    except BaseException:
        worker.kill()
        worker.end()
        raise
    return worker


BASELINE_PLACE, ENCRYPTED_PLACE = "baseline", "encrypted"
"""The places of the schemas that are loaded first, of each kind."""


class ExternalTwin:
    """One condition's connections to a schema, in a worker of their own; see `tdelta.driver.protocol.Twin`.

    Args:
        used: told ahead of a trial, which may change rows.
    """

    def __init__(
        self,
        schema: RunSchema,
        access: Access,
        settings: ExternalSettings,
        mix: WorkloadSpec,
        tables: Tables,
        used: Callable[[], None],
    ) -> None:
        self.schema = schema
        self._used = used
        self._access = access
        self._settings = settings
        self._mix = mix
        self._tables = tables
        self._halt = Halt()
        self._worker = _worker_of(schema)
        dsn, threads = schema.server.dsn, settings.threads
        self._agents = None if mix.agents is None else mix.agents.twin(schema.server.failed, dsn.program)
        seconds = _CONNECT_SECONDS + threads / _CONNECTIONS_A_SECOND
        try:
            own = threads if self._agents is None else 1
            connect(self._worker, schema, access, own, self._limited(), settings.fetch_size)
            self._worker.ask("observe", observed=_observed(schema, access))
            self._worker.ask("prepare", seconds=seconds, **work_of(mix))
            if self._agents is not None:
                options = _options(schema, access, self._limited(), settings.fetch_size)
                self._agents.connect(options, threads, work_of(mix))
        except BaseException:
            self.end()
            raise

    def facts(self) -> dict[str, str]:
        """None that both must share: settings of users' servers are compared once, and told where they differ."""
        return {}

    def cipher_facts(self) -> dict[str, str]:
        """What the server said of each scope, and under ``tables`` how its catalog has the tables of the schema."""
        server = self.schema.server
        scopes = {scope.name: scope.said for scope in server.encryption.scopes}
        with server.translated_errors():
            return {**scopes, "tables": _states(server.kind.tables(server.ask, self.schema.name))}

    def checksums(self, tables: Tables) -> Checksums:
        return checksums(self._worker, tables)

    def plans(self, scripts: Mapping[str, str]) -> Mapping[str, Any]:
        """How the server runs each statement of these transactions; none where it cannot be asked."""
        kind, server = self.schema.server.kind, self.schema.server
        if isinstance(kind, RemembersPlans):
            with server.translated_errors():
                return kind.plan_hashes(server.ask, self.schema.name, scripts)
        dialect = profile(server.identity.engine).dialect
        if isinstance(kind, ExplainsBySteps):
            return {one.name: self._plan(kind, one) for one in sampled(dialect, scripts)}
        if not dialect.explain:
            return {}
        named = re.compile(rf"(?<!\w){self.schema.name}(?=[.`\"])")  # an A/A twin's schema has another name

        def rows(sql: str) -> list[list[str | None]]:
            found: list[list[str | None]] = self._worker.ask("rows", sql=sql)["rows"]
            return [[cell and named.sub(PREFIX, cell) for cell in row] for row in found]

        return plans_of(dialect, rows, sampled(dialect, scripts))

    def _plan(self, kind: ExplainsBySteps, statement: Sampled) -> Any:
        refused = ""
        for text in dict.fromkeys(statement.texts):
            try:
                self._worker.ask("run", statements=[kind.explain_sql(text)])
                return kind.plan(self._worker.ask("rows", sql=kind.explained_sql)["rows"])
            except StatementFault as fault:
                refused = refused or str(fault)
        return {NOT_EXPLAINED: refused}

    def trial(self, job: TrialJob, ready: Callable[[], None] | None = None) -> Measurement:
        self._used()
        if job.step == TRACE:
            return self.traced(job)
        if job.step in STEPS:
            return self._step(job.step, ready)
        if job.step:
            return acted(ActionTarget(self.schema, self._worker, self._tables, self._elsewhere), job.step, ready)
        if job.during and isinstance(self.schema.server.kind, ConvertsBeside) and self._agents is None:
            return trial_beside(self.schema, self._worker, job, self._halt, self._unlimited, ready)
        if self._settings.is_cold:
            self._cool()
        if ready is not None:
            ready()
        if self._agents is not None:
            return by_agents(self._agents, self._worker, job)
        seconds = job.deadline_seconds + _GRACE_SECONDS
        answer = self._worker.ask("trial", seconds=seconds, trial=job.as_json())
        raise_failed(answer, self.schema.server.failed)
        return measurement(answer)

    @property
    def is_metered(self) -> bool:
        return isinstance(self.schema.server.kind, MetersStatements)

    def traced(self, job: TrialJob) -> Measurement:
        """Run one trial with every statement metered by itself; raises as `trial` does.

        The CPU time is the server's own account of the session, or that of the thread that serves it where the
        server's processes are seen on this machine; elsewhere there is none.
        """
        self._used()
        kind = self.schema.server.kind
        if not isinstance(kind, MetersStatements):
            raise Defect("a trace was asked of a server whose statements cannot be metered")
        tracing, is_seen = kind.tracing, bool(self._access.watched(self.schema))
        request = {
            "counters": list(tracing.counters),
            **({"thread": tracing.thread} if tracing.thread and is_seen else {}),
            **({"session": tracing.session} if tracing.session else {}),
            **({"statements": tracing.statements} if tracing.statements else {}),
        }
        seconds = job.deadline_seconds + _GRACE_SECONDS
        return traced(self._worker.ask("trace", seconds=seconds, trial=job.as_json(), tracing=request))

    def _step(self, step: str, ready: Callable[[], None] | None) -> Measurement:
        """One load or rebuild of tdelta's tables. Statistics are gathered after a load, unmeasured."""
        if self._mix.steps is None:
            raise Defect(f"a {step} was asked of a run that has none")
        steps, kind = self._mix.steps, self.schema.server.kind
        names = [name for name, _ in steps.job.tables]
        if step == LOAD:
            _run(self._worker, self.schema, kind.drop_tables_sql([*reversed(names)]))
        if ready is not None:
            ready()
        request = {**steps.request(step, self._settings.threads), "before": []}
        if step == LOAD and self._settings.load_by:
            request["load_by"] = self._settings.load_by
        self._worker.ask("begin_external_load")
        answer = self._worker.ask("step", seconds=STEP_SECONDS, **request)
        used = self._worker.ask("end_external_load", seconds=STEP_SECONDS)
        if step == LOAD:
            _run(self._worker, self.schema, kind.statistics_sql(names))
        measured = with_server(client_step(step, answer), used)
        return dataclasses.replace(measured, engine_counters={**measured.engine_counters, "rows": steps.rows})

    def _elsewhere(self, database: str) -> Worker:
        worker = _worker_of(self.schema)
        try:
            options = {**_options(self.schema, self._access, (), 0), "database": database}
            worker.ask("connect", seconds=_CONNECT_SECONDS, options=options, connections=1)
        except BaseException:
            worker.kill()
            worker.end()
            raise
        return worker

    def _cool(self) -> None:
        """Empty the server's caches, for all who use it."""
        kind = self.schema.server.kind
        if not isinstance(kind, EmptiesCaches):
            raise Defect("a cold trial was asked of a server whose caches cannot be emptied")
        _run(self._worker, self.schema, kind.cooling_sql)

    def _limited(self) -> Sequence[str]:
        """What sessions run first so that they have no more memory than was asked."""
        kind, session_bytes = self.schema.server.kind, self._settings.session_bytes
        return kind.memory_sql(session_bytes) if session_bytes and isinstance(kind, LimitsSessions) else ()

    def client(self) -> str:
        return str(self._worker.ask("client")["client"])

    def processes(self) -> tuple[int, ...]:
        """The server's whole tree, where its first process was found on this machine."""
        watched = self._access.watched(self.schema)
        return tuple(pid for first in watched for pid in (first, *living(first)))

    def _unlimited(self) -> WorkerSession:
        """A session in the schema, marked as the load's are, whose statements may take as long as they take."""
        return WorkerSession(self._access.options(self.schema), self.schema.server.dsn.program, is_external=True)

    def stop(self) -> None:
        """Have a trial that is running end after the operation it is at, and what goes on beside it."""
        self._halt.ask()
        if self._agents is not None:
            self._agents.stop()
        self._worker.send("stop")

    def end(self) -> None:
        """Close the connections; the schema stays."""
        if self._agents is not None:
            self._agents.end()
        self._worker.end()


def _worker_of(schema: RunSchema) -> Worker:
    return Worker(program=schema.server.dsn.program, failed=schema.server.failed)


def connect(
    worker: Worker,
    schema: RunSchema,
    access: Access,
    connections: int,
    setup: Sequence[str] = (),
    fetch_size: int = 0,
) -> None:
    """Open a worker's connections to a schema, each of which runs ``setup`` after what all run.

    ``fetch_size`` is how many rows they fetch at once; 0: as many as the driver does.

    Raises:
        ExternalServerFault: the server does not let them in.
        ServerLost: it does not answer.
    """
    seconds = _CONNECT_SECONDS + connections / _CONNECTIONS_A_SECOND
    options = _options(schema, access, setup, fetch_size)
    worker.ask("connect", seconds=seconds, options=options, connections=connections)


def _options(schema: RunSchema, access: Access, setup: Sequence[str], fetch_size: int) -> dict[str, object]:
    options = {**schema.options(access.password(schema.server), setup), "answer_seconds": ANSWER_SECONDS}
    return {**options, "fetch_size": fetch_size} if fetch_size else options


def _run(worker: Worker, schema: RunSchema, statements: Sequence[str]) -> None:
    try:
        worker.ask("run", seconds=POPULATE_SECONDS, statements=list(statements))
    except StatementFault as fault:
        raise ExternalServerFault(schema.server.name, *fault.refusals) from fault


def _observed(schema: RunSchema, access: Access) -> dict[str, object]:
    """What trials look at. Nothing brings a user's server to rest: that would take rights, and change what it does."""
    kind = schema.server.kind
    watched = access.watched(schema)
    accounted = {"cpu": kind.cpu_sql} if isinstance(kind, AccountsCpu) and not watched else {}
    return {
        **accounted,
        "watch": watched,
        "counters": list(kind.counters),
        "flush": flushing(kind),
    }


def _states(tables: Mapping[str, bool | None]) -> str:
    """How the tables are, in a word; every table by name where they differ."""
    words = {True: ENCRYPTED_TABLES, False: PLAIN_TABLES, None: "the server cannot tell"}
    found = {words[state] for state in tables.values()}
    if len(found) == 1:
        return found.pop()
    return ", ".join(f"{table} {words[state]}" for table, state in sorted(tables.items()))

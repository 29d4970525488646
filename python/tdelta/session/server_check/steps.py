"""The abilities of an adapter, each tried by a function that says what it saw or raises.

None of them trusts what another saw: a schema is looked for by a session that did not make it, rows are read back, and
what is removed is looked for once more.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from tdelta.engines.registry import server as server_class
from tdelta.engines.server.base import ANSWER_SECONDS, LONG_SECONDS, ConvertsSchemas, LeftoverSchema, lock_name
from tdelta.engines.server.discovery import FoundServer, checked_name
from tdelta.engines.server.dsn import Dsn
from tdelta.engines.server.external_twins import (
    BASELINE_PLACE,
    ENCRYPTED_PLACE,
    ExternalSettings,
    ExternalTwin,
    ExternalTwins,
    connected,
)
from tdelta.engines.server.pairs import ReachedServers, SchemaKeeper, reached
from tdelta.engines.server.schema_actions import PAUSE
from tdelta.engines.server.schemas import RunSchema
from tdelta.engines.server.sessions import Session, asking, first, is_true
from tdelta.errors import Defect, ExternalServerFault, ServerLost, TdeltaError, WorkerFault
from tdelta.messages import Refusal
from tdelta.processes.jobs import LOAD, REBUILD, TRACE, PopulateJob, TrialJob
from tdelta.processes.jobs import STEPS as KINDS_OF_STEP
from tdelta.processes.workers import Refused
from tdelta.records import Measurement
from tdelta.session.request import RunRequest
from tdelta.session.run_plan import plan

Found: TypeAlias = Mapping[str, "str | int | float"]
"""Findings of a step, for the report: counts, and the server's own words about encryption."""


class AbilityFails(TdeltaError):
    """An adapter that does not do what it is to do; ``server`` is the option that names it, or its place."""

    def __init__(self, said: Refusal, server: str = "") -> None:
        super().__init__(said.at(server.removeprefix("--")))


class NotOffered(Exception):
    """An ability that this adapter, or this client, does not have."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


class Bench:
    """Two servers, what was made on them, and what has become of it so far. A context: at its end nothing is left.

    Args:
        request: ``--baseline`` and ``--encrypted`` with what goes with them, and the work.

    Attributes:
        servers: the two, once they are reached.
        before: what was on each of them then.
        twins: makes and loads twins, once there are schemas.
        settings: of the two twins.
        job: the rows.
        scripts: the transactions by name.
        running: the twins, once they are started.
        measured: what their trials measured.
        client: by which client the servers are reached.
        unchangeable: why no schema can be made there whose encryption is changed.
    """

    trial = TrialJob(seed=24, stream=0, operations=200, first_op=0, deadline_seconds=60.0)
    """The work of both."""

    def __init__(self, request: RunRequest, dsns: tuple[Dsn, Dsn], run_id: str) -> None:
        self.client = ""
        self.unchangeable: tuple[Refusal, ...] = ()
        self.servers: ReachedServers | None = None
        self.before: Sequence[Mapping[str, str]] = ()
        self.running: list[ExternalTwin] = []
        self.measured: list[Measurement] = []
        self.twins: ExternalTwins
        self.settings: Sequence[ExternalSettings]
        self.job: PopulateJob
        self.scripts: Mapping[str, str]
        self._request = request
        self._dsns = dsns
        self._run_id = run_id
        self._sessions: dict[str, Session] = {}
        self._reached = ExitStack()
        self._made = ExitStack()

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_raised: object) -> None:
        with self._reached, self._made:
            self.end_twins()
            self.end_sessions()

    @property
    def both(self) -> tuple[FoundServer, FoundServer]:
        return self._found.both

    @property
    def schemas(self) -> Sequence[RunSchema]:
        """Those of the two twins."""
        return tuple(self._found.schemas[place] for place in (BASELINE_PLACE, ENCRYPTED_PLACE))

    @property
    def changed(self) -> Sequence[RunSchema]:
        """The one whose encryption is changed; none where the engine cannot do that."""
        return tuple(schema for place, schema in self._found.schemas.items() if place == CHANGED)

    def reach(self) -> int:
        """Reach and compare both servers. Returns in how many settings they differ that are not encryption."""
        can_change = CHANGED in server_class(self._dsns[0].engine).schema_actions
        try:
            self.servers = self._compared(*[CHANGED] * can_change)
        except ExternalServerFault as fault:
            if not can_change or {refusal.code for refusal in fault.refusals} - _UNCHANGEABLE:
                raise
            self.unchangeable = fault.refusals
            self.servers = self._compared()
        self.before = [census(server) for server in self.both]
        return len(self.servers.pair.differences)

    def _compared(self, *during: str) -> ReachedServers:
        asked = {**self._request.values, "vary": {"during": during}}
        return self._reached.enter_context(reached(asked, self._dsns, self._run_id))

    def make(self) -> None:
        self._made.enter_context(self._found.made())
        self.lay_out("order-entry")

    def lay_out(self, workload: str, works: tuple[str, ...] = ()) -> None:
        """Have the twins be of another workload, whose tables are not there yet, and of these kinds of work."""
        self.end_twins()
        servers = self._found
        request = self._request.replace(workload=workload, vary={"work": works} if works else {})
        made = plan(request, self._run_id, None, servers)
        job, mix = made.populate_job(), made.workload_spec()
        if not isinstance(job, PopulateJob):
            raise Defect("the check's rows are generated")
        self.job, self.scripts = job, {str(one["name"]): str(one["text"]) for one in mix.transactions}
        self.twins = ExternalTwins(servers.schemas, servers.access, job, mix)
        by_place = {one.place: one for one in (made.twin_settings(condition, 0) for condition in made.conditions)}
        self.settings = tuple(by_place[place] for place in (BASELINE_PLACE, ENCRYPTED_PLACE))

    def started(self, settings: ExternalSettings, **changed: Any) -> AbstractContextManager[ExternalTwin]:
        """A twin with fresh rows, for a while."""
        return _until_end(self.twins.start(replace(settings, **changed), settings.place))

    def connected(self, settings: ExternalSettings, **changed: Any) -> AbstractContextManager[ExternalTwin]:
        """A twin on the rows that are there, for a while."""
        return _until_end(self.twins.connected(replace(settings, **changed)))

    def wait(self) -> Sequence[float]:
        """How long a statement waited on each server, seconds; empty where there is none that does."""
        waiting = [schema.server.kind.long_sql for schema in self.schemas]
        if not all(waiting):
            return ()
        with ExitStack() as opened:
            workers = [opened.enter_context(connected(schema, self._found.access)) for schema in self.schemas]
            for worker, statement in zip(workers, waiting, strict=True):
                worker.send("step", before=[], load=None, statements=[statement])
            return [worker.answer(_MOST_SECONDS)["elapsed_ns"] / 1e9 for worker in workers]

    def is_cleaned(self, server: FoundServer) -> bool:
        """Make a schema in a session that is then killed, as is one that works there: whether it is dropped at last."""
        found, kind = self._found, server.kind
        options = server.dsn.options(found.access.password(server), setup=kind.session_sql)
        maker = Session({**options, "answer_seconds": ANSWER_SECONDS}, server.dsn.program, Refused)
        name = checked_name(f"{found.schema}_killed")
        schema = RunSchema(replace(server, connection=maker), name, self._run_id, is_encrypted=self.expected(server))
        with closing(maker), SchemaKeeper((server,), self._run_id, found.access.password) as keeper:
            schema.make(keeper.begins)
            with connected(schema, found.access) as worker:
                worker.send("run", statements=[kind.long_sql or kind.probe(_ALIVE).seen])
                time.sleep(_AT_WORK_SECONDS)
                for process in (worker, maker):
                    process.kill()
                keeper.outlive()
        return not kind.has_schema(server.ask, name)

    def remove(self) -> None:
        self.end_twins()
        self.end_sessions()
        self._made.close()

    def session(self, schema: RunSchema) -> Session:
        """A session that works in a schema and is not the one that made it; opened once."""
        if schema.name + schema.server.option not in self._sessions:
            options = {**self._found.access.options(schema), "answer_seconds": ANSWER_SECONDS}
            opened = Session(options, schema.server.dsn.program, Refused)
            self._sessions[schema.name + schema.server.option] = opened
        return self._sessions[schema.name + schema.server.option]

    def expected(self, server: FoundServer) -> bool | None:
        """Whether the tables of a server should be encrypted; None where it cannot tell."""
        return self._found.pair.expected(server)

    def end_twins(self) -> None:
        while self.running:
            self.running.pop().end()

    def end_sessions(self) -> None:
        """Close those that `session` opened."""
        while self._sessions:
            self._sessions.popitem()[1].close()

    @property
    def secrets(self) -> Mapping[str, str]:
        """All that a report must not have, and what stands in its place."""
        hidden = {socket.gethostname(): "HOST"}
        for dsn in self._dsns:
            hidden |= {dsn.user: "USER", dsn.host: "HOST", dsn.socket or "": "SOCKET", dsn.database or "": "DATABASE"}
            hidden |= {dsn.place or "": "PLACE"}
            hidden |= {dsn.password_env or "": "VARIABLE", dsn.password_file or "": "FILE", dsn.tls_ca or "": "FILE"}
        for server in self.both if self.servers is not None else ():
            hidden |= {self._found.access.password(server) or "": "PASSWORD", server.identity.user: "USER"}
            hidden |= {server.identity.machine: "HOST"}
        return hidden

    @property
    def _found(self) -> ReachedServers:
        if self.servers is None:
            raise Defect("the servers were not reached yet")
        return self.servers


_LISTED = "listed"


def census(server: FoundServer) -> dict[str, str]:
    """The content of a server, by name: settings that are compared, the states of its encryption, other objects."""
    kind, ask = server.kind, server.ask
    settings = {name: value for name, value in kind.settings(ask).items() if not kind.rule.left_out.match(name)}
    states = {f"encryption of {scope.name}": scope.said for scope in kind.encryption(ask).scopes}
    rows = [" ".join(filter(None, row.values())) for query in kind.census for row in ask(query)]
    return {**settings, **states, **dict.fromkeys(rows, _LISTED)}


@contextmanager
def _until_end(twin: ExternalTwin) -> Iterator[ExternalTwin]:
    try:
        yield twin
    finally:
        twin.end()


def _missing(what: str, server: str = "") -> AbilityFails:
    return AbilityFails(Refusal.of("missing", what=what), server)


def _differs(what: str, found: str, server: str = "") -> AbilityFails:
    return AbilityFails(Refusal.of("server-check-differs", what=what, found=found), server)


def _left(what: str, server: str) -> AbilityFails:
    return AbilityFails(Refusal.of("server-check-left", what=what), server)


def _unsupported(what: str) -> NotOffered:
    return NotOffered(Refusal.of("unsupported", what=what, by="the adapter"))


CHANGED = "encrypt"
"""The place of the schema whose encryption is changed, which is plain at first."""

_UNCHANGEABLE = frozenset({"conflict", "right-missing"})
"""The refusals that such a schema may meet and the others not."""

_PAUSE_SECONDS = 3


def _changes(schema: RunSchema) -> Iterator[str]:
    """The levels of ``during`` for all changes that the engine has, with each word that they take."""
    kind = schema.server.kind
    if not isinstance(kind, ConvertsSchemas):
        return
    for name, action in kind.schema_actions.items():
        if action.is_during:
            yield name
            yield from (f"{name}:{knob}={word}" for knob, (_, *words) in action.choices.items() for word in words)
            if PAUSE in action.knobs and kind.suspend_sql(schema.name):
                yield f"{name}:{PAUSE}={_PAUSE_SECONDS}"


def converted(bench: Bench) -> Found:
    """Every change of the encryption of a schema of its own, beside a load; an unchanged one has the same rows then."""
    if bench.unchangeable:
        raise NotOffered(bench.unchangeable[0])
    levels = [level for schema in bench.changed for level in _changes(schema)]
    if not levels or not bench.expected(bench.both[1]):
        raise _unsupported("encrypting and decrypting a schema with rows")
    bench.end_twins()
    found: dict[str, str | int | float] = {}
    with bench.started(bench.settings[0]) as plain, bench.started(bench.settings[1], place=CHANGED) as changed:
        for stream, level in enumerate(levels, start=2):
            job = replace(bench.trial, stream=stream, first_op=stream * bench.trial.operations)
            for twin, during in ((plain, ""), (changed, level)):
                _require_whole(twin.trial(replace(job, during=during)), job, f"encrypted, {level}")
            found[level] = "done"
        sums = [twin.checksums(bench.job.tables) for twin in (plain, changed)]
    if wrong := [table for table in sums[0] if sums[0][table] != sums[1].get(table)]:
        raise _differs("rows of a schema whose encryption was changed and of another", ", ".join(wrong), "encrypted")
    return found


def _require_whole(measured: Measurement, job: TrialJob, where: str) -> None:
    if measured.total_operations != job.operations or any(measured.errors.values()):
        wrong = ", ".join(f"{count} {kind}" for kind, count in measured.errors.items()) or "none"
        given = {"operations": job.operations, "found": measured.total_operations}
        raise AbilityFails(Refusal.of("server-check-work-cut", **given, errors=wrong), where)


_MOST_SECONDS = 10.0 * LONG_SECONDS
_AT_WORK_SECONDS = 0.5
"""How long a session is at work before it is killed."""

_TWICE = "tdelta_twice"
_MISSING = "tdelta_no_such_table"
_ALIVE = "server check alive"


@dataclass(frozen=True, slots=True)
class AbilityCheck:
    """One ability, by name, and the steps without which it cannot be tried."""

    ability: str
    does: Callable[[Bench], Found]
    needs: tuple[str, ...] = ()
    is_last: bool = False
    """Tried even when the time is up."""


def servers_reached(bench: Bench) -> Found:
    return {"settings that differ": bench.reach()}


def state_read(bench: Bench) -> Found:
    """Settings, version and scopes, asked twice: what a server says is not to depend on when it is asked."""
    found: dict[str, str | int | float] = {}
    for server in bench.both:
        name = server.option.removeprefix("--")
        if not server.settings:
            raise _missing("the settings (a missing privilege?)", name)
        if not server.identity.version:
            raise _missing("the server's version", name)
        unsaid = [scope.name for scope in server.encryption.scopes if not scope.said]
        if unsaid or not server.encryption.scopes:
            raise _missing(f"the settings about the encryption of {', '.join(unsaid) or 'all'}", name)
        if server.kind.encryption(server.ask) != server.encryption:
            raise _differs("two queries of the encryption settings", "one server", name)
        found[f"{name}: settings"] = len(server.settings)
        found |= {f"{name}: {scope.name}": scope.said for scope in server.encryption.scopes}
    return found


def schemas_made(bench: Bench) -> Found:
    bench.make()
    for schema in bench.schemas:
        server, ask = schema.server, asking(bench.session(schema))
        if not server.kind.has_schema(ask, schema.name):
            raise _missing("the schema, from another session,", server.option)
        if LeftoverSchema(schema.name, schema.run_id) not in server.kind.own_schemas(ask, schema.name):
            raise _missing("the run's mark in the schema", server.option)
        if not is_true(ask(server.kind.probe(lock_name(schema.name)).seen)):
            raise _missing("the schema's lock, from another session,", server.option)
    return {"schemas": len(bench.schemas)}


def rows_loaded(bench: Bench) -> Found:
    expected = bench.twins.expected_checksums()
    for settings in bench.settings:
        _, sums = bench.twins.load(settings)
        if wrong := [table for table in expected if sums.get(table) != expected[table]]:
            raise _differs("generated and loaded rows", ", ".join(wrong), settings.place)
    return {"tables": len(expected), "rows": sum(rows for rows, _ in expected.values())}


def tables_seen(bench: Bench) -> Found:
    """That the catalog has every table, as encrypted as it is to be, and says how large they are."""
    wanted = {table.lower() for table, _ in bench.job.tables}
    found: dict[str, str | int | float] = {}
    for schema in bench.schemas:
        server, name = schema.server, schema.server.option.removeprefix("--")
        tables = server.kind.tables(server.ask, schema.name)
        if lacking := wanted - {table.lower() for table in tables}:
            raise _missing(f"tables in the server's catalog ({', '.join(sorted(lacking))})", name)
        expected = bench.expected(server)
        wrong = [table for table, state in tables.items() if expected is not None and state is not expected]
        if wrong:
            wants = "encrypted" if expected else "plain"
            raise AbilityFails(
                Refusal.of("server-check-tables-otherwise", wanted=wants, tables=", ".join(sorted(wrong))), name
            )
        size = float(first(server.ask(server.kind.data_bytes_sql(schema.name))) or 0)
        if size <= 0:
            raise _missing("the size of the loaded tables", name)
        found[f"{name}: bytes"] = round(size)
    return found


def worked(bench: Bench) -> Found:
    """One trial on each server, by the load loop, whole and without an error."""
    for settings in bench.settings:
        twin = bench.twins.start(settings, settings.place)
        bench.running.append(twin)
        bench.client = twin.client()
        measured = twin.trial(bench.trial)
        _require_whole(measured, bench.trial, settings.place)
        if silent := [name for name, span in measured.statements.items() if span.total_ns <= 0]:
            raise _missing(f"the times of {', '.join(silent)}", settings.place)
        bench.measured.append(measured)
    return {"operations": bench.trial.operations, "statements": len(bench.measured[0].statements)}


def rows_alike(bench: Bench) -> Found:
    sums = [twin.checksums(bench.job.tables) for twin in bench.running]
    if wrong := [table for table in sums[0] if sums[0][table] != sums[1].get(table)]:
        raise _differs("rows after the same work", ", ".join(wrong))
    return {"tables": len(sums[0])}


def planned(bench: Bench) -> Found:
    plans = [twin.plans(bench.scripts) for twin in bench.running]
    if not any(plans):
        raise _unsupported("plans as JSON")
    if plans[0].keys() != plans[1].keys():
        alone = ", ".join(sorted(plans[0].keys() ^ plans[1].keys()))
        raise _missing(f"a plan from one of the servers for {alone}")
    return {"statements": len(plans[0]), "run otherwise": sum(plans[0][name] != plans[1][name] for name in plans[0])}


def traced(bench: Bench) -> Found:
    further = replace(bench.trial, stream=1, first_op=bench.trial.operations, step=TRACE)
    for server, settings, twin in zip(bench.both, bench.settings, bench.running, strict=True):
        if server.kind.tracing is None:
            raise _unsupported("statement costs with this client (?client=dbapi may)")
        costs = twin.trial(further).traced
        if not costs or not all(cost.calls for cost in costs.values()):
            raise _missing("a call of each statement", settings.place)
    return {"statements": len(costs), "calls": sum(cost.calls for cost in costs.values())}


def costed(bench: Bench) -> Found:
    """That the server's own counters moved while it worked."""
    if not any(server.kind.counters for server in bench.both):
        raise _unsupported("counters of such servers")
    grown: dict[str, str | int | float] = {}
    for server, measured in zip(bench.both, bench.measured, strict=True):
        name = server.option.removeprefix("--")
        moved = [counter for counter, count in measured.engine_counters.items() if count]
        if not moved:
            raise _missing(f"a change of {len(measured.engine_counters)} counters under load", name)
        grown[f"{name}: counters that moved"] = len(moved)
        cpu = measured.usage.cpu_user_seconds + measured.usage.cpu_system_seconds
        grown[f"{name}: CPU of the server"] = "seen" if cpu > 0 else "not seen"
    return grown


def cooled(bench: Bench) -> Found:
    """That caches are emptied by what the adapter says empties them."""
    for server in bench.both:
        if not server.kind.cooling_sql:
            raise _unsupported("emptying the server's caches with SQL")
        for statement in server.kind.cooling_sql:
            server.connection.run(statement)
    return {}


def evidence_kept(bench: Bench) -> Found:
    words = []
    for server, twin in zip(bench.both, bench.running, strict=True):
        facts = twin.cipher_facts()
        for scope in server.kind.encryption(server.ask).scopes:
            if facts.get(scope.name) != scope.said:
                raise _differs("encryption states before and after the work", scope.name, server.option)
        words.append(facts["tables"])
    if words[0] == words[1] and bench.expected(bench.both[1]):
        raise _missing(f"any difference in encryption ({words[0]})")
    return {"baseline: tables": words[0], "encrypted: tables": words[1]}


def backed_up(bench: Bench) -> Found:
    """Whatever the engine can do with a schema by SQL as a trial of its own: a backup, and the restore of one."""
    found: dict[str, str | int | float] = {}
    for settings, schema, twin in zip(bench.settings, bench.schemas, bench.running, strict=True):
        for name, action in schema.server.kind.schema_actions.items():
            if action.is_work:
                measured = twin.trial(replace(bench.trial, operations=1, step=name))
                found[f"{settings.place}: {name}, s"] = round(measured.elapsed_ns / 1e9, 1)
    if not found:
        raise _unsupported("backups and restores by SQL")
    return found


def fixed_lengths_kept(bench: Bench) -> Found:
    """That texts of columns with a fixed length are read as they were written."""
    bench.lay_out("read-only")
    return rows_loaded(bench)


_STEPS = ((LOAD, ""), (LOAD, "arrays"), (REBUILD, ""), ("warm", ""), ("cold", ""))
"""Kinds of work, one after another, with how rows are loaded; by default past the server's SQL where that can be."""


def loaded_and_rebuilt(bench: Bench) -> Found:
    """A fact table is loaded in every way, rebuilt, and queried from memory and from disk; its rows stay the same."""
    bench.lay_out("warehouse", (LOAD, REBUILD, "warm"))
    rows_loaded(bench)
    found: dict[str, str | int | float] = {}
    for settings, schema in zip(bench.settings, bench.schemas, strict=True):
        for work, load_by in _STEPS:
            if work == "cold" and not schema.server.kind.cooling_sql:
                continue
            job = replace(bench.trial, operations=_QUERIES, step=work if work in KINDS_OF_STEP else "")
            with bench.connected(settings, load_by=load_by, is_cold=work == "cold") as twin:
                measured, sums = twin.trial(job), twin.checksums(bench.job.tables)
            if wrong := [table for table, one in bench.twins.expected_checksums().items() if sums.get(table) != one]:
                raise _differs(f"rows before and after {work}", ", ".join(wrong), settings.place)
            said = " ".join(filter(None, (settings.place, work, load_by)))
            found[f"{said}, s"] = round(measured.elapsed_ns / 1e9, 1)
    return found


_QUERIES = 8


def long_waited(bench: Bench) -> Found:
    """A statement that takes longer than a minute, on both servers at once, as a load or a rebuild may."""
    waited = bench.wait()
    if not waited:
        raise _unsupported("a statement that only waits")
    for server, seconds in zip(bench.both, waited, strict=True):
        if seconds < LONG_SECONDS:
            raise _missing(f"the last {LONG_SECONDS - seconds:.0f} s of a statement", server.option)
    return {"seconds": LONG_SECONDS}


def killed_cleaned(bench: Bench) -> Found:
    """That a schema is gone a while after whoever made it was killed, with a statement at work in it."""
    for server in bench.both:
        if not bench.is_cleaned(server):
            raise _left("the schema of a killed run", server.option)
    return {"schemas": len(bench.both)}


def refused_rightly(bench: Bench) -> Found:
    for schema in bench.schemas:
        session = bench.session(schema)
        _refused(schema, session.run, f"SELECT * FROM {_MISSING}", "sql")
        session.run(f"CREATE TABLE {_TWICE} (id INTEGER PRIMARY KEY)")
        try:
            session.run(f"INSERT INTO {_TWICE} VALUES (1)")
            _refused(schema, session.run, f"INSERT INTO {_TWICE} VALUES (1)", "constraint")
        finally:
            session.run(f"DROP TABLE {_TWICE}")
    return {"refusals": 2}


def _refused(schema: RunSchema, run: Callable[[str], None], sql: str, kind: str) -> None:
    found, said = "no refusal", ""
    try:
        run(sql)
    except Refused as refusal:
        found, said = refusal.kind, str(refusal)
    if found != kind:
        why = Refusal.of("server-check-kind", expected=kind, found=found, said=said)
        raise AbilityFails(why, schema.server.option)


def sessions_ended(bench: Bench) -> Found:
    """That sessions of the load are found by their mark, and end when they are ended."""
    bench.end_twins()
    for schema in bench.schemas:
        server, name = schema.server, schema.server.option
        other = bench.session(schema)
        found = server.kind.marked_sessions(server.ask, schema.sessions)
        if not found:
            raise _missing("the marked session of the workload", name)
        for session in found:
            server.connection.run(server.kind.end_session_sql(session))
        try:
            other.text(server.kind.probe(_ALIVE).seen)
        except (ServerLost, WorkerFault):
            continue
        except Refused as lost:
            if lost.kind != "connection":
                said = {"expected": "connection", "found": lost.kind, "said": str(lost)}
                raise AbilityFails(Refusal.of("server-check-kind", **said), name) from lost
        else:
            raise _left("a session after it was ended", name)
    bench.end_sessions()
    return {"sessions": len(bench.schemas)}


def all_removed(bench: Bench) -> Found:
    bench.remove()
    for schema in (*bench.schemas, *bench.changed):
        server, name = schema.server, schema.server.option
        if server.kind.has_schema(server.ask, schema.name):
            raise _left("the schema", name)
        if any(mark.run_id == schema.run_id for mark in server.kind.own_schemas(server.ask, schema.name)):
            raise _left("a schema with the mark of this run", name)
        # Sessions of the schema that was changed went with their processes, which a server may notice later.
        if schema not in bench.changed and server.kind.marked_sessions(server.ask, schema.sessions):
            raise _left("a session with the mark of this run", name)
    return {"schemas": len(bench.schemas)}


def nothing_changed(bench: Bench) -> Found:
    """That what was on the servers beforehand is there, and nothing else.

    Settings may appear: a library that the first session loads has its own.
    """
    for server, before in zip(bench.both, bench.before, strict=True):
        after = census(server)
        listed = {name for name, value in after.items() if value == _LISTED}
        wrong = sorted(name for name in {*before, *listed} if before.get(name) != after.get(name))
        if wrong:
            others = [name for name in wrong if _LISTED in (before.get(name), after.get(name))]
            named = [name for name in wrong if name not in others]
            named += [f"{len(others)} databases or users that others made or removed"] if others else []
            raise _differs("the server before and after", ", ".join(named), server.option)
    return {"facts": sum(map(len, bench.before))}


REACHED, MADE, LOADED, WORKED = "servers reached", "schema made", "rows loaded", "work done"
"""Abilities that others need."""

STEPS = (
    AbilityCheck(REACHED, servers_reached),
    AbilityCheck("state read", state_read, (REACHED,)),
    AbilityCheck(MADE, schemas_made, (REACHED,)),
    AbilityCheck(LOADED, rows_loaded, (MADE,)),
    AbilityCheck("tables seen", tables_seen, (LOADED,)),
    AbilityCheck(WORKED, worked, (LOADED,)),
    AbilityCheck("rows alike", rows_alike, (WORKED,)),
    AbilityCheck("plans read", planned, (WORKED,)),
    AbilityCheck("statements traced", traced, (WORKED,)),
    AbilityCheck("counters read", costed, (WORKED,)),
    AbilityCheck("caches emptied", cooled, (WORKED,)),
    AbilityCheck("evidence kept", evidence_kept, (WORKED,)),
    AbilityCheck("backup and restore", backed_up, (WORKED,)),
    AbilityCheck("encryption changed", converted, (WORKED,)),
    AbilityCheck("fixed lengths kept", fixed_lengths_kept, (LOADED,)),
    AbilityCheck("loaded and rebuilt", loaded_and_rebuilt, (LOADED,)),
    AbilityCheck("long statement", long_waited, (MADE,)),
    AbilityCheck("killed run cleaned up", killed_cleaned, (MADE,)),
    AbilityCheck("refusals recognized", refused_rightly, (MADE,)),
    AbilityCheck("sessions ended", sessions_ended, (MADE,)),
    AbilityCheck("everything removed", all_removed, (MADE,), is_last=True),
    AbilityCheck("nothing else changed", nothing_changed, (REACHED,), is_last=True),
)
"""All of them, in their order."""


def lacking(step: AbilityCheck, passed: Iterable[str]) -> tuple[str, ...]:
    have = set(passed)
    return tuple(need for need in step.needs if need not in have)

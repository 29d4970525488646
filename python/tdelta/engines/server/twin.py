"""A twin on a server, wherever that comes from: connections in a worker of their own, and what a trial does with them.

The load is tdelta's own loop in the worker, load agents, or a command of the user's, beside which the worker reads what
the server used.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tdelta.design.actions import NOTHING
from tdelta.engines.server.base import ServerEngine
from tdelta.errors import Defect, StatementFault
from tdelta.evidence.plans import plans_of, sampled
from tdelta.processes import actions as acting
from tdelta.processes.answers import (
    STEP_SECONDS,
    checksums,
    client_step,
    connect_seconds,
    measurement,
    raise_failed,
    traced,
)
from tdelta.processes.jobs import ROUTINE, ROUTINE_TRACE, STEPS, TRACE, TrialJob, WorkloadSpec
from tdelta.processes.load_generator.trial import with_server
from tdelta.processes.protocol import Checksums, Tables, Twin, nobody_waits
from tdelta.processes.workers import GRACE_SECONDS, Worker
from tdelta.ray.load_agents import AgentLoad
from tdelta.records import Measurement


class ServerTwin(Twin):
    """One condition's connections to a server; see `tdelta.processes.protocol.Twin`. A subclass says whose server it
    is.

    Args:
        threads: how many connections the load has.
    """

    def __init__(
        self,
        engine: ServerEngine,
        mix: WorkloadSpec,
        threads: int,
        worker: Worker,
        agents: AgentLoad | None,
    ) -> None:
        self.engine = engine
        self._mix = mix
        self._threads = threads
        self._worker = worker
        self._agents = agents
        self._halt = acting.Halt()
        self._is_stopped = False

    def _options(self) -> Mapping[str, Any]:
        """Those of the load's connections; they may hold a password."""
        raise NotImplementedError

    def _observed(self) -> dict[str, object]:
        """The quantities that the worker observes around each trial."""
        raise NotImplementedError

    def _connected(self) -> contextlib.AbstractContextManager[None]:
        """Within the block the server runs and this twin is connected."""
        return contextlib.nullcontext()

    def _connect(self, own: int) -> None:
        """Open the connections: so many by the worker, and those of load agents."""
        options, seconds = self._options(), connect_seconds(own)
        self._worker.ask("connect", seconds=seconds, options=options, connections=own)
        self._worker.ask("observe", observed=self._observed())
        self._worker.ask("prepare", seconds=seconds, **self._mix.work)
        if self._agents is not None:
            self._agents.connect(options, self._threads, self._mix.work)

    def checksums(self, tables: Tables) -> Checksums:
        return checksums(self._worker, tables)

    def plans(self, scripts: Mapping[str, str]) -> Mapping[str, Any]:
        """How the server runs each statement of these transactions."""
        dialect = self.engine.profile.dialect
        with self._connected():
            return plans_of(dialect, self._rows, sampled(dialect, scripts))

    def _rows(self, sql: str) -> list[list[str | None]]:
        found: list[list[str | None]] = self._worker.ask("rows", sql=sql)["rows"]
        return found

    def trial(self, job: TrialJob, ready: Callable[[], None] = nobody_waits) -> Measurement:
        with self._connected():
            if job.step == TRACE:
                return self._traced(job, ready)
            if job.step == ROUTINE_TRACE:
                return self._routine_traced(ready)
            self._cool(job)
            if self._is_stopped:
                return Measurement(0, 0, {}, {}, stopped_by="signal")
            if job.step in STEPS:
                return self._step(job.step, ready)
            if job.step:
                return self._acted(job.step, ready)
            if job.during and self._can_act_beside:
                return self._beside(job, ready)
            return self._loaded(job, ready)

    def _cool(self, _job: TrialJob) -> None:
        """Empty the server's caches where the condition is cold."""

    def _loaded(self, job: TrialJob, ready: Callable[[], None]) -> Measurement:
        """A trial of transactions with nothing beside it."""
        ready()
        if self._agents is not None:
            return self._agents.measured(self._worker, job)
        seconds = job.deadline_seconds + GRACE_SECONDS
        return self._measured(self._worker.ask("trial", seconds=seconds, trial=job.as_json()))

    def _measured(self, answer: Mapping[str, Any]) -> Measurement:
        raise_failed(answer, self._worker.failed)
        return measurement(answer)

    def _acted(self, level: str, ready: Callable[[], None]) -> Measurement:
        raise NotImplementedError

    _can_act_beside = True

    def _act(self, level: str) -> acting.Act:
        """The action of a level of ``during`` or ``work``."""
        raise NotImplementedError

    def _waits(self, _level: str) -> Mapping[str, Any]:
        """The job of a trial beside such an action if it has no other."""
        return {}

    @contextlib.contextmanager
    def _executed(self) -> Iterator[Callable[[], int] | None]:
        """How many statements of loads the server has executed so far, where it counts them."""
        yield None

    def _beside(self, job: TrialJob, ready: Callable[[], None]) -> Measurement:
        """A trial beside whose load something goes on, or nothing does: all that the server used until both ended.

        An action begins after the head of the trial that is not recorded. Bytes are of all executed operations, and of
        what came after the load where the action took longer; of the CPU time the recorded ones have their share.
        """
        act = acting.IDLE if job.during == NOTHING else self._act(job.during)
        with self._executed() as executed, acting.prepared(act, self._halt):
            beside = acting.Beside(act, executed, job.head_seconds)
            self._worker.ask("begin_external_load")
            with beside.going_on(self._halt):
                ready()
                seconds, trial = job.deadline_seconds + GRACE_SECONDS, {**job.as_json(), **self._waits(job.during)}
                answer = self._worker.ask("trial", seconds=seconds, trial=trial, checkpoint=False)
            used = self._worker.ask("end_external_load", seconds=STEP_SECONDS)
            measured = acting.of_recorded(beside.added(with_server(self._measured(answer), used)))
            return measured if self._halt.is_asked else acting.inspected(act, measured)

    def _traced(self, job: TrialJob, ready: Callable[[], None]) -> Measurement:
        """Every statement metered by itself; two queries of the counters surround each.

        The CPU time is the server's own account of the session, or that of the thread that serves it where the
        server's processes are seen on this machine; elsewhere there is none.
        """
        tracing = self.engine.tracing
        if tracing is None:
            raise Defect("a trace was asked of a server whose statements cannot be metered")
        ready()
        given = {"thread": tracing.thread if self._is_seen else "", "session": tracing.session}
        given |= {"statements": tracing.statements}
        request = {"counters": list(tracing.counters), **{name: query for name, query in given.items() if query}}
        seconds = job.deadline_seconds + GRACE_SECONDS
        return traced(self._worker.ask("trace", seconds=seconds, trial=job.as_json(), tracing=request))

    def _routine_traced(self, ready: Callable[[], None]) -> Measurement:
        """One call of the routine, whose statements the server meters; nothing where it does not, or is not allowed to.

        What the trace itself takes is in no other figure.
        """
        nothing, tracing = Measurement(0, 0, {}, {}), self.engine.routine_tracing
        ready()
        if tracing is None or self._mix.steps is None:
            return nothing
        request = self._mix.steps.step_request(ROUTINE, self._threads)
        self._empty(ROUTINE, request["before"])
        try:
            self._worker.ask("run", statements=[tracing.begin])
        except StatementFault:  # a right is missing: figures of statements are then those of the client's
            return nothing
        try:
            self._worker.ask("step", seconds=STEP_SECONDS, **{**request, "before": []})
        finally:
            self._worker.ask("run", statements=[tracing.end])
        try:
            lines = [row[0] or "" for row in self._rows(tracing.lines)]
        except StatementFault:
            return nothing
        return dataclasses.replace(nothing, traced=tracing.costs(lines))

    _is_seen = True
    """Whether the server's processes are on this machine."""

    def _step(self, step: str, ready: Callable[[], None]) -> Measurement:
        """One step. What the server writes to come to rest is in its CPU and bytes, not in the time."""
        if self._mix.steps is None:
            raise Defect(f"a {step} was asked of a run that has none")
        request = self._mix.steps.step_request(step, self._threads)
        self._empty(step, request["before"])
        ready()
        self._worker.ask("begin_external_load")
        answer = self._worker.ask("step", seconds=STEP_SECONDS, **{**request, "before": [], **self._load_by(step)})
        used = self._worker.ask("end_external_load", seconds=STEP_SECONDS)
        self._filled(step)
        measured = with_server(client_step(step, answer), used)
        counted = {acting.SECONDS: measured.elapsed_ns} if step == ROUTINE else {"rows": self._mix.steps.rows}
        counters = {**measured.engine_counters, **counted}
        return dataclasses.replace(measured, engine_counters=counters, files_bytes=self._files_bytes())

    def _empty(self, step: str, before: list[str]) -> None:
        """Run what comes before a step, unmeasured; where a load is to follow, ``before`` removes the tables."""
        raise NotImplementedError

    def _load_by(self, _step: str) -> Mapping[str, str]:
        return {}

    def _filled(self, step: str) -> None:
        """Do what goes after a load, unmeasured."""

    def _files_bytes(self) -> Mapping[str, int]:
        return {}

    def stop(self) -> None:
        """Have a trial that is running end after the operation it is at; a command ends at once. Others are not begun.

        The twins of a block run one after another, so most of them have not begun theirs.
        """
        self._is_stopped = True
        self._halt.ask()
        if self._agents is not None:
            self._agents.stop()
        self._worker.send("stop")

    def end(self) -> None:
        if self._agents is not None:
            self._agents.end()
        self._worker.end()

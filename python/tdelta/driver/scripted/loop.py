"""The load loop: so many connections, a thread each, under a fixed, seeded set of operations.

As crates/tdelta-core/src/load.rs: a transaction's time runs from the start of its first statement (or, in an open loop,
from when it was due) to the end of its last; a statement's, from its start to its last row. Operations at the head of a
trial are run and not recorded. Trials are whole here: twins in Python do not take turns within them.
"""

from __future__ import annotations

import itertools
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tdelta import _native
from tdelta.driver.scripted.clients import Client, ClientError
from tdelta.driver.scripted.draws import Rng
from tdelta.driver.scripted.evaluating import ScriptFault, Variables, as_integer, is_true
from tdelta.driver.scripted.pacing import Arrivals, wait_until
from tdelta.driver.scripted.planting import Plant
from tdelta.driver.scripted.programs import Jump, LoopStart, LoopTest, Mix, Program, Run, Set, Unless
from tdelta.driver.scripted.recording import Recorder
from tdelta.driver.scripted.usage import cpu_seconds, delay_since, run_delays
from tdelta.measure.pressure import PressureMeter

_COUNT, _DEADLINE, _SIGNAL, _ERROR = "count", "deadline", "signal", "error"


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial's orders, as `tdelta.driver.jobs.TrialJob.as_json` gives them."""

    seed: int
    stream: int
    operations: int
    first_op: int
    deadline_ns: int
    pace: Mapping[str, Any] = field(default_factory=lambda: {"kind": "closed"})
    slices: int = 1
    discard: int = 0
    planted: float = 0.0
    max_tries: int = 10
    stop_on_error: bool = True


@dataclass(slots=True)
class Outcome:
    """What one stretch of operations did. Times and totals are of a recorded stretch; ``executed`` of either kind."""

    operations: int = 0
    executed_operations: int = 0
    elapsed_ns: int = 0
    cpu_user_seconds: float = 0.0
    cpu_system_seconds: float = 0.0
    rows: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    retries: Counter[str] = field(default_factory=Counter)
    first_error: str | None = None
    late_starts: int = 0
    backlog_max: int = 0
    planted_cpu_ns: int = 0
    planted_elapsed_ns: int = 0
    run_delay_ns: int | None = None
    pressure: Mapping[str, float] = field(default_factory=dict)
    standstill: Mapping[str, Any] = field(default_factory=dict)
    stopped_by: str = _COUNT

    def as_json(self) -> dict[str, Any]:
        """As a worker's report has it."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return {**values, "errors": dict(self.errors), "retries": dict(self.retries)}


@dataclass(frozen=True, slots=True)
class Report:
    """A trial: its outcome, exact totals (count, ns) by span, and a histogram payload for each span that was met."""

    outcome: Outcome
    spans: Mapping[str, tuple[int, int]]
    histograms: Mapping[str, bytes]


def run_trial(
    mix: Mix,
    trial: Trial,
    clients: Sequence[Client],
    stop: threading.Event,
    between: Callable[[], object] | None = None,
) -> Report:
    """Run one trial, first the operations that are not recorded.

    Args:
        mix: the transactions.
        trial: the orders.
        clients: connections, a thread each; one needs no second thread.
        stop: ends it after the operations it is at.
        between: called before each operation, where there is one connection; its time and CPU time are left out.
    """
    watch = _native.Watch([])
    try:
        outcome, recorders = _run(mix, trial, clients, stop, between)
    finally:
        standstill = json.loads(watch.end())
    outcome.standstill = standstill
    return _report(mix, outcome, recorders)


def _run(
    mix: Mix,
    trial: Trial,
    clients: Sequence[Client],
    stop: threading.Event,
    between: Callable[[], object] | None,
) -> tuple[Outcome, list[Recorder]]:
    head = min(trial.discard, trial.operations)
    began_ns = time.monotonic_ns()
    total = Outcome()
    if head:
        ran, _ = _stretch(mix, trial, clients, stop, range(head), trial.deadline_ns, between, records=False)
        total.executed_operations, total.errors, total.retries = ran.operations, ran.errors, ran.retries
        total.first_error, total.stopped_by = ran.first_error, ran.stopped_by
    recorders: list[Recorder] = []
    if total.stopped_by == _COUNT and trial.operations > head:
        left_ns = trial.deadline_ns - (time.monotonic_ns() - began_ns)
        rest, meter, waited = range(head, trial.operations), PressureMeter(), run_delays()
        meter.start()
        before = cpu_seconds()
        ran, recorders = _stretch(mix, trial, clients, stop, rest, left_ns, between, records=True)
        after = cpu_seconds()
        ran.pressure = meter.stop()
        delay_ns = delay_since(waited)
        ran.run_delay_ns = None if delay_ns is None or ran.run_delay_ns is None else delay_ns + ran.run_delay_ns
        ran.executed_operations = total.executed_operations + ran.operations
        ran.cpu_user_seconds += after[0] - before[0]
        ran.cpu_system_seconds += after[1] - before[1]
        ran.errors, ran.retries = ran.errors + total.errors, ran.retries + total.retries
        ran.first_error = total.first_error or ran.first_error
        total = ran
    return total, recorders


def _report(mix: Mix, outcome: Outcome, recorders: Sequence[Recorder]) -> Report:
    spans: dict[str, tuple[int, int]] = {}
    histograms: dict[str, bytes] = {}
    for span, name in enumerate(mix.span_names):
        count, total_ns = (sum(recorder.totals[span][part] for recorder in recorders) for part in (0, 1))
        spans[name] = count, total_ns
        if count:
            histograms[name] = _native.histogram_merge([p for one in recorders for p in one.payloads(span)])
    return Report(outcome, spans, histograms)


def _stretch(
    mix: Mix,
    trial: Trial,
    clients: Sequence[Client],
    stop: threading.Event,
    operations: range,
    deadline_ns: int,
    between: Callable[[], object] | None,
    *,
    records: bool,
) -> tuple[Outcome, list[Recorder]]:
    """Run a stretch of a trial's operations on all connections."""
    shared = _Shared(mix, trial, len(clients), stop, operations, deadline_ns, between, records)
    workers = [_Worker(shared, number, client) for number, client in enumerate(clients)]
    if len(workers) == 1:
        workers[0].work()
    else:
        threads = [threading.Thread(target=worker.work) for worker in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    outcome = shared.outcome(workers, time.monotonic_ns() - shared.started_ns)
    for worker in workers:
        if worker.defect is not None:
            raise worker.defect
    return outcome, [worker.recorder for worker in workers]


class _Shared:
    """What the connections of a stretch have in common."""

    def __init__(
        self,
        mix: Mix,
        trial: Trial,
        connections: int,
        stop: threading.Event,
        operations: range,
        deadline_ns: int,
        between: Callable[[], object] | None,
        records: bool,
    ) -> None:
        self.mix = mix
        self.trial = trial
        self.connections = connections
        self.records = records
        self.stop = stop
        self.spins = connections < len(os.sched_getaffinity(0)) and connections == 1  # one that spins holds up others
        self.halted = _COUNT
        self._operations = operations
        self._deadline_ns = deadline_ns
        self._between = between
        self._apart_ns = self._apart_delay_ns = 0
        self._apart_cpu_seconds = (0.0, 0.0)
        self._next = itertools.count(operations.start)
        self._lock = threading.Lock()
        self._arrivals: Arrivals | None = None
        if trial.pace["kind"] != "closed":
            self._arrivals = Arrivals(trial.pace["kind"], trial.pace["rate"], trial.seed, trial.stream, len(operations))
        self.started_ns = time.monotonic_ns()

    def take(self, worker: _Worker) -> tuple[int, int | None] | None:
        """The next operation's number and, in an open loop, when it is due (clock time)."""
        if self._arrivals is None:
            index = next(self._next)
            return (index, None) if index < self._operations.stop else None
        with self._lock:
            arrival = self._arrivals.take(time.monotonic_ns() - self.started_ns)
        if arrival is None:
            return None
        worker.late_starts += arrival.backlog > 0
        worker.backlog_max = max(worker.backlog_max, arrival.backlog)
        return self._operations.start + arrival.index, self.started_ns + arrival.due_ns

    def stand_apart(self) -> None:
        """Do what is to be done between operations, and take note of the time it takes."""
        if self._between is None:
            return
        began_ns, before, waited = time.monotonic_ns(), cpu_seconds(), run_delays()
        self._between()
        self._apart_delay_ns += delay_since(waited) or 0
        after, (user, system) = cpu_seconds(), self._apart_cpu_seconds
        self._apart_cpu_seconds = user + after[0] - before[0], system + after[1] - before[1]
        self._apart_ns += time.monotonic_ns() - began_ns

    def halt(self, why: str) -> None:
        """End the stretch; what halted it first is told."""
        with self._lock:
            if self.halted == _COUNT:
                self.halted = why

    def goes_on(self, now_ns: int) -> bool:
        """Whether another operation is to begin."""
        if self.stop.is_set():
            self.halt(_SIGNAL)
        elif now_ns - self.started_ns - self._apart_ns > self._deadline_ns:
            self.halt(_DEADLINE)
        return self.halted == _COUNT

    def outcome(self, workers: Sequence[_Worker], elapsed_ns: int) -> Outcome:
        """What all connections did together."""
        operations = sum(worker.operations for worker in workers)
        return Outcome(
            operations=operations,
            executed_operations=operations,
            elapsed_ns=elapsed_ns - self._apart_ns,
            # What was spun before operations fell due is in the process's CPU time, and is taken off it.
            cpu_user_seconds=-1e-9 * sum(worker.spun_ns for worker in workers) - self._apart_cpu_seconds[0],
            cpu_system_seconds=-self._apart_cpu_seconds[1],
            rows=sum(worker.rows for worker in workers),
            errors=sum((worker.errors for worker in workers), Counter()),
            retries=sum((worker.retries for worker in workers), Counter()),
            first_error=next((worker.first_error for worker in workers if worker.first_error), None),
            late_starts=sum(worker.late_starts for worker in workers),
            backlog_max=max((worker.backlog_max for worker in workers), default=0),
            planted_cpu_ns=sum(worker.plant.cpu_ns for worker in workers),
            planted_elapsed_ns=sum(worker.plant.elapsed_ns for worker in workers),
            run_delay_ns=self._ended_delay_ns(workers),
            stopped_by=self.halted,
        )

    def _ended_delay_ns(self, workers: Sequence[_Worker]) -> int | None:
        """What threads waited that ended with the stretch, less what was waited apart: not seen, or seen, from outside.

        None where the kernel does not tell.
        """
        ended = [worker.waited_ns for worker in workers if len(workers) > 1]
        known = [waited for waited in ended if waited is not None]
        return sum(known) - self._apart_delay_ns if len(known) == len(ended) else None


class _Worker:
    """One connection's part of a stretch. ``defect`` is what ended its thread, if that was no answer of an engine."""

    def __init__(self, shared: _Shared, number: int, client: Client) -> None:
        self._shared = shared
        self._client = client
        self.plant = Plant(shared.trial.planted, is_alone=shared.connections == 1)
        self.recorder = Recorder(len(shared.mix.span_names))
        self.errors: Counter[str] = Counter()
        self.retries: Counter[str] = Counter()
        self.first_error: str | None = None
        self.defect: Exception | None = None
        self.waited_ns: int | None = None
        self.operations = self.rows = self.late_starts = self.backlog_max = self.spun_ns = 0
        self._variables = [
            {**dict.fromkeys(program.names), **shared.mix.constants, "client": number}
            for program in shared.mix.programs
        ]
        self._first_ns: int | None = None
        self._last_ns = 0
        self._is_stale = True

    def work(self) -> None:
        """Operations one after another until there is none left, or the stretch is halted."""
        before_ns = _native.thread_run_delay_ns()
        try:
            self._work()
        except Exception as error:  # it belongs to the thread that waits for this one
            self.defect = error
            self._shared.halt(_ERROR)
        after_ns = _native.thread_run_delay_ns()
        self.waited_ns = None if before_ns is None or after_ns is None else after_ns - before_ns

    def _work(self) -> None:
        shared, now_ns = self._shared, self._shared.started_ns
        while shared.goes_on(now_ns) and (taken := shared.take(self)) is not None:
            index, due_ns = taken
            shared.stand_apart()
            if due_ns is not None:
                self.spun_ns += wait_until(due_ns, spins=shared.spins)
            now_ns = self._operation(index, due_ns)
            self.recorder.settle()

    def _operation(self, index: int, due_ns: int | None) -> int:
        """One transaction with its retries. Returns the time at its end."""
        shared, trial = self._shared, self._shared.trial
        self._first_ns, self._last_ns, self._is_stale = due_ns, 0, True
        for attempt in itertools.count(1):
            rng = Rng(trial.seed, trial.stream, index)
            which = shared.mix.draw(rng)
            self._variables[which]["op"] = trial.first_op + index
            try:
                self._transaction(which, rng)
            except ClientError as error:
                self._client.abandon()
                self._is_stale = True
                if error.retryable and attempt < trial.max_tries and not shared.stop.is_set():
                    self.retries[error.kind] += 1
                    continue
                self._fail(which, error)
                break
            self.operations += 1
            if shared.records:
                first_ns = self._last_ns if self._first_ns is None else self._first_ns
                self.recorder.record(which, max(0, self._last_ns - first_ns))
            return self._last_ns
        return time.monotonic_ns()

    def _fail(self, which: int, error: ClientError) -> None:
        self.errors[error.kind] += 1
        self.first_error = self.first_error or f"{self._shared.mix.programs[which].name}: {error.message}"
        if self._shared.trial.stop_on_error:
            self._shared.halt(_ERROR)

    def _transaction(self, which: int, rng: Rng) -> None:
        program, variables = self._shared.mix.programs[which], self._variables[which]
        steps, at = program.steps, 0
        while at < len(steps):
            step = steps[at]
            at += 1
            if type(step) is Run:
                self._statement(which, program, step.statement, variables)
                continue
            self._is_stale = True
            try:
                at = _step(step, at, variables, rng)
            except ScriptFault as fault:
                raise ClientError("script", str(fault)) from fault

    def _statement(self, which: int, program: Program, number: int, variables: Variables) -> None:
        shared, statement = self._shared, program.statements[number]
        start_ns = time.monotonic_ns() if self._is_stale else self._last_ns
        if self._first_ns is None:
            self._first_ns = start_ns
        rows, self._last_ns = self.plant.around(lambda: self._client.execute(statement, variables))
        self._is_stale = False
        self.rows += rows
        if shared.records:
            self.recorder.record(shared.mix.first_span[which] + number, self._last_ns - start_ns)


def _step(step: object, at: int, variables: Variables, rng: Rng) -> int:
    """Carry out a step that is no statement. Returns where to go on."""
    if type(step) is Set:
        variables[step.name] = step.value(variables, rng)
    elif type(step) is Unless:
        return at if is_true(step.condition(variables, rng)) else step.target
    elif type(step) is Jump:
        return step.target
    elif type(step) is LoopStart:
        variables[step.counter] = as_integer(step.count(variables, rng))
    elif type(step) is LoopTest:
        left = as_integer(variables[step.counter])
        if left <= 0:
            return step.target
        variables[step.counter] = left - 1
    return at

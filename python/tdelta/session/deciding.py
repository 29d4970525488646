"""One decision about encryption: the runs that answer its questions, and the time that each of them gets.

Each question is answered by an ordinary run with a fact of the decision that it belongs to; a decision keeps nothing
else. The same options continue it: finished runs stay, an interrupted one is resumed, the others are made. Every
question gets its least time first, in their order, then a whole run; the rest goes to workloads, and what runs leave
of it to workloads that are undecided.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from tdelta import own_folders
from tdelta.engines.server.external_twins import reads_own_tables
from tdelta.engines.server.passwords import shared_passwords
from tdelta.errors import Interrupted, TdeltaError, TimeFault, UsageError
from tdelta.messages import Refusal
from tdelta.processes import TwinFolder, default_base, sweep
from tdelta.processes.templates import Templates
from tdelta.records import Decision, Event, RunPlanned, RunResult, TrialDone
from tdelta.session.clock import Clock, Interruption, interruptible
from tdelta.session.context import Observer
from tdelta.session.pace import Pace, about
from tdelta.session.preflight import RunInputs, prepared_inputs, with_bb_twin
from tdelta.session.request import RunRequest
from tdelta.session.run import conduct, resume
from tdelta.session.run_plan import check, plan
from tdelta.session.studies import study
from tdelta.store import RunStatus, Store, default_path

PART_OF = "decide"
"""The fact of a run that says which decision it belongs to, and which question it answers."""

SPENT = "decide-seconds"
"""The fact of such a run that says how long all its sittings took, as far as they came."""

_OWN_ROWS = ("database", "restore", "workload")
_OF_STUDIES = ("size_bytes", "cache", "threads", "session_memory")
_FREE = ("labels", "max_seconds")
"""Options that may change from sitting to sitting."""

_SPARE = 1.15
_LONGER = 2.0
"""A second run of a workload is at least so many times as long as the first."""

_SHORT: Mapping[str, Any] = MappingProxyType({"blocks_per_round": 4, "min_rounds": 2})


@dataclass(frozen=True, slots=True)
class Question:
    """A question that people ask before they turn encryption on.

    Attributes:
        ways: options of a run that answers it; the first that the engine takes is used.
        least_rounds: of a workload's shortest run; 0 for an operation, of which the fewest blocks of an answer do.
        rounds: of a workload's whole run, and its weight where time is left; 0 for an operation, which has its own.
    """

    name: str
    title: str
    ways: tuple[Mapping[str, Any], ...]
    least_rounds: int = 0
    rounds: int = 0

    @property
    def is_workload(self) -> bool:
        return self.rounds > 0


def _varying(*levels: Mapping[str, tuple[Any, ...]], **options: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple({**_SHORT, **options, "vary": one} for one in levels)


_LAYERS = tuple({"storage": ("plain", name)} for name in ("luks", "fscrypt", "gocryptfs"))
QUESTIONS = (
    Question("workload", "Daily work", (MappingProxyType({}),), 2, 5),
    Question("encrypt", "Conversion of existing data", _varying({"during": ("encrypt",)}, {"work": ("encrypt",)})),
    Question("backup", "Backup", _varying({"work": ("backup:compress=zstd",)}, {"work": ("backup",)})),
    Question("restart", "Restarts", _varying({"work": ("restart", "recovery:mb=8")}, {"work": ("restart",)})),
    Question("rate", "Peak load", _varying({"rate": ("60%", "90%")}, threads=4), 1, 4),
    Question("spill", "Temporary files", ({"study": "spill", **_SHORT},)),
    Question("cache", "Less or more cache", _varying({"cache": (0.1, 1.2)}), 1, 2),
    Question("storage", "TDE or the disk", _varying(*_LAYERS), 1, 2),
    Question("replication", "Replication", ({"study": "replicate"},)),
)
"""All questions, the most important first."""


@dataclass(frozen=True, slots=True)
class Step:
    """A question and its run; ``has_own_rows`` unless rows are generated in place of the user's.

    ``spent_seconds`` are those of earlier sittings on a run that is to be continued, as an `Outline` has them.
    """

    question: Question
    request: RunRequest
    has_own_rows: bool
    least_seconds: float = 0.0
    whole_seconds: float = 0.0
    seconds: float = 0.0
    spent_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Open:
    """A question without an answer: why, and a run that would give one; ``is_failed`` if there was one that failed."""

    question: Question
    why: Refusal
    request: RunRequest
    is_failed: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    question: Question
    result: RunResult
    has_own_rows: bool


@dataclass(frozen=True, slots=True)
class Decided:
    name: str
    answered: tuple[Answered, ...]
    open: tuple[Open, ...]


Watch = Callable[[Step | None], AbstractContextManager[Observer]]
"""Makes the observer of a step's run; of the plan for None."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The plan of a decision: the runs to be made, the questions left open, and those that have an answer already."""

    steps: tuple[Step, ...]
    open: tuple[Open, ...]
    answered: tuple[Question, ...] = ()


def outline(given: Mapping[str, Any], observe: Observer, *, rerun: bool = False) -> Outline:
    """The steps that `decide` has left. A dump is restored, or a file copied, once, to time runs; nothing is made."""
    steps, impossible = _steps(given)
    request = RunRequest(**given)
    path = request.store or default_path()
    with TemporaryDirectory() as empty, Store.open(path if path.exists() else Path(empty) / "none") as store:
        sitting = _Sitting(store, request, lambda _step: nullcontext(observe), time.monotonic, rerun=rerun)
        sitting.name = f"decide-dry-run-{os.getpid()}"  # another process may be at the decision itself
        timed = sitting.timed(steps)
        waiting = [step for step in timed if sitting.result(step) is None]
        begun = [replace(step, spent_seconds=sitting.spent_on(step)) for step in waiting]
    fitting = allot(begun, request.max_seconds - sitting.spent_seconds)
    planned = {step.question.name for step in fitting}
    late = [
        _late(step, request.max_seconds, sitting.spent_seconds) for step in waiting if step.question.name not in planned
    ]
    answered = tuple(step.question for step in timed if step not in waiting)
    return Outline(fitting, (*impossible, *late), answered)


def allot(steps: Sequence[Step], seconds: float) -> tuple[Step, ...]:
    """The steps that fit into so much time, each with its part of it."""
    left, fitting = seconds, list[Step]()
    for step in steps:
        if step.least_seconds <= left:
            fitting.append(step)
            left -= step.least_seconds
    weights, found = max(1, sum(step.question.rounds for step in fitting)), list[Step]()
    for step in fitting:
        more = min(left, step.whole_seconds - step.least_seconds)
        found.append(replace(step, seconds=step.least_seconds + more))
        left -= more
    return tuple(replace(step, seconds=step.seconds + left * step.question.rounds / weights) for step in found)


def decide(
    given: Mapping[str, Any], watch: Watch, *, rerun: bool = False, now: Callable[[], float] = time.monotonic
) -> Decided:
    """Make the runs of a decision that have no answer yet, one after the other.

    Args:
        given: the options of daily work, its time that of the whole decision.
        rerun: begin anew, whatever the store has.
        now: the clock, seconds.

    Raises:
        TimeFault: not even daily work fits into the time.
        UsageError: the same decision is at work in another process.
        KeyboardInterrupt: what is measured is kept; the same options continue.
        TdeltaError: daily work cannot be measured.
    """
    began, (steps, impossible) = now(), _steps(given)
    request = RunRequest(**given)
    base = request.directory or default_base()
    sweep(base)
    own_folders.ensure(base)
    with Store.open(request.store) as store, shared_passwords(), ExitStack() as stack:
        sitting = _Sitting(store, request, watch, now, rerun=rerun)
        # Refuses a decision that another process is at; restored rows are kept in it from run to run, and no longer.
        folder = stack.enter_context(TwinFolder(base, sitting.name))
        sitting.restored = Templates(folder.path / "restored", of_users=True)
        timed, left = sitting.timed(steps), request.max_seconds - sitting.spent_seconds
        late = sitting.answer(timed, lambda: left - (now() - began))
        with suppress(KeyboardInterrupt, Interrupted):  # every question has what answer it gets
            sitting.deepen(timed, lambda: left - (now() - began))
        found = ((step, sitting.result(step)) for step in timed)
        answered = tuple(Answered(step.question, result, step.has_own_rows) for step, result in found if result)
    return Decided(sitting.name, answered, (*impossible, *late))


class _Sitting:
    """The runs of one decision: ``_runs`` has a question's newest that is finished, if any; ``_known`` their time."""

    def __init__(
        self, store: Store, request: RunRequest, watch: Watch, now: Callable[[], float], *, rerun: bool
    ) -> None:
        self._store, self._request, self._watch, self._now = store, request, watch, now
        self.restored: Templates | None = None
        self._options = {name: value for name, value in request.to_json().items() if name not in _FREE}
        self._runs, self._known, self.name = dict[str, str](), dict[str, list[float]](), ""
        found = list[tuple[str, str]]()
        facts, others = store.facts_named(PART_OF), store.kinds()
        for run_id in () if rerun else store.run_ids():  # the newest first
            fact = facts.get(run_id)
            if fact is not None and fact["options"] == self._options and run_id not in others:
                self.name, self._known = self.name or fact["name"], self._known or fact["seconds"]
                if fact["name"] == self.name:
                    found.append((fact["question"], run_id))
        for question, run_id in sorted(found, key=lambda one: store.status(one[1]) is not RunStatus.DONE):
            self._runs.setdefault(question, run_id)
        taken, left = store.facts_named(SPENT), [one for _, one in found if store.status(one) is not RunStatus.FAILED]
        self.spent_seconds = sum(float(taken.get(run_id, 0.0)) for run_id in left)
        self.name = self.name or f"decide-{store.fresh_run_id()}"

    def timed(self, steps: Sequence[Step]) -> list[Step]:
        if any(step.question.name not in self._known for step in steps):
            with self._watch(None) as observe:
                timed = _timed(steps, self._request, self.name, observe, self.restored)
            self._known = {step.question.name: [step.least_seconds, step.whole_seconds] for step in timed}
        return [self._left_of(_taking(step, *self._known[step.question.name])) for step in steps]

    def _left_of(self, step: Step) -> Step:
        """The step with the least time that it has left.

        Operations that fill temporary files take several seconds each on a server, which cannot be foreseen here: they
        get at least the time of their study, less what a run that was begun has spent.
        """
        if step.question.name != "spill" or not step.request.is_served:
            return step
        least = study("spill").settings_for(step.request.engine, "").get("max_seconds", 0.0)
        return _taking(step, max(least - self.spent_on(step), step.least_seconds), step.whole_seconds)

    def result(self, step: Step) -> RunResult | None:
        run_id = self._runs.get(step.question.name)
        is_done = run_id is not None and self._store.status(run_id) is RunStatus.DONE
        return self._store.result(run_id) if run_id is not None and is_done else None

    def spent_on(self, step: Step) -> float:
        """The seconds of a run that was begun and can be continued; 0 if there is none."""
        run_id = self._runs.get(step.question.name)
        if run_id is None or self._store.status(run_id) is RunStatus.FAILED:
            return 0.0
        return float(self._store.facts_named(SPENT).get(run_id, 0.0))

    def answer(self, steps: Sequence[Step], left: Callable[[], float]) -> list[Open]:
        """Make, or complete, the run of each step; returns those that failed or came too late."""
        waiting = [step for step in steps if self.result(step) is None]
        most = {step.question.name: step.seconds for step in allot(waiting, left())}
        found, longer = list[Open](), set[str]()
        for at, step in enumerate(waiting):  # which grows by those that need longer than was planned
            fitting = allot(waiting[at:], left())
            if not (fitting and fitting[0].question is step.question):
                most_seconds = self._request.max_seconds
                found.append(_late(step, most_seconds, most_seconds - left()))
                continue
            begun = self._runs.get(step.question.name)
            if step.question.name in longer or (begun and self._store.status(begun) is RunStatus.FAILED):
                begun = None
            seconds = min(fitting[0].seconds, most.get(step.question.name, step.whole_seconds))
            fault = self._made(replace(step, seconds=seconds), begun)
            can_last = isinstance(fault, TimeFault) and fault.least_seconds <= left()
            if isinstance(fault, TimeFault) and can_last and step.question.name not in longer:
                longer.add(step.question.name)
                most.pop(step.question.name, None)
                again = _taking(step, fault.least_seconds, fault.least_seconds)
                waiting.insert(at + 1 if step.question is QUESTIONS[0] else len(waiting), again)
                continue
            if fault is not None and step.question is QUESTIONS[0]:
                raise fault
            if fault is not None:
                needed = fault.least_seconds if isinstance(fault, TimeFault) else step.whole_seconds
                is_failed = not isinstance(fault, TimeFault)
                found.append(Open(step.question, fault.refusals[0], _lasting(step, needed), is_failed))
        return found

    def deepen(self, steps: Sequence[Step], left: Callable[[], float]) -> None:
        """Longer runs of the workloads that are undecided, in the time that is left."""
        found = [(step, result) for step in steps if (result := self.result(step)) and _is_open(step, result)]
        for at, (step, result) in enumerate(found):
            weights = sum(one.question.rounds for one, _ in found[at:])
            seconds = left() * step.question.rounds / weights
            if seconds > _LONGER * result.counts.elapsed_seconds:
                self._made(replace(step, seconds=seconds))

    def _made(self, step: Step, begun: str | None = None) -> TdeltaError | None:
        """Make the run of a step, or complete one; returns why it failed."""
        try:
            with self._watch(step) as observe:
                result = self._conducted(step, observe, begun)
        except Interrupted:
            raise
        except TdeltaError as fault:
            is_changed = any(why.code == "run-changed" for why in fault.refusals)
            return self._made(step) if is_changed else fault
        if result.interrupted:
            raise KeyboardInterrupt
        self._runs[step.question.name] = result.settings.run_id
        return None

    def _conducted(self, step: Step, observe: Observer, begun: str | None) -> RunResult:
        templates = self.restored if step.request.restore is not None else None
        run_id, began = begun, self._now() - self._store.facts_named(SPENT).get(begun or "", 0.0)

        def noted(event: Event) -> None:
            nonlocal run_id
            observe(event)
            if isinstance(event, RunPlanned):
                run_id = event.settings.run_id
            if run_id is not None and not isinstance(event, TrialDone):
                self._store.put_fact(run_id, SPENT, self._now() - began)

        if begun is not None:
            result = resume(begun, self._store.path, noted, max_seconds=step.seconds, templates=templates)
        else:
            labels = (*self._request.labels, self.name)
            fact = {"name": self.name, "question": step.question.name, "options": self._options, "seconds": self._known}
            request = step.request.replace(max_seconds=float(math.ceil(step.seconds)), labels=labels)
            result = conduct(request, noted, facts={PART_OF: fact}, templates=templates)
        self._store.put_fact(result.settings.run_id, SPENT, self._now() - began)
        return result


def _is_open(step: Step, result: RunResult) -> bool:
    """Whether it is of a workload that more time might decide."""
    return step.question.is_workload and result.decision is Decision.UNDECIDED and not result.barely_encrypted


def _steps(given: Mapping[str, Any]) -> tuple[list[Step], list[Open]]:
    """The questions that this engine, with these options, has a run for; and those that it has none for."""
    steps, impossible = list[Step](), list[Open]()
    engine = RunRequest(**given).engine
    if "baseline" not in given:
        given = {**given, "engine": engine}  # studies have one of their own
    for question in QUESTIONS:
        if any("study" in way and not study(way["study"]).runs_on(engine) for way in question.ways):
            continue
        faults = list[UsageError]()
        for options, has_own_rows in _candidates(question, given):
            try:
                request = RunRequest(**options)
                check(request)
            except UsageError as fault:
                if question is QUESTIONS[0]:
                    raise
                faults.append(fault)
                continue
            steps.append(Step(question, request, has_own_rows))
            break
        else:
            request = RunRequest(engine=engine, **question.ways[0])
            impossible.append(Open(question, faults[0].refusals[0], request))
    return steps, impossible


def _candidates(question: Question, given: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], bool]]:
    """The options of runs that might answer a question: with the user's rows first, then with generated ones."""
    request = RunRequest(**given)
    reads_schema = reads_own_tables(request.baseline, request.schema, request.workload)
    own = (*_OWN_ROWS, "schema") if reads_schema else _OWN_ROWS  # a schema that is read cannot be made
    without = {name: value for name, value in given.items() if name not in own}
    is_own = reads_schema or "database" in given or "restore" in given
    for base in (given,) if question is QUESTIONS[0] or without == given else (given, without):
        for way in question.ways:
            of_study = _OF_STUDIES if "study" in way else ()
            dropped = {*way.get("vary", {}), *of_study, *(() if question.is_workload else ("budget",))}
            yield (
                {**way, **{name: value for name, value in base.items() if name not in dropped}},
                is_own and base is given,
            )


def _timed(
    steps: Sequence[Step], request: RunRequest, name: str, observe: Observer, restored: Templates | None = None
) -> list[Step]:
    """The steps with what their runs take, by a plan of each with the user's rows."""
    clock = Clock(request.max_seconds)
    ready = prepared_inputs(request, name, observe, restored)
    with interruptible(Interruption(), clock, clock.fault), ready as inputs:
        generated = RunInputs(servers=inputs.servers)
        return [_taking(step, *_seconds(step, inputs if step.has_own_rows else generated)) for step in steps]


def _taking(step: Step, least: float, whole: float) -> Step:
    return replace(step, least_seconds=least, whole_seconds=max(least, whole))


def _seconds(step: Step, inputs: RunInputs) -> tuple[float, float]:
    """The least that the run of a step takes, and with all its rounds."""
    pace = Pace(with_bb_twin(plan(step.request, PART_OF, inputs.source, inputs.servers)))
    question, staged = step.question, pace.needs.stage_seconds
    least = pace.whole(question.least_rounds) if question.is_workload else pace.answering()
    whole = pace.whole(question.rounds or step.request.min_rounds)
    return _SPARE * (staged + least), _SPARE * (staged + whole)


def _late(step: Step, most_seconds: float, spent_seconds: float = 0.0) -> Open:
    needed = about(step.least_seconds)
    if step.question is QUESTIONS[0]:
        passed = f", and {about(spent_seconds)} have passed" if spent_seconds else ""
        least = math.ceil(step.least_seconds + spent_seconds)
        raise TimeFault(most_seconds, least, f"the shortest run of daily work takes about {needed}{passed}")
    return Open(step.question, Refusal.of("decide-no-time", needed=needed), _lasting(step, step.whole_seconds))


def _lasting(step: Step, seconds: float) -> RunRequest:
    return step.request.replace(max_seconds=60.0 * math.ceil(seconds / 60))

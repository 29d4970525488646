"""One decision about encryption: its questions, the runs that answer them, and the time that each of them gets.

Questions are data. Each is answered by an ordinary run, which has a fact with the decision it belongs to; these runs
are all that a decision keeps. The same options begun again continue it: finished runs stay, an interrupted one is
resumed, and the others are made. Time is allotted as follows: first the least that every question needs, in their
order, then whole runs, then the rest to workloads. What runs leave of it goes to workloads that are undecided.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

from tdelta.errors import Interrupted, TdeltaError, TimeFault, UsageError
from tdelta.messages import Refusal
from tdelta.records import Decision, RunResult
from tdelta.session.clock import Clock, Interruption, interruptible
from tdelta.session.context import Observer
from tdelta.session.keeping import is_at_work
from tdelta.session.pace import Pace, about
from tdelta.session.planning import check, plan
from tdelta.session.preflight import RunInputs, prepared_inputs, with_bb_twin
from tdelta.session.questions import QUESTIONS, Question
from tdelta.session.request import RunRequest
from tdelta.session.run import conduct, resume
from tdelta.session.studies import study
from tdelta.store import RunStatus, Store

PART_OF = "decide"
"""The fact of a run that says which decision it belongs to, and which question it answers."""

_OWN_ROWS = ("database", "restore", "workload")
_OF_STUDIES = ("size_bytes", "cache", "threads", "session_memory")
"""What a study sets itself."""

_SPARE = 1.15
_LONGER = 2.0
"""A second, longer run must be at least so many times as long as the first."""


@dataclass(frozen=True, slots=True)
class Step:
    """A question and the run that is to answer it.

    ``least_seconds`` is the shortest time that gives an answer, ``whole_seconds`` that of all rounds.
    ``has_own_rows``: its rows are those that the decision is about, and not generated in their place.
    """

    question: Question
    request: RunRequest
    has_own_rows: bool
    least_seconds: float = 0.0
    whole_seconds: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Open:
    """A question without an answer: why, and the run that would give one (None: `Question.command`)."""

    question: Question
    engine: str
    why: Refusal
    request: RunRequest | None = None


@dataclass(frozen=True, slots=True)
class Outline:
    """What a decision is going to do: its runs with their time, and what it leaves open."""

    steps: tuple[Step, ...]
    open: tuple[Open, ...]
    max_seconds: float


@dataclass(frozen=True, slots=True)
class Answered:
    question: Question
    result: RunResult
    has_own_rows: bool


@dataclass(frozen=True, slots=True)
class Decided:
    """The answers of a decision, in the order of `QUESTIONS`, and what is open."""

    name: str
    request: RunRequest
    answered: tuple[Answered, ...]
    open: tuple[Open, ...]


@dataclass(slots=True)
class _Kept:
    """What the store has of a decision: its name, the estimates, and the newest run of each question."""

    name: str
    seconds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    runs: dict[str, str] = field(default_factory=dict)


def outline(given: Mapping[str, Any], observe: Observer) -> Outline:
    """What `decide` would do. A dump is restored, or a file copied, once, to see how long runs take.

    Raises:
        TimeFault: not even daily work fits into the time.
        TdeltaError: as `tdelta.session.dry_run`.
    """
    request = RunRequest(**given)
    steps, impossible = _steps(given)
    seconds = request.decision.max_seconds
    timed = _timed(steps, request, observe, {})
    fitting = allot(timed, seconds)
    if not fitting or fitting[0].question is not QUESTIONS[0]:
        raise TimeFault(seconds, timed[0].least_seconds, QUESTIONS[0].title.lower())
    late = tuple(_late(step) for step in timed if step.question not in [one.question for one in fitting])
    return Outline(fitting, _in_order((*impossible, *late)), seconds)


def allot(steps: Sequence[Step], seconds: float) -> tuple[Step, ...]:
    """The steps that fit into so much time, each with its part of it."""
    left, fitting = seconds, list[Step]()
    for step in steps:
        if step.least_seconds <= left:
            fitting.append(replace(step, seconds=step.least_seconds))
            left -= step.least_seconds
    for at, step in enumerate(fitting):
        more = min(left, max(0.0, step.whole_seconds - step.seconds))
        fitting[at] = replace(step, seconds=step.seconds + more)
        left -= more
    weights = max(1, sum(step.question.rounds for step in fitting))
    return tuple(replace(step, seconds=step.seconds + left * step.question.rounds / weights) for step in fitting)


def decide(
    given: Mapping[str, Any],
    watch: Callable[[Step | None], AbstractContextManager[Observer]],
    *,
    rerun: bool = False,
    now: Callable[[], float] = time.monotonic,
) -> Decided:
    """Make the runs of a decision that have no answer yet, one after the other.

    Args:
        given: the options of daily work, its time that of the whole decision.
        watch: makes the observer of a run; None: of the plan.
        rerun: begin anew, whatever the store has.
        now: the clock, seconds.

    Raises:
        TimeFault: not even daily work fits into the time.
        UsageError: the same decision is at work in another process.
        KeyboardInterrupt: what is finished is kept; the same options continue it.
        TdeltaError: daily work cannot be measured.
    """
    began, request = now(), RunRequest(**given)
    steps, impossible = _steps(given)
    with Store.open(request.where.store) as store:
        kept = _kept(store, request, rerun=rerun)
        with watch(None) as observe:
            steps = _timed(steps, request, observe, kept.seconds)
        kept.seconds = {step.question.name: (step.least_seconds, step.whole_seconds) for step in steps}
        sitting = _Sitting(store, request, kept, watch, lambda: now() - began)
        return sitting.conducted(steps, impossible)


class _Sitting:
    def __init__(
        self,
        store: Store,
        request: RunRequest,
        kept: _Kept,
        watch: Callable[[Step | None], AbstractContextManager[Observer]],
        elapsed: Callable[[], float],
    ) -> None:
        self._store, self._request, self._kept, self._watch = store, request, kept, watch
        spent = sum(self._spent(run_id) for run_id in kept.runs.values())
        self._seconds, self._elapsed = request.decision.max_seconds - spent, elapsed
        self._open: list[Open] = []

    def conducted(self, steps: Sequence[Step], impossible: Sequence[Open]) -> Decided:
        self._open += impossible
        waiting = [step for step in steps if not self._is_done(step)]
        most = {step.question.name: step.seconds for step in allot(waiting, self._left())}
        while waiting:
            step, *waiting = waiting
            run_id = self._kept.runs.get(step.question.name)
            if run_id is not None and self._store.status(run_id) is not RunStatus.FAILED:
                self._made(step, run_id)
            elif (fitting := allot((step, *waiting), self._left())) and fitting[0].question is step.question:
                seconds = min(fitting[0].seconds, most.get(step.question.name, step.whole_seconds))
                self._made(replace(step, seconds=seconds))
            else:
                self._open.append(_late(step))
        self._deepen(steps)
        answered = tuple(
            Answered(step.question, self._store.result(self._kept.runs[step.question.name]), step.has_own_rows)
            for step in steps
            if self._is_done(step)
        )
        return Decided(self._kept.name, self._request, answered, _in_order(self._open))

    def _left(self) -> float:
        return self._seconds - self._elapsed()

    def _is_done(self, step: Step) -> bool:
        run_id = self._kept.runs.get(step.question.name)
        return run_id is not None and self._store.status(run_id) is RunStatus.DONE

    def _spent(self, run_id: str) -> float:
        is_done = self._store.status(run_id) is RunStatus.DONE
        return self._store.result(run_id).counts.elapsed_seconds if is_done else 0.0

    def _made(self, step: Step, run_id: str | None = None) -> None:
        """Make the run of a step, or complete one. Other questions are still asked where one of them fails."""
        if run_id is not None and is_at_work(self._store, self._store.summary(run_id)):
            raise UsageError(Refusal.of("run-at-work", run=run_id))
        try:
            with self._watch(step) as observe:
                if run_id is not None:
                    result = resume(run_id, self._store.path, observe)
                else:
                    labels = (*self._request.where.labels, self._kept.name)
                    request = step.request.replace(max_seconds=step.seconds, labels=labels)
                    result = conduct(request, observe, facts={PART_OF: self._fact(step)})
        except Interrupted:
            raise
        except TdeltaError as fault:
            if step.question is QUESTIONS[0]:
                raise
            self._open.append(Open(step.question, step.request.tested.engine, fault.refusals[0], step.request))
            return
        if result.interrupted:
            raise KeyboardInterrupt
        self._kept.runs[step.question.name] = result.settings.run_id

    def _fact(self, step: Step) -> dict[str, object]:
        seconds = {name: list(both) for name, both in self._kept.seconds.items()}
        options = _identity(self._request)
        return {"name": self._kept.name, "question": step.question.name, "options": options, "seconds": seconds}

    def _deepen(self, steps: Sequence[Step]) -> None:
        """Longer runs of the workloads that are undecided, in the time that is left."""
        undecided = [(step, found) for step in steps if (found := self._undecided(step)) is not None]
        while undecided:
            (step, result), *others = undecided
            weights = sum(one.question.rounds for one, _ in undecided)
            seconds = self._left() * step.question.rounds / weights
            if seconds > _LONGER * result.counts.elapsed_seconds:
                self._made(replace(step, seconds=seconds))
            undecided = others

    def _undecided(self, step: Step) -> RunResult | None:
        """The result of a workload that more time might decide."""
        if not (step.question.is_workload and self._is_done(step)):
            return None
        result = self._store.result(self._kept.runs[step.question.name])
        return result if result.decision is Decision.UNDECIDED and not result.barely_encrypted else None


def _identity(request: RunRequest) -> dict[str, Any]:
    """The options by which a decision is found again, as JSON has them."""
    return {name: value for name, value in request.to_json().items() if name != "labels"}


def _kept(store: Store, request: RunRequest, *, rerun: bool) -> _Kept:
    facts, options, kinds = store.facts_named(PART_OF), _identity(request), store.kinds()
    found: _Kept | None = None
    for run_id in () if rerun else store.run_ids():  # the newest first
        fact = facts.get(run_id)
        if fact is None or run_id in kinds or fact["options"] != options:
            continue
        found = found or _Kept(fact["name"], fact["seconds"])
        if fact["name"] == found.name:
            found.runs.setdefault(fact["question"], run_id)
    return found or _Kept(f"decide-{store.fresh_run_id()}")


def _steps(given: Mapping[str, Any]) -> tuple[list[Step], list[Open]]:
    """Every question that this engine, with these options, has a run for; and those that it has none for."""
    steps, impossible = list[Step](), list[Open]()
    engine = RunRequest(**given).tested.engine
    if "baseline" not in given:
        given = {**given, "engine": engine}  # studies have one of their own
    for question in QUESTIONS:
        if any("study" in way and not study(way["study"]).runs_on(engine) for way in question.ways):
            continue
        found = _step(question, engine, given)
        if isinstance(found, Step):
            steps.append(found)
        else:
            impossible.append(found)
    return steps, impossible


def _step(question: Question, engine: str, given: Mapping[str, Any]) -> Step | Open:
    fault: UsageError | None = None
    for options, has_own_rows in _candidates(question, given):
        try:
            request = RunRequest(**options)
            check(request)
        except UsageError as refused:
            if question is QUESTIONS[0]:
                raise
            fault = fault or refused
            continue
        return Step(question, request, has_own_rows)
    assert fault is not None  # noqa: S101 - a question has a way
    return Open(question, engine, fault.refusals[0])


def _candidates(question: Question, given: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], bool]]:
    """The options of runs that might answer a question: of the user's rows first, then of generated ones."""
    without = {name: value for name, value in given.items() if name not in _OWN_ROWS}
    for base in (given, without):
        for way in question.ways:
            of_study = _OF_STUDIES if "study" in way else ()
            dropped = {*way.get("vary", {}), *of_study, *(() if question.is_workload else ("budget",))}
            kept = {name: value for name, value in base.items() if name not in dropped}
            yield {**way, **kept}, base == given
        if base == without:
            return


def _timed(
    steps: Sequence[Step], request: RunRequest, observe: Observer, known: Mapping[str, Sequence[float]]
) -> list[Step]:
    """The steps with what their runs take: as it was found before, or by a plan of each with the user's rows."""
    if all(step.question.name in known for step in steps):
        return [_of_seconds(step, *known[step.question.name]) for step in steps]
    clock = Clock(request.decision.max_seconds)
    with interruptible(Interruption(), clock, clock.fault), prepared_inputs(request, "decide", observe) as inputs:
        return [_of_seconds(step, *_seconds(step, inputs)) for step in steps]


def _of_seconds(step: Step, least: float, whole: float) -> Step:
    return replace(step, least_seconds=least, whole_seconds=whole)


def _seconds(step: Step, inputs: RunInputs) -> tuple[float, float]:
    """The least that the run of a step takes, and with all its rounds."""
    own = inputs if step.has_own_rows else RunInputs()
    made = with_bb_twin(plan(step.request, "decide", own.source, own.servers))
    pace, question = Pace(made), step.question
    staged = pace.needs.stage_seconds
    least = pace.whole(question.least_rounds) if question.is_workload else pace.shortest()
    whole = max(least, pace.whole(question.rounds or step.request.decision.min_rounds))
    return _SPARE * (staged + least), _SPARE * (staged + whole)


def _late(step: Step) -> Open:
    minutes = math.ceil(step.whole_seconds / 60)
    request = step.request.replace(max_seconds=60.0 * minutes)
    why = Refusal.of("decide-no-time", needed=about(step.least_seconds))
    return Open(step.question, request.tested.engine, why, request)


def _in_order(found: Sequence[Open]) -> tuple[Open, ...]:
    return tuple(sorted(found, key=lambda one: QUESTIONS.index(one.question)))

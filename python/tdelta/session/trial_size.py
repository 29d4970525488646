"""How many operations fill a trial, and what the load loop itself costs.

A trial is a number of operations, not a time: a faster twin given fixed time would do more, grow more, and handicap
itself. The number is found on the baseline of each stratum, on an instance of its own that is then thrown away.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from tdelta.design.factors import share_of_capacity
from tdelta.processes import TrialJob, Twin, Twins
from tdelta.records import Condition, Level, Measurement, Role
from tdelta.session.housing import Housing
from tdelta.session.request import RunRequest
from tdelta.session.run_plan import Plan
from tdelta.session.state import TrialSize

_FIRST_OPERATIONS = 1
"""On each thread: one operation may be a scan that takes longer than a trial should."""

_FEWEST_OPERATIONS = 10
_FEWEST_SLOW_OPERATIONS = 5
"""Where ten would make a trial longer than `LONGEST_TRIALS` allows."""

LONGEST_TRIALS = 8.0
"""How many times the wanted length a trial of slow operations may take: of the baseline's, where ten of its operations
do not fit, or of an encrypted twin that opens connections, where deriving a key may cost a thousand times the rest."""

_PROBED_OPERATIONS = 3
_MOST_GROWTH = 20.0
_TRIES = 15
_SETTLED = 3
_STREAM = 1 << 40
"""Streams of operations from here on size trials; blocks count from 0."""

_HEAD = 10
_MOST_DISCARDED = 0.9
"""The largest share of a trial that ``--warmup`` may leave out."""

_OPERATIONS_APART = 1 << 26
"""How far the numbers of operations lie apart meanwhile, for conditions that share an instance."""

_MOST_TRIALS = 1000
"""More trials than a condition has in a round beside those of its blocks: warm-ups, profiles, traces, searches."""


def operations_apart(plan: Plan, size: TrialSize) -> int:
    """How far the numbers of operations lie apart for conditions that share an instance.

    They make keys above those of the data (``:max_orders + :op``), which often are of 32 bits.
    """
    return max(size.operations.values()) * (_MOST_TRIALS + 4 * plan.request.blocks_per_round)


_LOOP_OPERATIONS = 50_000
_CAPACITY_SECONDS = 1.0
"""How long a closed-loop trial is that finds what the baseline can do: long enough to meet checkpoints."""

_DEADLINE_TRIALS = 40.0
_DEADLINE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class _Filled:
    operations: int
    seconds: float
    rate: float | None = None
    capacity: float | None = None


def find_trial_size(plan: Plan, twins: Twins[Any], data_bytes: int, housing: Housing | None = None) -> TrialSize:
    """Find the trial's size."""
    baselines = [condition for condition in plan.conditions if condition.role is Role.BASELINE]
    with _Seats(plan, twins, data_bytes, housing or Housing()) as seats:
        capacity = _Capacity(plan, seats)
        filling = [condition for condition in baselines if not plan.step(condition)] or baselines
        found = {condition.stratum: _fill(plan, seats, condition, capacity) for condition in filling}
        if plan.workload.connects:
            found = {stratum: _bounded(plan, seats, stratum, filled) for stratum, filled in found.items()}
    rates = {stratum: filled.rate for stratum, filled in found.items() if filled.rate is not None}
    loop = _job(plan, _STREAM, _LOOP_OPERATIONS, first_op=1, seconds=_DEADLINE_SECONDS)
    cost = twins.loop_cost(loop)
    paced = cost if not rates else twins.loop_cost(_paced(loop, max(rates.values())))
    operations = {condition.stratum: 1 for condition in baselines}  # of loads and rebuilds, whatever they take
    operations |= {stratum: filled.operations for stratum, filled in found.items()}
    return TrialSize(
        operations=operations,
        trial_seconds=max(filled.seconds for filled in found.values()),
        loop_cost_ns=cost.statement_ns,
        loop_response_ns=paced.transaction_ns,
        rates=rates,
        capacities={stratum: filled.capacity for stratum, filled in found.items() if filled.capacity is not None},
    )


class _Seats:
    """Instances to size trials on, thrown away at the end: one for each condition, or for those that share one."""

    def __init__(self, plan: Plan, twins: Twins[Any], data_bytes: int, housing: Housing) -> None:
        self._plan = plan
        self._twins = twins
        self._data_bytes = data_bytes
        self._housing = housing
        self._first = {c: first for first, conditions in plan.instances().items() for c in conditions}
        self._seated: dict[Condition, Twin] = {}
        self._stack = ExitStack()
        self._next_op = count(0)

    def __enter__(self) -> _Seats:
        return self

    def __exit__(self, *_error: object) -> None:
        self._stack.close()

    @contextmanager
    def twin(self, condition: Condition) -> Iterator[tuple[Twin, int]]:
        """A twin of that condition, and the number of its first operation."""
        first = self._first[condition]
        if not self._plan.engine.profile.client_factors:  # alone on its instance, which may go at once
            with ExitStack() as stack:
                yield self._started(stack, condition), 1
            return
        if first not in self._seated:
            self._seated[first] = self._started(self._stack, first)
        joined = self._twins.join(self._seated[first], self._settings(condition))
        try:
            yield joined, 1 + _OPERATIONS_APART * next(self._next_op)
        finally:
            joined.end()

    def _started(self, stack: ExitStack, condition: Condition) -> Twin:
        settings, name = self._settings(condition), self._name(condition)
        twin: Twin = self._housing.started(stack, self._twins, condition, settings, name)
        return twin

    def _settings(self, condition: Condition) -> Any:
        return self._plan.twin_settings(condition, self._data_bytes)

    def _name(self, condition: Condition) -> str:
        treatment = f"-{condition.level('cipher')}" if condition.role is Role.TREATMENT else ""
        return f"sizing-{condition.stratum}{treatment}"


class _Capacity:
    """Throughput of a baseline in a closed loop, operations/s; found once for strata that differ in ``rate`` only."""

    def __init__(self, plan: Plan, seats: _Seats) -> None:
        self._plan = plan
        self._seats = seats
        self._known: dict[tuple[tuple[str, Level], ...], float] = {}

    def of(self, baseline: Condition) -> float:
        levels = tuple((name, level) for name, level in baseline.levels if name != "rate")
        if levels not in self._known:
            found = _closed(self._plan, self._seats, baseline, _CAPACITY_SECONDS)
            self._known[levels] = found.operations / found.seconds
        return self._known[levels]


def _paced(loop: TrialJob, rate: float) -> TrialJob:
    """The same at the run's own pace, for about a second: waking up late is the loop's own, too."""
    operations = max(_FEWEST_OPERATIONS, round(rate))
    return dataclasses.replace(loop, operations=operations, rate=rate)


def discarded(request: RunRequest, operations: int) -> int:
    """Operations at the head of a trial that are not recorded: a tenth, or as long as was asked for.

    Caches are cold after another twin's trial. None of a cold trial, which is about its head.
    """
    if request.cold:
        return 0
    if request.warmup_seconds is None:
        return -(-operations // _HEAD)
    share = min(_MOST_DISCARDED, request.warmup_seconds / request.trial_seconds)
    return round(operations * share)


def trial_deadline_seconds(trial_seconds: float) -> float:
    """How long a trial may take before it is cut off: many times what it should, and never under half a minute."""
    return max(_DEADLINE_SECONDS, _DEADLINE_TRIALS * trial_seconds)


def _fill(plan: Plan, seats: _Seats, baseline: Condition, capacity: _Capacity) -> _Filled:
    """Operations that fill the wanted time on this baseline, and the time they took at last."""
    wanted = plan.request.trial_seconds
    rate = plan.rate(baseline)
    if rate is not None and (share := share_of_capacity(rate)) is not None:
        at_most = capacity.of(baseline)
        return _due(share * at_most, wanted, at_most)
    if rate is not None:
        return _due(float(rate), wanted)
    if plan.command is not None and not plan.command.calibrates:
        return _Filled(1, wanted)  # the command knows by itself how much it does
    return _closed(plan, seats, baseline, wanted)


def _due(rate: float, wanted: float, capacity: float | None = None) -> _Filled:
    operations = max(_FEWEST_OPERATIONS, round(rate * wanted))
    return _Filled(operations, operations / rate, rate, capacity)


def _closed(plan: Plan, seats: _Seats, baseline: Condition, wanted: float) -> _Filled:
    threads = int(baseline.level("threads"))
    with seats.twin(baseline) as (twin, first_op):
        if plan.step(baseline):
            job = _job(plan, _STREAM + 1, 1, first_op, seconds=trial_deadline_seconds(wanted))
            return _Filled(1, twin.trial(dataclasses.replace(job, step=plan.step(baseline))).elapsed_ns / 1e9)
        if plan.is_cold(baseline) and (cold := plan.engine.profile.cold_operations) is not None:
            return _cold(plan, twin, first_op, threads * cold)
        return _search(plan, twin, first_op, wanted, threads)


def _cold(plan: Plan, twin: Twin, first_op: int, operations: int) -> _Filled:
    """As many operations as can be cold, however short: the next would find in the caches what they brought."""
    deadline = trial_deadline_seconds(plan.request.trial_seconds)
    measured = twin.trial(_job(plan, _STREAM + 1, operations, first_op, seconds=deadline))
    return _Filled(operations, measured.elapsed_ns / 1e9)


def _search(plan: Plan, twin: Twin, first_op: int, wanted: float, threads: int) -> _Filled:
    """Grow the trial until it fills the wanted time, then take the median of a few, since one may meet a cold cache."""
    operations = _FIRST_OPERATIONS * threads
    settled: list[float] = []
    for attempt in range(_TRIES):
        job = _job(plan, _STREAM + 1 + attempt, operations, first_op, seconds=trial_deadline_seconds(wanted))
        measured = twin.trial(job)
        first_op += operations
        per_operation = measured.elapsed_ns / 1e9 / max(1, measured.operations)
        if operations * per_operation > wanted / 2:
            settled.append(per_operation)
        if len(settled) == _SETTLED:
            break
        fewest = _fewest(per_operation, wanted, threads)
        operations = max(fewest, round(min(wanted / per_operation, operations * _MOST_GROWTH)))
    per_operation = statistics.median(settled or [per_operation])
    operations = max(_fewest(per_operation, wanted, threads), round(wanted / per_operation))
    return _Filled(operations, operations * per_operation)


def _fewest(per_operation: float, wanted: float, threads: int) -> int:
    """The fewest operations of a trial: ten, or as many as its time allows where operations are slow; one a thread."""
    return max(threads, _FEWEST_SLOW_OPERATIONS, min(_FEWEST_OPERATIONS, int(LONGEST_TRIALS * wanted / per_operation)))


def _bounded(plan: Plan, seats: _Seats, stratum: int, filled: _Filled) -> _Filled:
    """As many operations as the slowest twin of the stratum does in the longest trial that is allowed, or all."""
    operations = filled.operations
    treatments = [condition for condition in plan.strata[stratum] if condition.role is Role.TREATMENT]
    slowest = max((_probed(plan, seats, condition) for condition in treatments), default=0.0)
    longest = LONGEST_TRIALS * plan.request.trial_seconds
    if operations * slowest <= longest:
        return filled
    fewer = min(operations, max(_FEWEST_SLOW_OPERATIONS, int(longest / slowest)))
    return replace(filled, operations=fewer, seconds=filled.seconds * fewer / operations)


def _probed(plan: Plan, seats: _Seats, condition: Condition) -> float:
    """About how long an operation takes under this condition, s, from very few of them."""
    operations = max(_PROBED_OPERATIONS, int(condition.level("threads")))
    deadline = trial_deadline_seconds(plan.request.trial_seconds)
    with seats.twin(condition) as (twin, first_op):
        measured: Measurement = twin.trial(_job(plan, _STREAM, operations, first_op, seconds=deadline))
    return measured.elapsed_ns / 1e9 / max(1, measured.operations)


def _job(plan: Plan, stream: int, operations: int, first_op: int, seconds: float) -> TrialJob:
    return TrialJob(
        plan.settings.seed,
        stream,
        operations,
        first_op,
        deadline_seconds=seconds,
        trial_seconds=plan.request.trial_seconds,
    )

"""How many operations fill a trial, and what the load loop itself costs.

A trial is a number of operations, not a time: a faster twin given fixed time would do more, grow more, and handicap
itself. The number is found on the baseline of each stratum, on an instance of its own that is then thrown away.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tdelta.driver import TrialJob, Twin, Twins
from tdelta.records import Condition, Level, Measurement, Role
from tdelta.session.planning import Plan

_FIRST_OPERATIONS = 100
_FEWEST_OPERATIONS = 10
_FEWEST_SLOW_OPERATIONS = 5
"""Where ten would make a trial longer than `LONGEST_TRIALS` allows."""

LONGEST_TRIALS = 8.0
"""How many times the wanted length a trial of slow operations may take: of the baseline's, where ten of its operations
do not fit, or of an encrypted twin that opens connections, where deriving a key may cost a thousand times the rest."""

_PROBED_OPERATIONS = 3
_MOST_GROWTH = 20.0
_TRIES = 12
_SETTLED = 5
_STREAM = 1 << 40
"""Streams of operations from here on are calibration's; blocks count from 0."""

_HEAD = 10
_LEAST_OF_SLICE = 20
"""The fewest operations of a slice on each thread; under that, heads and turns would be most of it."""

_LOOP_OPERATIONS = 50_000
_CAPACITY_SECONDS = 1.0
"""How long a closed-loop trial is that finds what the baseline can do: long enough to meet checkpoints."""

_DEADLINE_TRIALS = 40.0
_DEADLINE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """Operations of a trial by stratum, the trial's length on the baseline, and the loop's own cost in ns.

    ``rates`` are the arrivals a second of an open loop by stratum, none in a closed one; ``capacities`` what the
    baseline did in a closed loop, for strata whose rate is a share of that.
    ``loop_cost_ns`` is for one statement, drawing, timing and recording included; ``loop_response_ns`` is what falls
    within the measured span of a transaction.
    """

    operations: Mapping[int, int]
    slices: int
    trial_seconds: float
    loop_cost_ns: float
    loop_response_ns: float
    rates: Mapping[int, float] = field(default_factory=dict)
    capacities: Mapping[int, float] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """JSON values, from which `from_json` makes the same calibration."""
        return {
            "operations": {str(stratum): count for stratum, count in self.operations.items()},
            "slices": self.slices,
            "trial_seconds": self.trial_seconds,
            "loop_cost_ns": self.loop_cost_ns,
            "loop_response_ns": self.loop_response_ns,
            "rates": {str(stratum): rate for stratum, rate in self.rates.items()},
            "capacities": {str(stratum): capacity for stratum, capacity in self.capacities.items()},
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Calibration:
        """The calibration that `as_json` wrote."""
        operations = {int(stratum): int(count) for stratum, count in values["operations"].items()}
        rates, capacities = (
            {int(stratum): float(rate) for stratum, rate in values.get(name, {}).items()}
            for name in ("rates", "capacities")
        )
        return cls(**{**values, "operations": operations, "rates": rates, "capacities": capacities})


@dataclass(frozen=True, slots=True)
class _Filled:
    """What fills a trial of one stratum."""

    operations: int
    seconds: float
    rate: float | None = None
    capacity: float | None = None


def calibrate(plan: Plan, twins: Twins[Any], data_bytes: int, stored: Mapping[str, Any] | None) -> Calibration:
    """Find the trial's size, or take the one that an earlier sitting of the same run found.

    Raises:
        TdeltaError: a statement of the workload failed.
    """
    if stored is not None:
        return Calibration.from_json(stored)
    baselines = [condition for condition in plan.conditions if condition.role is Role.BASELINE]
    capacity = _Capacity(plan, twins, data_bytes)
    found = {condition.stratum: _fill(plan, twins, condition, data_bytes, capacity) for condition in baselines}
    if plan.workload.connects:
        found = {stratum: _bounded(plan, twins, stratum, data_bytes, filled) for stratum, filled in found.items()}
    rates = {stratum: filled.rate for stratum, filled in found.items() if filled.rate is not None}
    loop = _job(plan, _STREAM, _LOOP_OPERATIONS, first_op=1, seconds=_DEADLINE_SECONDS)
    cost = twins.loop_cost(loop)
    paced = cost if not rates else twins.loop_cost(_paced(plan, loop, max(rates.values())))
    operations = {stratum: filled.operations for stratum, filled in found.items()}
    return Calibration(
        operations=operations,
        slices=_slices(plan, min(operations.values())),
        trial_seconds=max(filled.seconds for filled in found.values()),
        loop_cost_ns=cost.statement_ns,
        loop_response_ns=paced.transaction_ns,
        rates=rates,
        capacities={stratum: filled.capacity for stratum, filled in found.items() if filled.capacity is not None},
    )


class _Capacity:
    """What a baseline does in a closed loop, operations a second; found once for strata that differ in ``at`` only."""

    def __init__(self, plan: Plan, twins: Twins[Any], data_bytes: int) -> None:
        self._plan = plan
        self._twins = twins
        self._data_bytes = data_bytes
        self._known: dict[tuple[tuple[str, Level], ...], float] = {}

    def of(self, baseline: Condition) -> float:
        """The capacity of a baseline's stratum, the level of ``at`` set aside."""
        levels = tuple((name, level) for name, level in baseline.levels if name != "at")
        if levels not in self._known:
            found = _closed(self._plan, self._twins, baseline, self._data_bytes, _CAPACITY_SECONDS)
            self._known[levels] = found.operations / found.seconds
        return self._known[levels]


def _paced(plan: Plan, loop: TrialJob, rate: float) -> TrialJob:
    """The same at the run's own pace, for about a second: waking up late is the loop's own, too."""
    operations = max(_FEWEST_OPERATIONS, round(rate))
    return dataclasses.replace(loop, operations=operations, rate=rate, arrivals=plan.request.arrivals)


def discarded(operations: int, slices: int) -> int:
    """Operations at the head of each slice that are not recorded: caches are cold after another's turn."""
    return -(-operations // (slices * _HEAD))


def _slices(plan: Plan, operations: int) -> int:
    """Into how many slices a trial is cut. An open loop is not: its queue would be cut, too."""
    request = plan.request
    if plan.is_open or request.slice_seconds == 0:
        return 1
    threads = max(int(condition.level("threads")) for condition in plan.conditions)
    by_time = round(request.trial_seconds / (request.slice_seconds * threads))
    return max(1, min(by_time, operations // (_LEAST_OF_SLICE * threads)))


def trial_deadline_seconds(trial_seconds: float) -> float:
    """How long a trial may take before it is cut off: many times what it should, and never under half a minute."""
    return max(_DEADLINE_SECONDS, _DEADLINE_TRIALS * trial_seconds)


def _fill(plan: Plan, twins: Twins[Any], baseline: Condition, data_bytes: int, capacity: _Capacity) -> _Filled:
    """Operations that fill the wanted time on this baseline, and the time they took at last."""
    wanted = plan.request.trial_seconds
    share = plan.share_of_capacity(baseline)
    if share is not None:
        at_most = capacity.of(baseline)
        return _due(share * at_most, wanted, at_most)
    if plan.request.rate is not None:
        return _due(plan.request.rate, wanted)
    return _closed(plan, twins, baseline, data_bytes, wanted)


def _due(rate: float, wanted: float, capacity: float | None = None) -> _Filled:
    operations = max(_FEWEST_OPERATIONS, round(rate * wanted))
    return _Filled(operations, operations / rate, rate, capacity)


def _closed(plan: Plan, twins: Twins[Any], baseline: Condition, data_bytes: int, wanted: float) -> _Filled:
    twin = twins.start(plan.twin_settings(baseline, data_bytes), f"calibration-{baseline.stratum}")
    try:
        return _search(plan, twin, wanted)
    finally:
        twin.end()


def _search(plan: Plan, twin: Twin, wanted: float) -> _Filled:
    """Grow the trial until it fills the wanted time, then take the median of a few, since one may meet a cold cache."""
    operations, first_op = _FIRST_OPERATIONS, 1
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
        fewest = _fewest(per_operation, wanted)
        operations = max(fewest, round(min(wanted / per_operation, operations * _MOST_GROWTH)))
    per_operation = statistics.median(settled or [per_operation])
    operations = max(_fewest(per_operation, wanted), round(wanted / per_operation))
    return _Filled(operations, operations * per_operation)


def _fewest(per_operation: float, wanted: float) -> int:
    """The fewest operations of a trial: ten, or as many as its time allows where operations are slow."""
    return max(_FEWEST_SLOW_OPERATIONS, min(_FEWEST_OPERATIONS, int(LONGEST_TRIALS * wanted / per_operation)))


def _bounded(plan: Plan, twins: Twins[Any], stratum: int, data_bytes: int, filled: _Filled) -> _Filled:
    """As many operations as the slowest twin of the stratum does in the longest trial that is allowed, or all."""
    operations = filled.operations
    treatments = [condition for condition in plan.strata[stratum] if condition.role is Role.TREATMENT]
    slowest = max((_probed(plan, twins, condition, data_bytes) for condition in treatments), default=0.0)
    longest = LONGEST_TRIALS * plan.request.trial_seconds
    if operations * slowest <= longest:
        return filled
    fewer = min(operations, max(_FEWEST_SLOW_OPERATIONS, int(longest / slowest)))
    return replace(filled, operations=fewer, seconds=filled.seconds * fewer / operations)


def _probed(plan: Plan, twins: Twins[Any], condition: Condition, data_bytes: int) -> float:
    """About how long an operation takes under this condition, s, from very few of them."""
    settings = plan.twin_settings(condition, data_bytes)
    twin = twins.start(settings, f"calibration-{condition.stratum}-{settings.cipher}")
    try:
        operations = max(_PROBED_OPERATIONS, settings.threads)
        deadline = trial_deadline_seconds(plan.request.trial_seconds)
        measured: Measurement = twin.trial(_job(plan, _STREAM, operations, first_op=1, seconds=deadline))
    finally:
        twin.end()
    return measured.elapsed_ns / 1e9 / max(1, measured.operations)


def _job(plan: Plan, stream: int, operations: int, first_op: int, seconds: float) -> TrialJob:
    return TrialJob(plan.settings.seed, stream, operations, first_op, deadline_seconds=seconds)

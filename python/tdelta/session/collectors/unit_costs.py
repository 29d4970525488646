"""The cost of pages in the code under test itself: the unit costs of a run's cost breakdown.

Measured on fresh twins ahead of the first rounds, so that how far prices differ from moment to moment is in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tdelta.errors import ServerFault, ServerLost, StorageFault, TdeltaError
from tdelta.inference.unit_costs import Timed, TimedTrial, crossed_of, prices_from_json
from tdelta.messages import Caution, RunPart
from tdelta.processes import Twin, Twins
from tdelta.processes.openssl_calls import Counts, environment, read
from tdelta.records import Condition, Measurement, Phase
from tdelta.session.context import Ready, Round, RunContext
from tdelta.session.pace import SHARE_OF_TIME, TRIALS, Stage, laps_of, timed_conditions

_HURRIED = "--max-time left no time for them"

FAULT = "fault"
"""Of a measurement: why there is none."""

MOST_ROUNDS = 5
"""Rounds ahead of which prices are measured."""


class UnitCosts:
    """Prices by the condition's key, JSON values; each condition has one measurement for each of the first rounds.

    Twins alike in all that a price depends on share a measurement.
    """

    def __init__(self, context: RunContext) -> None:
        self._plan = context.plan
        self._state = context.state
        self._shared: dict[tuple[object, ...], dict[str, object] | None] = {}
        self._measures = False
        self._is_hurried = False

    def cautions(self) -> tuple[Caution, ...]:
        """Why some could not be measured, each reason once."""
        faults = {one[FAULT]: None for measured in self._state.unit_costs.values() for one in measured if FAULT in one}
        return tuple(Caution.of("prices-unknown", fault=fault) for fault in faults)

    def begin_round(self, number: int, *, is_hurried: bool = False) -> None:
        """Discard measurements of twins of another round. Rounds have numbers from 0.

        A round that is hurried has no time for prices, and says so.

        All twins of a round are measured, or none, whatever was found before: what is done to one is done to all.
        """
        self._shared.clear()
        self._measures = number < MOST_ROUNDS
        self._is_hurried = is_hurried

    def collect(self, conditions: Sequence[Condition], twin: Twin) -> None:
        """Measure the prices of a fresh twin, which stands for these conditions; none where it has none."""
        found = self._measured(conditions[0], twin) if self._measures and not self._is_hurried else None
        for condition in conditions:
            if found:
                self._state.unit_costs.setdefault(condition.key, []).append(found)
            elif self._is_hurried:
                self._state.unit_costs.setdefault(condition.key, [{FAULT: _HURRIED}])

    def _measured(self, condition: Condition, twin: Twin) -> dict[str, object] | None:
        settings = self._plan.twin_settings(condition, 0)
        page_size = self._plan.engine.page_size(settings)
        scope = condition.get("scope")
        alike = (settings.cipher, page_size, settings.aes_instructions, scope)
        if alike not in self._shared:
            self._shared[alike] = self._asked(twin)
        return self._shared[alike]

    def _asked(self, twin: Twin) -> dict[str, object] | None:
        try:
            return twin.prices()
        except (StorageFault, ServerFault, ServerLost):
            raise
        except TdeltaError as error:  # a library by path may lack what the wheels have; the run is sound without
            return {FAULT: str(error)}


_NO_TIME = (
    f"with the search they would take more than {SHARE_OF_TIME:.0%} of the run's time; give it more with --max-time"
)
LATE = "the run's time was nearly up; give it more with --max-time"
NOT_SEEN = "no call of a cipher in OpenSSL's shared library was seen"


class TimedCalls:
    stage = RunPart.of("timed-calls")

    def __init__(self, context: RunContext, ready: Ready) -> None:
        self._context = context
        self._ready = ready
        self._plan = context.plan
        self._found = context.state.timed_calls

    def _left(self) -> list[Condition]:
        """Conditions whose calls are to be timed, and were not yet."""
        return [c for c in timed_conditions(self._plan) if c.key not in self._found]

    def is_due(self) -> bool:
        return bool(self._left())

    def first_seconds(self) -> float:
        return 0.0 if self._ready.twins.why_not_timed else self._context.pace.calls(len(self._left()))

    def collect(self, of: Round) -> None:
        """Time the calls of every condition that is due, each on a fresh instance."""
        context, twins = self._context, self._ready.twins
        due, began = self._left(), context.seconds_left()
        share = context.extras_left()
        for done, condition in enumerate(due):
            if context.interruption.requested:
                return
            if twins.why_not_timed:
                self._found[condition.key] = Timed(fault=twins.why_not_timed)
                continue
            left, needed = context.seconds_left(), context.pace.of(Stage.TIMING)
            if left < needed or began - left + needed > share:
                self._found[condition.key] = Timed(fault=LATE if left < needed else _NO_TIME)
                continue
            context.observe(Phase("timing", "the engine's own calls of its cipher are timed", done, len(due)))
            counts = self._ready.folder / f"calls-{done}.counts"
            try:
                with context.pace.timed(Stage.TIMING):
                    self._found[condition.key] = self._timed(twins, of, condition, counts)
            except (StorageFault, ServerFault, ServerLost):
                raise
            except TdeltaError as error:
                self._found[condition.key] = Timed(fault=str(error))
            finally:
                counts.unlink(missing_ok=True)

    def _timed(self, twins: Twins[Any], of: Round, condition: Condition, counts: Path) -> Timed:
        context = self._context
        settings = self._plan.twin_settings(condition, self._ready.data_bytes)
        with ExitStack() as stack:
            twin = self._ready.housing.started(stack, twins, condition, settings, counts.stem, environment(counts))
            laps, trials = laps_of(self._plan, condition), []
            for number in range(laps + TRIALS):
                if context.seconds_left() <= 0.0:  # its cache was colder than the round's
                    return Timed(fault=LATE)
                before: list[Counts] = []
                with context.interruption.watching(twin):
                    job = of.jobs.of_fresh_instance(condition, number)
                    measured = twin.trial(job, lambda: before.append(read(counts)))  # noqa: B023
                if measured.stopped_by == "signal":
                    return Timed(fault="the run was interrupted")
                if number >= laps and measured.counted_operations:
                    trials.append(self._trial(condition, measured, read(counts), before[0]))
        if not any(one.calls for one in trials):
            return Timed(fault=NOT_SEEN)
        return Timed(tuple(trials))

    def _trial(self, condition: Condition, measured: Measurement, after: Counts, before: Counts) -> TimedTrial:
        prices = prices_from_json(self._context.state.unit_costs).get(condition.key)
        pages = crossed_of(measured, prices)
        return TimedTrial(measured.counted_operations, pages, tuple(after.since(before)))

"""The engine's own calls of its ciphers, timed: trials of instances of their own, behind the blocks of a round.

A preload in the process that encrypts times every call into OpenSSL (``crates/evp-count``), which would be in what is
measured; so each encrypted condition gets one more instance, warmed up as the round's are, and nothing of its trials
counts but its calls. What keeps calls from being timed is reported in the cost breakdown and ends nothing.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tdelta.driver import Twins
from tdelta.driver.evp_calls import Counts, environment, read
from tdelta.errors import ServerFault, ServerLost, StorageFault, TdeltaError
from tdelta.inference.unit_costs import Timed, TimedTrial, crossed_of, prices_from_json
from tdelta.messages import RunPart
from tdelta.records import Condition, Measurement, Phase
from tdelta.session.context import Ready, Round, RunContext
from tdelta.session.pace import SHARE_OF_TIME, TRIALS, Stage, laps_of, timed_conditions

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
        return 0.0 if self._refusal() else self._context.pace.calls(len(self._left()))

    def collect(self, of: Round) -> None:
        """Time the calls of every condition that is due, each on a fresh instance."""
        context, twins = self._context, self._ready.twins
        due, began = self._left(), context.seconds_left()
        share = context.extras_left()
        for done, condition in enumerate(due):
            if context.interruption.requested:
                return
            if not twins.times_calls or self._refusal():
                self._found[condition.key] = Timed(fault=self._refusal())
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

    def _refusal(self) -> str:
        """Why no calls can be timed, where that is known."""
        twins = self._ready.twins
        return twins.why_not_timed if twins.times_calls else self._plan.engine.profile.not_timed

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

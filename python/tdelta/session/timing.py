"""The engine's own calls of its ciphers, timed: trials of instances of their own, behind the blocks of a round.

A preload in the process that encrypts times every call into OpenSSL (``crates/evp-count``), which would be in what is
measured; so each encrypted condition gets one more instance, warmed up as the round's are, and nothing of its trials
counts but its calls. What keeps calls from being timed is said in the ledger and ends nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from tdelta.design.layout import PLAIN
from tdelta.driver import TrialJob, Twin, Twins
from tdelta.driver.evp_calls import Counts, environment, read
from tdelta.errors import ServerFault, ServerLost, StorageFault, TdeltaError
from tdelta.inference.ledger import crossed_of
from tdelta.inference.prices import prices_from_json
from tdelta.inference.timed import Timed, TimedTrial
from tdelta.records import Condition, Event, Measurement, Phase, Role
from tdelta.session.planning import Plan
from tdelta.session.state import RunState

TRIALS = 4
"""Trials of an instance whose calls are timed: how they scatter says how sure their mean is."""

_SETTLING_LAPS = 2
"""Of servers. Where their cache misses more or less often than in the measured trials, calls are scaled by pages."""

SHARE_OF_TIME = 0.2
"""The share of the run's time that all of this may take."""

_NO_TIME = f"they would take more than {SHARE_OF_TIME:.0%} of the run's time; give it more with --max-time"
_LATE = "the run's time was nearly up; give it more with --max-time"
_NOT_SEEN = "no call of a cipher in OpenSSL's shared library was seen"


def timed_conditions(plan: Plan) -> list[Condition]:
    """Conditions whose calls are timed: all that encrypt and are judged, but for loads and rebuilds."""
    return [
        c for c in plan.conditions if c.role is Role.TREATMENT and str(c.level("cipher")) != PLAIN and not plan.step(c)
    ]


def laps_of(plan: Plan, condition: Condition) -> int:
    """Trials that warm up an instance whose calls are timed."""
    if plan.work(condition) != "warm":
        return 0
    return _SETTLING_LAPS if plan.warms_until_settled else 1


class Timing:
    """Timed calls by the condition's key, whichever sitting timed them."""

    def __init__(self, plan: Plan, state: RunState) -> None:
        self._plan = plan
        self._state = state
        self._found = state.timed_calls

    def due(self) -> list[Condition]:
        """Conditions whose calls are to be timed, and were not yet."""
        return [c for c in timed_conditions(self._plan) if c.key not in self._found]

    def gather(
        self,
        twins: Twins[Any],
        data_bytes: int,
        folder: Path,
        jobs: Callable[[Condition, int], TrialJob],
        *,
        each_seconds: Callable[[], float],
        seconds_left: Callable[[], float],
        timed: Callable[[], AbstractContextManager[None]],
        watching: Callable[[Twin], AbstractContextManager[None]],
        is_interrupted: Callable[[], bool],
        observe: Callable[[Event], None],
    ) -> None:
        """Time the calls of every condition that is due, each on a fresh instance.

        Args:
            twins: makes instances.
            data_bytes: the size of the plain data.
            folder: where counts are kept meanwhile.
            jobs: a condition's trial on a fresh instance, by its number; the first ones warm up.
            each_seconds: what the next condition takes, by what is known.
            seconds_left: what is left of the run's time for all of this; below zero once it is used up.
            timed: within what it returns, one condition's calls are timed.
            watching: within what it returns, a Ctrl-C ends the twin's trial.
            is_interrupted: whether there was a Ctrl-C; then conditions that are left are not timed.
            observe: told what happens.
        """
        due, began = self.due(), seconds_left()
        share = SHARE_OF_TIME * self._plan.request.max_seconds
        for done, condition in enumerate(due):
            if is_interrupted():
                return
            if refusal := twins.why_not_timed:
                self._found[condition.key] = Timed(fault=refusal)
                continue
            left, needed = seconds_left(), each_seconds()
            if left < needed or began - left + needed > share:
                self._found[condition.key] = Timed(fault=_LATE if left < needed else _NO_TIME)
                continue
            observe(Phase("timing", "the engine's own calls of its cipher are timed", done, len(due)))
            counts = folder / f"calls-{done}.counts"
            try:
                with timed():
                    self._found[condition.key] = self._timed(
                        twins, condition, data_bytes, counts, jobs, seconds_left, watching
                    )
            except (StorageFault, ServerFault, ServerLost):
                raise
            except TdeltaError as error:
                self._found[condition.key] = Timed(fault=str(error))
            finally:
                counts.unlink(missing_ok=True)

    def _timed(
        self,
        twins: Twins[Any],
        condition: Condition,
        data_bytes: int,
        counts: Path,
        jobs: Callable[[Condition, int], TrialJob],
        seconds_left: Callable[[], float],
        watching: Callable[[Twin], AbstractContextManager[None]],
    ) -> Timed:
        twin = twins.start(self._plan.twin_settings(condition, data_bytes), counts.stem, environment(counts))
        try:
            laps, trials = laps_of(self._plan, condition), []
            for number in range(laps + TRIALS):
                if seconds_left() <= 0.0:  # its cache was colder than the round's
                    return Timed(fault=_LATE)
                before: list[Counts] = []
                with watching(twin):
                    measured = twin.trial(jobs(condition, number), lambda: before.append(read(counts)))  # noqa: B023
                if measured.stopped_by == "signal":
                    return Timed(fault="the run was interrupted")
                if number >= laps and measured.counted_operations:
                    trials.append(self._trial(condition, measured, read(counts), before[0]))
        finally:
            twin.end()
        if not any(one.calls for one in trials):
            return Timed(fault=_NOT_SEEN)
        return Timed(tuple(trials))

    def _trial(self, condition: Condition, measured: Measurement, after: Counts, before: Counts) -> TimedTrial:
        prices = prices_from_json(self._state.unit_costs, self._plan.conditions).get(condition.key)
        pages = None if prices is None else crossed_of(measured, prices)
        return TimedTrial(measured.counted_operations, pages, tuple(after.since(before)))

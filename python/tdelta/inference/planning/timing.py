"""Where the wall clock of a run went: once, for each round of fresh twins, for each trial.

Read off the times at which blocks began, so that whatever happens between trials is in it.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tdelta.inference.planning.runs import MeasuredRun, StratumNoise
from tdelta.inference.posterior import FloatArray
from tdelta.records.prospects import TimeCosts

_LONGER = 1.5
"""Lengths that differ by less than this factor do not tell what a switch costs."""


@dataclass(frozen=True, slots=True)
class RunTimes:
    """One run's wall clock. ``slot_seconds`` is that of a trial, ``has_rounds`` whether a fresh round was timed."""

    set_up_seconds: float
    round_seconds: float
    slot_seconds: float
    has_rounds: bool


def run_times(run: MeasuredRun) -> RunTimes:
    """Take one run's wall clock apart. A single round's own cost cannot be told from the set-up, and counts as it."""
    conditions = run.trials_of_block
    starts = dict(sorted({(t.round, t.block): t.started_unix_seconds for t in run.trials}.items()))
    steps = [(before[0] != after[0], starts[after] - starts[before]) for before, after in itertools.pairwise(starts)]
    within = [seconds for is_new_round, seconds in steps if not is_new_round]
    block = max(statistics.median(within) if within else 0.0, _work_seconds(run))
    between = [max(0.0, seconds - block) for is_new_round, seconds in steps if is_new_round]
    rest = max(0.0, run.elapsed_seconds - len(starts) * block)
    if not between:
        return RunTimes(0.0, rest, block / conditions, has_rounds=False)
    # Behind the first round lies the search for plaintext, which no later round has.
    round_seconds = statistics.median(between[1:] or between)
    rounds = 1 + len(between)
    return RunTimes(max(0.0, rest - rounds * round_seconds), round_seconds, block / conditions, has_rounds=True)


def _work_seconds(run: MeasuredRun) -> float:
    """What the trials of a block take at least, median over blocks."""
    blocks: dict[int, float] = {}
    for trial in run.trials:
        blocks[trial.block] = blocks.get(trial.block, 0.0) + trial.measurement.elapsed_ns / 1e9
    return statistics.median(blocks.values())


def time_costs(seen: Sequence[StratumNoise], conditions: int) -> TimeCosts:
    """The times of all runs together.

    Args:
        seen: the strata of the runs; of each run the first one is timed.
        conditions: twins of a round of the run that is planned; making and warming them takes time for each.
    """
    runs = {one.run.settings.run_id: one for one in reversed(seen)}
    times = {run_id: run_times(one.run) for run_id, one in runs.items()}
    lengths = np.array([one.trial_seconds for one in runs.values()])
    slots = np.array([times[run_id].slot_seconds for run_id in runs])
    for_each = [
        times[run_id].round_seconds / one.run.twins_of_round
        for run_id, one in runs.items()
        if times[run_id].has_rounds or not any(t.has_rounds for t in times.values())
    ]
    switch, stretch = _line(lengths, slots)
    return TimeCosts(
        set_up_seconds=max(t.set_up_seconds for t in times.values()),
        round_seconds=conditions * statistics.median(for_each),
        switch_seconds=switch,
        stretch=stretch,
    )


def _line(lengths: FloatArray, slots: FloatArray) -> tuple[float, float]:
    """Switch and stretch: a line through trials of several lengths, or all that is not the trial counted as switch."""
    if lengths.max() > _LONGER * lengths.min():
        stretch, switch = (float(value) for value in np.polyfit(lengths, slots, 1))
        if switch >= 0.0 and stretch >= 1.0:
            return switch, stretch
    return max(0.0, float(np.median(slots - lengths))), 1.0

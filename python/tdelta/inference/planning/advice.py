"""Trial length and blocks a round that decide soonest, by what equal precision takes in wall clock.

Both are the optimum of two-stage sampling, where a unit costs something to begin and something to go on with (Cochran
1977, "Sampling Techniques", section 10.6): a trial has its switch, a round its fresh twins. A gain under a tenth is
worth no change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tdelta.inference.planning.runs import PlannedRun
from tdelta.inference.planning.scales import LengthCurve
from tdelta.inference.posterior import FloatArray
from tdelta.records.prospects import Advice, TimeCosts

_WORTH_A_CHANGE = 0.9
_LENGTHS = 41
_MOST_BLOCKS = 48
_SEVERAL = 1.5
"""Lengths must differ by this factor to speak of a best one."""


@dataclass(frozen=True, slots=True)
class _Best:
    value: float
    gain: float
    words: str


def advise(planned: PlannedRun, curve: LengthCurve, luck_variance: float, times: TimeCosts) -> Advice:
    """Advise on a run.

    Args:
        planned: the run as it would be.
        curve: posterior of a trial's noise by its length.
        luck_variance: posterior mean of an instance's luck, squared.
        times: where wall clock goes.
    """
    length = _best_length(planned, curve, times)
    seconds = planned.trial_seconds if length is None or length.gain == 1.0 else length.value
    blocks = _best_blocks(planned, float(curve.mean(np.array([seconds]))[0]), luck_variance, times, seconds)
    return Advice(
        trial_seconds=None if length is None else length.value,
        trial_gain=1.0 if length is None else length.gain,
        trial_words=_one_length(curve) if length is None else length.words,
        blocks_per_round=round(blocks.value),
        blocks_gain=blocks.gain,
        blocks_words=blocks.words,
    )


def time_for_same(curve: LengthCurve, times: TimeCosts, seconds: FloatArray) -> FloatArray:
    """Variance of a trial times the wall clock it takes: what equal precision takes, luck of instances aside."""
    return np.asarray(curve.mean(seconds) * _slots(times, seconds), dtype=np.float64)


def _slots(times: TimeCosts, seconds: FloatArray) -> FloatArray:
    return np.asarray(times.switch_seconds + times.stretch * seconds, dtype=np.float64)


def _one_length(curve: LengthCurve) -> str:
    return f"trials of {curve.reference:.2g} s were the only ones"


def _best_length(planned: PlannedRun, curve: LengthCurve, times: TimeCosts) -> _Best | None:
    """The best of the lengths between the shortest and the longest that were measured; none beyond is guessed at."""
    if curve.longest < _SEVERAL * curve.shortest:
        return None
    if planned.keeps_trial:
        return _Best(planned.trial_seconds, 1.0, "as given")
    lengths = np.geomspace(curve.shortest, curve.longest, _LENGTHS)
    takes = time_for_same(curve, times, lengths)
    best = float(lengths[int(np.argmin(takes))])
    gain = float(takes.min() / time_for_same(curve, times, np.array([planned.trial_seconds]))[0])
    if gain > _WORTH_A_CHANGE:
        return _Best(planned.trial_seconds, 1.0, "none of the lengths tried is clearly better")
    return _Best(float(f"{best:.2g}"), gain, f"takes {gain:.2g} times as long for the same precision")


def _best_blocks(
    planned: PlannedRun, noise_variance: float, luck_variance: float, times: TimeCosts, seconds: float
) -> _Best:
    """Blocks a round, whole passes through the Williams design where a round holds one."""
    block_seconds = planned.block_conditions * times.slot_seconds(seconds)

    def takes(blocks: float) -> float:
        variance = luck_variance + noise_variance / blocks
        return variance * (times.round_seconds + blocks * block_seconds)

    now = planned.blocks_per_round
    if planned.keeps_blocks:
        return _Best(now, 1.0, "as given")
    rows = planned.block_conditions * (1 + planned.block_conditions % 2)
    best = min(range(min(rows, _MOST_BLOCKS), _MOST_BLOCKS + 1, rows), key=takes)
    gain = takes(best) / takes(now)
    if gain > _WORTH_A_CHANGE:
        return _Best(now, 1.0, "no other number is clearly better")
    return _Best(best, gain, f"takes {gain:.2g} times as long for the same precision")

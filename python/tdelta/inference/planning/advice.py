"""Trial length and blocks per round that decide soonest.

Both are the optimum of two-stage sampling, where a unit costs something to begin and something to go on with (Cochran
1977, "Sampling Techniques", section 10.6): a trial has its switch, a round its fresh twins. Rounds are counted by
normal theory, with what a t needs besides, and three at least: where less would do, short ones are best. A gain under
a tenth is worth no change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from tdelta.inference.planning.runs import PlannedRun
from tdelta.inference.planning.scales import LengthCurve
from tdelta.inference.posterior import FloatArray
from tdelta.inference.simulated import FEWEST_ROUNDS
from tdelta.records.prospects import Advice, TimeCosts

_WORTH_A_CHANGE = 0.9
_LENGTHS = 41
_MOST_BLOCKS = 48
_SEVERAL = 1.5
"""Lengths must differ by this factor to speak of a best one."""

_Z95 = 1.96
_FOR_A_T = _Z95**2 / 2.0
"""Rounds that a t interval needs beyond a normal one (Guenther 1981, The American Statistician 35:243)."""

_LEAST_DISTANCE = 1e-4
"""Effects nearer to the tolerance's edge than this, in logs, cannot be decided: then precision counts."""


@dataclass(frozen=True, slots=True)
class _Best:
    value: float
    gain: float
    words: str


def wanted_variance(targets: Iterable[tuple[float, float]], assurance: float) -> float:
    """The variance of a log ratio at which a run decides, by normal theory.

    Args:
        targets: true overheads, each with its tolerance; the nearest pair counts.
        assurance: the chance of a right decision.
    """
    distances = (abs(math.log1p(effect) - math.log1p(tolerance)) for effect, tolerance in targets)
    nearest = min((distance for distance in distances if distance > _LEAST_DISTANCE), default=_LEAST_DISTANCE)
    return (nearest / (_Z95 + NormalDist().inv_cdf(assurance))) ** 2


def advise(
    planned: PlannedRun, curve: LengthCurve, instance_variance: float, times: TimeCosts, wanted: float
) -> Advice:
    """Advise on a run.

    Args:
        planned: the run as it would be.
        curve: posterior of a trial's noise by its length.
        instance_variance: posterior mean of an instance effect, squared.
        times: where wall clock goes.
        wanted: the variance of a log ratio at which it decides.
    """

    def takes(seconds: float, blocks: float) -> float:
        noise = float(curve.mean(np.array([seconds]))[0])
        of_round = (1.0 + 1.0 / planned.plain) * (instance_variance + noise / blocks)
        rounds = max(FEWEST_ROUNDS, of_round / wanted + _FOR_A_T)
        return rounds * (times.round_seconds + blocks * planned.block_conditions * times.slot_seconds(seconds))

    def takes_at_best(seconds: float) -> float:
        return min(takes(seconds, blocks) for blocks in _blocks(planned))

    trial = _best_length(planned, curve, takes_at_best)
    seconds = planned.trial_seconds if trial is None or trial.gain == 1.0 else trial.value
    blocks = _best_blocks(planned, lambda blocks: takes(seconds, blocks))
    return Advice(
        trial_seconds=None if trial is None else trial.value,
        trial_gain=1.0 if trial is None else trial.gain,
        trial_words=f"trials of {curve.reference:.2g} s were the only ones" if trial is None else trial.words,
        blocks_per_round=round(blocks.value),
        blocks_gain=blocks.gain,
        blocks_words=blocks.words,
    )


def time_for_same(curve: LengthCurve, times: TimeCosts, seconds: FloatArray) -> FloatArray:
    """Variance of a trial times the wall clock it takes: what equal precision takes, instance effect aside."""
    slots = times.switch_seconds + times.stretch * seconds
    return np.asarray(curve.mean(seconds) * slots, dtype=np.float64)


def _best_length(planned: PlannedRun, curve: LengthCurve, takes: Callable[[float], float]) -> _Best | None:
    """The best of the lengths between the shortest and the longest that were measured; none beyond is guessed at."""
    if curve.longest < _SEVERAL * curve.shortest:
        return None
    if planned.keeps_trial:
        return _Best(planned.trial_seconds, 1.0, "as given")
    best = min(np.geomspace(curve.shortest, curve.longest, _LENGTHS).tolist(), key=takes)
    gain = takes(best) / takes(planned.trial_seconds)
    if gain > _WORTH_A_CHANGE:
        return _Best(planned.trial_seconds, 1.0, "none of the lengths tried is clearly better")
    return _Best(float(f"{best:.2g}"), gain, f"takes {gain:.2g} times as long to decide")


def _best_blocks(planned: PlannedRun, takes: Callable[[float], float]) -> _Best:
    now = planned.blocks_per_round
    if planned.keeps_blocks:
        return _Best(now, 1.0, "as given")
    best = min(_blocks(planned), key=takes)
    gain = takes(best) / takes(now)
    if gain > _WORTH_A_CHANGE:
        return _Best(now, 1.0, "no other number is clearly better")
    return _Best(best, gain, f"takes {gain:.2g} times as long to decide")


def _blocks(planned: PlannedRun) -> tuple[int, ...]:
    """What a round may hold: whole passes through the Williams design, where it can hold one."""
    if planned.keeps_blocks:
        return (planned.blocks_per_round,)
    rows = planned.block_conditions * (1 + planned.block_conditions % 2)
    return (planned.blocks_per_round, *range(min(rows, _MOST_BLOCKS), _MOST_BLOCKS + 1, rows))

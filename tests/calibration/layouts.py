"""Places where time passes: what trials of some length and rounds of so many blocks take, and what they tell.

A trial's noise follows its length as planning believes (`tdelta.inference.instrument.lengths.LengthCurve`), blocks are
independent but for a slow drift, and instances have luck. Wall clock is what `TimeCosts` makes of it; nothing is timed.
"""

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np

from calibration.grid import answer_of
from calibration.known_luck import IDENTICAL
from calibration.simulation import AA, BASELINE, THREE, Array, Machine, settings, simulate
from tdelta.inference.decisions import decide_means, width
from tdelta.inference.instrument.lengths import fit_curve
from tdelta.inference.instrument.measured import MeasuredRun, PlannedRun
from tdelta.inference.instrument.prospects import PlanQuery, advise, first_reaching, prospect, wanted_variance
from tdelta.inference.instrument.simulation import Draws, Prediction, RoundsDesign, predict
from tdelta.inference.run_analysis import interim_estimates
from tdelta.inference.verdicts import grounds_of
from tdelta.records import Decision, Metric
from tdelta.records.instrument import Layout, Target, TimeCosts

LENGTHS = (1.0, 2.0, 4.0)
"""Of a pilot's trials, seconds."""

PLANNED = PlannedRun(conditions=3, block_conditions=3, plain=2, judged=1, trial_seconds=1.0, blocks_per_round=6)
PASS, MOST_BLOCKS = 6, 48
"""Blocks of a pass through the Williams design, and the most that are ever advised."""

ASSURANCE = 0.8
LOOKS = (3, 4, 5, 7, 10, 14, 20)

TOO_NEAR = (0.021, 0.02)
"""A true overhead and a tolerance that take hundreds of rounds to distinguish: layouts differ in precision only."""

_SET_UP_SECONDS = 20.0
_SURE_DF = 1e4


class Round(NamedTuple):
    trial_seconds: float
    blocks: int


@dataclass(frozen=True)
class Place:
    """A machine and what wall clock goes to.

    A trial of L seconds has a log cost of variance ``flat + falling / L + growing * L``.
    """

    name: str
    flat: float = 0.0
    falling: float = 0.0
    growing: float = 0.0
    instance_sd: float = 0.003
    round_seconds: float = 10.0
    switch_seconds: float = 0.1

    @property
    def times(self) -> TimeCosts:
        """Set-up, fresh twins of a round, a trial's switch."""
        return TimeCosts(_SET_UP_SECONDS, self.round_seconds, self.switch_seconds, 1.0)

    def variance(self, seconds: float) -> float:
        """Of the log cost of a trial of that length."""
        return self.flat + self.falling / seconds + self.growing * seconds

    def machine(self, seconds: float) -> Machine:
        sd = float(np.sqrt(self.variance(seconds)))
        return Machine(trial_sd=sd, noise="gamma", instance_sd=self.instance_sd, drift_sd=0.01, walk_sd=0.02)

    def block_seconds(self, trial_seconds: float) -> float:
        return len(THREE) * self.times.slot_seconds(trial_seconds)

    def whole_round_seconds(self, of: Round) -> float:
        return self.round_seconds + of.blocks * self.block_seconds(of.trial_seconds)


def advised(place: Place, aim: tuple[float, float] = TOO_NEAR, *, instance_sd: float | None = None) -> Round:
    """The advice where noise and instance effects are known, or luck is taken to be that much."""
    variances = np.array([place.variance(seconds) for seconds in LENGTHS])
    curve = fit_curve(np.array(LENGTHS), variances, np.full(len(LENGTHS), _SURE_DF))
    instance_effect = place.instance_sd if instance_sd is None else instance_sd
    found = advise(PLANNED, curve, instance_effect**2, place.times, wanted_variance([aim], ASSURANCE))
    assert found.trial_seconds is not None
    return Round(found.trial_seconds, found.blocks_per_round)


def neighbours(of: Round) -> Iterator[Round]:
    """Half and twice the trial, half and twice the blocks, as far as what was measured and what is advised go."""
    for seconds in (max(0.5 * of.trial_seconds, LENGTHS[0]), min(2.0 * of.trial_seconds, LENGTHS[-1])):
        if not 1 / 1.5 < seconds / of.trial_seconds < 1.5:
            yield Round(seconds, of.blocks)
    for passes in (of.blocks // PASS // 2, 2 * of.blocks // PASS):
        if PASS <= PASS * passes <= MOST_BLOCKS:
            yield Round(of.trial_seconds, PASS * passes)


def effort(place: Place, of: Round, wall_seconds: float, experiments: int) -> Array:
    """The effort for equal precision, log: wall time times the squared width of the HDI, of runs that long."""
    whole = place.whole_round_seconds(of)
    rounds = int(wall_seconds / whole)
    widths = []
    for index in range(experiments):
        rng = np.random.default_rng([zlib.crc32(repr((place, of)).encode()), index])
        trials = simulate(
            rng, place.machine(of.trial_seconds), [0.0], rounds=rounds, blocks=of.blocks, conditions=THREE
        )
        ((_, estimate, _),) = interim_estimates(trials, settings(THREE))
        widths.append(width(estimate))
    return 2.0 * np.log(widths) + np.log(rounds * whole)


@cache
def predicted(place: Place, of: Round, experiments: int) -> Prediction:
    draws = Draws.known(place.variance(of.trial_seconds), place.instance_sd, experiments)
    return predict(draws, RoundsDesign(len(THREE), 2, of.blocks), LOOKS)


def decides_in(place: Place, of: Round, runs: Prediction, aim: tuple[float, float]) -> float:
    """Wall clock, seconds, until four runs in five say slower; infinite where that takes more than 20 rounds."""
    rounds = first_reaching(LOOKS, runs.decided(*aim, Decision.SLOWER).tolist(), ASSURANCE)
    return math.inf if rounds is None else rounds * place.whole_round_seconds(of)


def planned(place: Place, index: int, asked: PlanQuery) -> tuple[Layout, Target]:
    """The layout and the first aim of a plan from a pilot of six rounds of each length."""
    rng = np.random.default_rng([zlib.crc32(place.name.encode()), index])
    found = prospect([_pilot(rng, place, seconds) for seconds in LENGTHS], PLANNED, asked, Metric.RESPONSE_TIME)
    return found.layout, found.primary_targets[0]


def _pilot(rng: np.random.Generator, place: Place, seconds: float, rounds: int = 6) -> MeasuredRun:
    twins = (BASELINE, AA, IDENTICAL)
    trials = simulate(rng, place.machine(seconds), [0.0], rounds=rounds, blocks=PASS, conditions=twins)
    block = place.block_seconds(seconds)
    timed = tuple(
        replace(
            trial,
            started_unix_seconds=_SET_UP_SECONDS + (trial.round + 1) * place.round_seconds + trial.block * block,
            measurement=replace(trial.measurement, elapsed_ns=round(1e9 * seconds)),
        )
        for trial in trials
    )
    elapsed = _SET_UP_SECONDS + rounds * place.whole_round_seconds(Round(seconds, PASS))
    return MeasuredRun(replace(settings(twins), run_id=f"trials of {seconds:g} s"), timed, elapsed)


def said_slower(
    place: Place, layout: Layout, rounds: int, effect: float, tolerance: float, seed: tuple[int, int]
) -> bool:
    """Whether slower is said of such a run where that is the true overhead, as `judge` would (`test_assurance.py`)."""
    machine, truth = place.machine(layout.trial_seconds), float(np.log1p(effect))
    rng = np.random.default_rng([zlib.crc32(b"said slower"), *seed])
    trials = simulate(rng, machine, [truth], rounds=rounds, blocks=layout.blocks_per_round, conditions=THREE)
    answer = answer_of(trials, settings(THREE, tolerance=tolerance))
    return (
        decide_means(answer.posterior.estimate(tolerance), grounds_of(answer, tolerance), tolerance) is Decision.SLOWER
    )

"""The whole of a plan: from measured runs and what is asked to rounds and minutes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from tdelta.design.randomness import stream
from tdelta.errors import UsageError
from tdelta.inference.carry_over import carry_over
from tdelta.inference.decisions import ENOUGH_ROUNDS
from tdelta.inference.instrument.lengths import LengthCurve, allan, fit_curve
from tdelta.inference.instrument.measured import (
    LIKE_THE_BASELINE,
    MeasuredRun,
    PlannedRun,
    StratumNoise,
    count_instances,
    df_share,
    extract_noise,
    instance_effects,
    run_times,
    time_costs,
)
from tdelta.inference.instrument.simulation import SEED, Draws, Prediction, RoundsDesign, predict, right_decision
from tdelta.inference.posterior import FloatArray
from tdelta.inference.quantiles import chi_square_quantile
from tdelta.inference.rounds import RoundsFit
from tdelta.inference.stalls import events_of
from tdelta.messages import Caution, Reason, Refusal
from tdelta.records import Metric, Role
from tdelta.records.instrument import (
    Advice,
    Attainability,
    CarryOver,
    Grounds,
    InstanceEffect,
    Layout,
    NoiseAtLength,
    Point,
    Prospect,
    ScaleNoise,
    Target,
    TimeCosts,
    Width,
)
from tdelta.records.trials import BUSY, others_cpu_share

_WORTH_A_CHANGE = 0.9
_LENGTHS = 41
_MOST_BLOCKS = 48
_SEVERAL = 1.5  # lengths must differ by this factor to speak of a best one
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


# Trial length and blocks per round that decide soonest.
#
# Both are the optimum of two-stage sampling, where a unit costs something to begin and something to go on with (Cochran
# 1977, "Sampling Techniques", section 10.6): a trial has its switch, a round its fresh twins. Rounds are counted by
# normal theory, with what a t needs besides, and three at least: where less would do, short ones are best. A gain under
# a tenth is worth no change.


def wanted_variance(
    targets: Iterable[tuple[float, float]],  # true overheads, each with its tolerance; the nearest pair counts
    assurance: float,  # the chance of a right decision
) -> float:
    """The variance of a log ratio at which a run decides, by normal theory."""
    distances = (abs(math.log1p(effect) - math.log1p(tolerance)) for effect, tolerance in targets)
    nearest = min((distance for distance in distances if distance > _LEAST_DISTANCE), default=_LEAST_DISTANCE)
    return (nearest / (_Z95 + NormalDist().inv_cdf(assurance))) ** 2


def advise(
    planned: PlannedRun,
    curve: LengthCurve,  # posterior of a trial's noise by its length
    instance_variance: float,  # posterior mean of an instance effect, squared
    times: TimeCosts,
    wanted: float,  # the variance of a log ratio at which it decides
) -> Advice:
    def takes(seconds: float, blocks: float) -> float:
        noise = float(curve.mean(np.array([seconds]))[0])
        of_round = (1.0 + 1.0 / planned.plain) * (instance_variance + noise / blocks)
        rounds = max(ENOUGH_ROUNDS, of_round / wanted + _FOR_A_T)
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
    """Blocks of a round: whole passes through the Williams design, where it can hold one."""
    if planned.keeps_blocks:
        return (planned.blocks_per_round,)
    rows = planned.block_conditions * (1 + planned.block_conditions % 2)
    return (planned.blocks_per_round, *range(min(rows, _MOST_BLOCKS), _MOST_BLOCKS + 1, rows))


# The overheads that a run should decide, and how many rounds that takes.

EFFECTS = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.10)
TOLERANCES = (0.005, 0.01, 0.02)  # what is shown where nothing is asked for
_HEADLINE_TOLERANCE = 0.01
_LOOKS = (3, 4, 5, 7, 10, 14, 20, 28, 40, 56, 80, 120, 170, 240, 340, 480)
_USUAL_ROUNDS, _USUAL_SECONDS = 120, 3600.0
"""How far to look where no time is named: so many rounds, or so long, whichever is more."""


def rounds_to_look_at(layout: Layout, max_seconds: float | None) -> tuple[int, ...]:
    """Numbers of rounds, each about 40% more than the one before, as far as the time allows; 480 at most.

    At least three, which tdelta needs to see the instance effect, unless the time holds fewer; none if not even one.
    """
    if max_seconds is None:
        most = max(_USUAL_ROUNDS, layout.rounds_within(_USUAL_SECONDS))
    else:
        most = layout.rounds_within(max_seconds)
    most = min(most, _LOOKS[-1])
    if most < ENOUGH_ROUNDS:
        return tuple(range(most, most + 1)) if most else ()
    return (*(rounds for rounds in _LOOKS if rounds < most), most)


def targets_of(
    effects: Sequence[float],
    tolerances: Sequence[float],
    prediction: Prediction,
    layout: Layout,
    assurance: float,
    *,
    is_budget: bool,
) -> tuple[Target, ...]:
    """Every effect against every tolerance, those asked for or the usual ones, tolerance by tolerance."""
    return tuple(
        _target(effect, tolerance, prediction, layout, assurance, is_budget=is_budget)
        for tolerance in (tolerances or TOLERANCES)
        for effect in (effects or EFFECTS)
    )


def primary_of(effects: Sequence[float], tolerances: Sequence[float]) -> Iterator[tuple[float, float]]:
    """The overheads and tolerances requested; by default none and the smallest usual one above a tolerance."""
    for tolerance in tolerances or (_HEADLINE_TOLERANCE,):
        above = [effect for effect in EFFECTS if effect > 1.25 * tolerance]
        yield from ((effect, tolerance) for effect in effects or (EFFECTS[0], *above[:1]))


def _target(
    effect: float, tolerance: float, prediction: Prediction, layout: Layout, assurance: float, *, is_budget: bool
) -> Target:
    decision = right_decision(effect, tolerance, is_budget=is_budget)
    wrong = prediction.wrong(effect, tolerance, is_budget=is_budget)
    right = np.zeros_like(wrong) if decision is None else prediction.decided(effect, tolerance, decision)
    curve = tuple(
        Point(rounds, layout.seconds(rounds), chance, fault)
        for rounds, chance, fault in zip(prediction.rounds, right.tolist(), wrong.tolist(), strict=True)
    )
    if decision is None:
        return Target(effect, tolerance, None, Attainability.EDGE, None, None, Reason.of("effect-on-edge"), curve)
    rounds = first_reaching(prediction.rounds, right.tolist(), assurance)
    if rounds is None:
        why = Reason.of("decided-too-seldom", rounds=curve[-1].rounds, share=curve[-1].assurance)
        return Target(effect, tolerance, decision, Attainability.TOO_LONG, None, None, why, curve)
    return Target(effect, tolerance, decision, Attainability.REACHED, rounds, layout.seconds(rounds), None, curve)


def first_reaching(rounds: Sequence[int], chances: Sequence[float], assurance: float) -> int | None:
    """The fewest rounds with that chance, between two looks by a straight line in the rounds' logarithm.

    From the last look at which the chance was smaller: chances are simulated, and a high one early on may be chance.
    """
    if chances[-1] < assurance:
        return None
    below = [index for index, chance in enumerate(chances) if chance < assurance]
    if not below:
        return rounds[0]
    left, right = below[-1], below[-1] + 1
    share = (assurance - chances[left]) / (chances[right] - chances[left])
    between = float(rounds[left] * (rounds[right] / rounds[left]) ** share)
    return math.ceil(between - 1e-9)


SIMULATED = 200  # runs behind each curve: a chance of 80% is then known to 2.8 points (one standard error)
_FEW_INSTANCES = 12
_ALIKE = 0.2  # lengths that differ by less, in their logarithm, are the same length
_TAILS = np.array([0.025, 0.975])
_MOST_VARIANCE = 1.0
"""Of a trial's log cost, in a simulated run. Two blocks leave any possible; with so much, nothing is decided anyway."""


@dataclass(frozen=True, slots=True)
class PlanQuery:
    effects: tuple[float, ...] = ()
    tolerances: tuple[float, ...] = ()  # limits to tell them against, shares; empty for a list of usual ones
    assurance: float = 0.8
    max_seconds: float | None = None  # the longest run that is possible; None for no limit
    is_budget: bool = False  # the tolerance is a gate's budget
    simulated: int = SIMULATED  # runs behind each curve


@dataclass(frozen=True, slots=True)
class _Known:
    chosen: tuple[StratumNoise, ...]
    curve: LengthCurve
    instance_effect: RoundsFit
    times: TimeCosts


def prospect(
    runs: Sequence[MeasuredRun],
    planned: PlannedRun,
    asked: PlanQuery,
    metric: Metric,
    *,
    pilot_seconds: float | None = None,
    cautions: Sequence[Caution] = (),
) -> Prospect:
    """Say how long one must measure.

    `pilot_seconds`: what the pilot took; None where stored runs are read. Raises `UsageError`: the runs hold nothing to
    learn from, or not a single round fits the time.
    """
    strata = extract_noise(runs, metric)
    # The length nearest to the plan's that was really run, where operations are too slow for the length asked for.
    nearest = min(strata, key=lambda s: abs(np.log(s.trial_seconds / planned.trial_seconds)))
    planned = replace(planned, trial_seconds=nearest.trial_seconds)
    known = _known(strata, planned)
    instance_variance = float(known.instance_effect.instance_sd_weights @ known.instance_effect.instance_sd_grid**2)
    wanted = tuple(primary_of(asked.effects, asked.tolerances))
    advice = advise(planned, known.curve, instance_variance, known.times, wanted_variance(wanted, asked.assurance))
    seconds = planned.trial_seconds if advice.trial_gain == 1.0 else advice.trial_seconds or planned.trial_seconds
    layout = planned.layout(known.times, seconds, advice.blocks_per_round)
    rounds = rounds_to_look_at(layout, asked.max_seconds)
    if asked.max_seconds is not None and not rounds:
        raise UsageError(Refusal.of("no-time-for-a-round", least=layout.seconds(1), found=asked.max_seconds))
    draws = _draws(known, layout.trial_seconds, asked.simulated)
    # Of several treatments' B/B twins a round has one, of which each sees too little to count.
    twins = planned.block_conditions - planned.conditions if planned.judged == 1 else 0
    design = RoundsDesign(layout.conditions, layout.plain, layout.blocks_per_round, twins)
    prediction = predict(draws, design, rounds)
    targets = targets_of(
        asked.effects, asked.tolerances, prediction, layout, asked.assurance, is_budget=asked.is_budget
    )
    primary = tuple(target for target in targets if (target.effect, target.tolerance) in wanted)
    return Prospect(
        engine=runs[0].settings.engine,
        workload=runs[0].settings.workload,
        metric=metric,
        run_ids=tuple(run.settings.run_id for run in runs),
        pilot_seconds=pilot_seconds,
        assurance=asked.assurance,
        max_seconds=asked.max_seconds,
        grounds=Grounds(tuple(_lengths(strata, known)), _instance_effect(known), _carry_over(strata), known.times),
        layout=layout,
        advice=advice,
        widths=tuple(_widths(prediction, draws, layout)),
        targets=targets,
        primary_targets=primary,
        advised_rounds=max((target.rounds for target in primary if target.rounds is not None), default=None),
        simulated=asked.simulated,
        cautions=(*cautions, *_cautions(strata, known, planned, rounds)),
    )


def _known(strata: Sequence[StratumNoise], planned: PlannedRun) -> _Known:
    """Instance effects from all strata, noise from the noisiest (by its trials of the length nearest to the plan)."""
    nearest = planned.trial_seconds
    candidates = [s for s in strata if abs(np.log(s.trial_seconds / nearest)) < _ALIKE]
    noisiest = max(candidates, key=lambda s: s.means.pooled_variance)
    chosen = tuple(s for s in strata if s.where == noisiest.where)
    curve = fit_curve(
        np.array([s.trial_seconds for s in chosen]),
        np.array([max(s.means.pooled_variance, 1e-12) for s in chosen]),
        np.array([s.means.pooled_df for s in chosen]),
    )
    times = time_costs(strata, planned.block_conditions)
    return _Known(chosen, curve, instance_effects(strata), times)


def _draws(known: _Known, trial_seconds: float, count: int) -> Draws:
    """Stratified draws of noise and instance effects, independent, as they nearly are in their posterior."""
    rng = stream(SEED, "draws")
    variance = np.minimum(known.curve.draws(trial_seconds, count, rng), _MOST_VARIANCE)
    quantiles = rng.permutation((np.arange(count) + 0.5) / count)
    instance_effect = known.instance_effect.instance_sd_quantiles(quantiles)
    return Draws(variance, instance_effect, df_share(known.chosen), _odd_share(known.chosen))


def _odd_share(strata: Sequence[StratumNoise]) -> float:
    """The share of trials that were events, above or below: with one of them a run needs the 99% HDI to decide."""
    groups = [(s.means, s.fitted.thetas(*LIKE_THE_BASELINE)) for s in strata]
    found = [events_of(means, thetas, int(theta)) for means, thetas in groups for theta in np.unique(thetas)]
    return sum(len(one.above) + len(one.below) for one in found) / sum(one.trials for one in found)


def _carry_over(strata: Sequence[StratumNoise]) -> CarryOver:
    return carry_over([s.means for s in strata], [c for s in strata for c in s.run.settings.conditions])


def _lengths(strata: Sequence[StratumNoise], known: _Known) -> Iterator[NoiseAtLength]:
    seconds = np.array([s.trial_seconds for s in known.chosen])
    least = float(time_for_same(known.curve, known.times, seconds).min())
    for one in strata:
        means, blocks = one.means, len(one.fitted.costs)
        ends = np.sqrt(means.pooled_df * means.pooled_variance / chi_square_quantile(_TAILS, means.pooled_df))
        here = float(time_for_same(known.curve, known.times, np.array([one.trial_seconds]))[0])
        yield NoiseAtLength(
            run_id=one.run.settings.run_id,
            where=one.where,
            trial_seconds=one.trial_seconds,
            slot_seconds=run_times(one.run).slot_seconds,
            rounds=len(means.blocks),
            blocks=blocks,
            cost=one.fitted.baseline_value,
            sd=float(np.sqrt(means.pooled_variance)),
            sd95=(float(ends[1]), float(ends[0])),
            time_for_same=here / least if least > 0 else 1.0,
            scales=_scales(one),
        )


def _scales(one: StratumNoise) -> tuple[ScaleNoise, ...]:
    return allan(np.log(one.fitted.own_costs), one.fitted.panel.rounds[one.fitted.blocks])


def _instance_effect(known: _Known) -> InstanceEffect:
    low, high = known.instance_effect.instance_sd_quantiles(_TAILS).tolist()
    return InstanceEffect(known.instance_effect.instance_sd, (low, high), count_instances(known.chosen))


def _widths(prediction: Prediction, draws: Draws, layout: Layout) -> Iterator[Width]:
    of_instances = draws.instance_effect**2
    share = float(np.mean(of_instances / (of_instances + draws.variance / layout.blocks_per_round)))
    for rounds, widths in zip(prediction.rounds, prediction.widths.T, strict=True):
        low, middle, high = np.quantile(widths, [0.1, 0.5, 0.9]).tolist()
        yield Width(rounds, layout.seconds(rounds), middle, (low, high), share)


def _cautions(
    strata: Sequence[StratumNoise], known: _Known, planned: PlannedRun, rounds: Sequence[int]
) -> Iterator[Caution]:
    if not any(c.role is Role.TREATMENT for s in strata for c in s.run.settings.conditions):
        yield Caution.of("only-plain-measured")
    if planned.judged > 1:
        yield Caution.of("chances-of-each", conditions=planned.judged)
    if len({s.where for s in strata}) > 1:
        yield Caution.of("noisiest-planned", conditions=known.chosen[0].where)
    if count_instances(strata) < _FEW_INSTANCES:
        yield Caution.of("few-instances", instances=count_instances(strata))
    slow = [scale for one in known.chosen for scale in _scales(one)[1:] if scale.excess95[0] > 1.0]
    if slow:
        worst = max(slow, key=lambda scale: scale.excess)
        yield Caution.of("slow-noise", blocks=worst.trials, excess=worst.excess)
    if rounds[-1] < ENOUGH_ROUNDS:
        yield Caution.of("time-holds-few-rounds", rounds=rounds[-1], fewest=ENOUGH_ROUNDS)
    busy = others_cpu_share(trial for one in strata for trial in one.run.trials)
    if busy > BUSY:
        yield Caution.of("others-used-cpu", share=busy)

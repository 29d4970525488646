"""The accuracy of an instrument, its noise and what it can show, from runs of twins whose truth is known."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tdelta.inference.decisions import interval_words, width
from tdelta.inference.instrument.measured import (
    PlannedRun,
    StratumNoise,
    count_instances,
    df_share,
    instance_effects,
    time_costs,
)
from tdelta.inference.instrument.simulation import Draws, RoundsDesign, predict
from tdelta.inference.noise import SMALLEST_SD
from tdelta.inference.quantiles import clopper_pearson, t_reach
from tdelta.inference.rounds import RoundsFit
from tdelta.messages import Caution, Reason
from tdelta.messages.checks import AA_CHECK
from tdelta.records import (
    ALL,
    Counted,
    Decision,
    DetectableEffect,
    IdenticalTally,
    InjectedTally,
    InstanceEffectPrior,
    Metric,
    MetricNoise,
    Role,
    RunResult,
    Verdict,
)
from tdelta.records.instrument import Layout

# The instrument, by a series of runs with a known truth: false calls, coverage, bias, and how sure that is.
#
# A calibration has a dozen runs, so every share comes with its exact interval. Whether the instrument is called a liar
# (`faults`) rests on intervals, never on a bare count: so few runs cannot show a rate of 5%, but they do show 40%.

NOMINAL_MISSES = 0.05  # what an interval of 95% may miss
FEW_RUNS = 10
_FALSE = (Decision.SLOWER, Decision.FASTER, Decision.INVALID)
_STRICT = 0.99


def counted(hits: Iterable[bool]) -> Counted:
    found = list(hits)
    return Counted(sum(found), len(found), *clopper_pearson(sum(found), len(found)))


def mean_interval(values: Sequence[float], mass: float = 0.95) -> tuple[float, float] | None:
    if len(values) < 2:
        return None
    half = t_reach(len(values) - 1, mass) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    centre = float(np.mean(values))
    return centre - half, centre + half


def trustworthy(results: Sequence[RunResult]) -> tuple[RunResult, ...]:
    """The runs whose checks held, the A/A check apart: that one is what is counted."""
    return tuple(r for r in results if not _failed(r) and any(v.baseline_value for v in r.primary))


def identical_tally(results: Sequence[RunResult]) -> IdenticalTally:
    verdicts = [v for r in results for v in r.primary if v.condition.role is Role.IDENTICAL]
    logs = [math.log(v.ratio.median) for v in verdicts]
    return IdenticalTally(
        false_calls=counted(v.decision in _FALSE for v in verdicts),
        held=counted(_holds(v, 1.0) for v in verdicts),
        apart=math.sqrt(math.fsum(log**2 for log in logs) / len(logs)) if logs else 0.0,
    )


def injected_tallies(results: Sequence[RunResult], *, is_truth: bool) -> tuple[InjectedTally, ...]:
    """Every injected cost, in response time and in CPU time.

    `is_truth`: whether what was actual is the truth of response time: only while no thread waits for another.
    """
    found: dict[tuple[float, Metric], list[Verdict]] = {}
    for verdict in (v for r in results for v in r.verdicts if v.transaction == ALL and v.actual is not None):
        if (
            verdict.metric in (Metric.RESPONSE_TIME, Metric.CPU_PER_OPERATION)
            and verdict.condition.role is Role.INJECTED
        ):
            found.setdefault((verdict.condition.injected or 0.0, verdict.metric), []).append(verdict)
    ordered = sorted(found.items(), key=lambda item: (list(Metric).index(item[0][1]), item[0][0]))
    return tuple(
        _injected(injected, metric, verdicts, is_truth=is_truth or metric is Metric.CPU_PER_OPERATION)
        for (injected, metric), verdicts in ordered
    )


def faults(
    results: Sequence[RunResult],  # all runs, those that cannot be trusted among them
    identical: IdenticalTally,
    injected: Iterable[InjectedTally],
    tolerance: float,  # the overhead not cared about: a bias is a fault where it is surely larger
) -> Iterator[Reason]:
    """Why the instrument is not to be believed here; nothing where nothing shows that."""
    broken: dict[str, list[str]] = {}
    for result in results:
        for check, detail in _failed(result):
            broken.setdefault(check, []).append(detail)
    for check, details in broken.items():
        yield Reason.of("check-failed-in-runs", failed=len(details), runs=len(results), check=check, detail=details[0])
    false = identical.false_calls
    if false.of and false.low > NOMINAL_MISSES:
        yield Reason.of(
            "false-calls", count=false.count, of=false.of, interval=f"{100 * false.low:.0f}% to {100 * false.high:.0f}%"
        )
    if _misses(identical.held):
        yield Reason.of("zero-not-held", held=identical.held.count, of=identical.held.of)
    for tally in (it for it in injected if it.is_truth):
        if _misses(tally.held):
            yield Reason.of("cost-not-held", held=tally.held.count, of=tally.held.of).at(_name(tally))
        low, high = tally.bias_interval or (-math.inf, math.inf)
        if low > tolerance or high < -tolerance:
            interval = interval_words((1.0 + low, 1.0 + high))
            beyond = Reason.of("bias-beyond-tolerance", bias=100 * tally.bias, interval=interval, tolerance=tolerance)
            yield beyond.at(_name(tally))


def tally_cautions(runs: int, injected: Iterable[InjectedTally]) -> Iterator[Caution]:
    if runs < FEW_RUNS:
        false = clopper_pearson(0, runs)[1]
        yield Caution.of("few-calibration-runs", runs=runs, false=false)
    for tally in injected:
        low, high = tally.bias_interval or (0.0, 0.0)
        if tally.is_truth and not low <= 0.0 <= high:
            interval = interval_words((1.0 + low, 1.0 + high))
            yield Caution.of("bias", points=100 * tally.bias, interval=interval).at(_name(tally))
        if not tally.is_truth:
            yield Caution.of("injected-is-no-truth").at(_name(tally))


def _injected(injected: float, metric: Metric, verdicts: Sequence[Verdict], *, is_truth: bool) -> InjectedTally:
    known = [(v, v.actual) for v in verdicts if v.actual is not None]
    errors = [v.ratio.median - actual for v, actual in known]
    return InjectedTally(
        injected=injected,
        metric=metric.value,
        is_truth=is_truth,
        actual=float(np.mean([actual for _, actual in known])),
        bias=float(np.mean(errors)),
        bias_interval=mean_interval(errors),
        held=counted(_holds(v, actual) for v, actual in known),
        found=counted(v.ratio.hdi95[0] > 1.0 for v, _ in known),
        width=float(np.median([width(v.ratio) for v, _ in known])),
    )


def _failed(result: RunResult) -> list[tuple[str, str]]:
    return [(v.check, v.detail) for v in result.validity if v.is_invalid and v.code != AA_CHECK]


def _holds(verdict: Verdict, truth: float) -> bool:
    low, high = verdict.ratio.hdi95
    return low <= truth <= high


def _misses(held: Counted) -> bool:
    """Whether coverage is surely below the nominal one: by the 99% interval, since several are looked at."""
    return held.of > 0 and clopper_pearson(held.count, held.of, _STRICT)[1] < 1.0 - NOMINAL_MISSES


def _name(tally: InjectedTally) -> str:
    what = "response time" if tally.metric == Metric.RESPONSE_TIME.value else "CPU per operation"
    return f"injected {100 * tally.injected:g}%, {what}"


# The smallest overhead that a run of a given length can show on this instrument.
#
# Instance effects are drawn from what calibration knows of them, so the share of simulated runs that show an
# overhead is an assurance, not a power at one guess.
#
# One series at an overhead of 0 serves every overhead and every limit: but for the wide prior of theta, the
# posterior of a log ratio moves with the truth and keeps its shape. The interval then lies above a limit as
# often as the distance from truth to limit exceeds that from truth to the interval's lower end (the *reach*).

ASSURANCE = 0.9
"""How often an overhead that is called detectable is found. At 0.8 fewer than 8 of 10 runs would find it one time in
three (binomial); at 0.9 one time in fourteen."""

MINUTES = (5.0, 20.0, 60.0)
MOST_ROUNDS = 400
"""Rounds beyond which nothing is simulated: by then the instance effect is known as well as it need be."""

_EXPERIMENTS = 300


@dataclass(frozen=True, slots=True)
class InstrumentNoise:
    """The noise and the instance effects of all runs of a calibration together."""

    metric: Metric
    trial_sd: float  # of the log cost of one trial, as it counts for a mean
    df_share: float  # degrees of freedom behind it over those of normal noise, at most 1
    effects: RoundsFit
    instances: int  # how many twins the instance effect was estimated from

    @property
    def prior(self) -> InstanceEffectPrior:
        return self.effects.later_prior

    def record(self) -> MetricNoise:
        low, middle, high = self.effects.instance_sd_quantiles(np.array([0.025, 0.5, 0.975])).tolist()
        pair_sd = math.sqrt(2.0) * self.trial_sd
        return MetricNoise(self.metric.value, self.trial_sd, pair_sd, middle, (low, high), self.instances, self.prior)


def pooled_noise(strata: Sequence[StratumNoise], metric: Metric) -> InstrumentNoise:
    df = math.fsum(s.means.pooled_df for s in strata)
    variance = math.fsum(s.means.pooled_df * s.means.pooled_variance for s in strata) / df if df else 0.0
    return InstrumentNoise(
        metric, math.sqrt(variance), df_share(strata), instance_effects(strata), count_instances(strata)
    )


def usual_layout(strata: Sequence[StratumNoise], blocks_per_round: int) -> Layout:
    """A usual run here: a baseline, its A/A twin and one condition."""
    seconds = statistics.median(s.trial_seconds for s in strata)
    usual = PlannedRun(3, 3, plain=2, judged=1, trial_seconds=seconds, blocks_per_round=blocks_per_round)
    return usual.layout(time_costs(strata, usual.block_conditions), seconds, blocks_per_round)


def detectable_effects(noise: InstrumentNoise, layout: Layout) -> tuple[DetectableEffect, ...]:
    """Effects that runs of 5, 20 and 60 minutes detect, if they use their time and do not end at a precision before."""
    of_minutes = {minutes: min(MOST_ROUNDS, layout.rounds_within(60.0 * minutes)) for minutes in MINUTES}
    return tuple(
        DetectableEffect(
            minutes, rounds, critical_log_ratio(noise, rounds, layout.blocks_per_round) if rounds else None
        )
        for minutes, rounds in of_minutes.items()
    )


def critical_log_ratio(noise: InstrumentNoise, rounds: int, blocks: int) -> float:
    """By how much a log ratio must exceed a limit to be called slower, nine times in ten, where no trial is odd.

    The run is a usual one, and begins with the calibration's prior.
    """
    known = Draws(
        variance=np.full(_EXPERIMENTS, max(noise.trial_sd, SMALLEST_SD) ** 2),
        instance_effect=noise.effects.instance_sd_quantiles((np.arange(_EXPERIMENTS) + 0.5) / _EXPERIMENTS),
        df_share=noise.df_share,
    )
    simulated = predict(known, RoundsDesign(conditions=3, plain=2, blocks=blocks), [rounds], prior=noise.prior)
    return float(np.quantile(-np.log(simulated.decisive[:, 0, 0]), ASSURANCE))

"""The noise and the instance effects of an instrument, from many runs of identical twins together.

The model is the verdicts' own: every run is a stratum with its own noise, and all share one tau_i, so `fit_rounds` is
the answer. Plain twins of every role stand at theta = 0; injected ones have a free theta and speak through their
scatter between rounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tdelta.inference.assurance import Draws, RoundsDesign, predict
from tdelta.inference.costs import panels
from tdelta.inference.fits import Fitted, fit_metrics
from tdelta.inference.instance_effect import instance_effect_prior, instance_sd_quantile, instance_sd_quantiles
from tdelta.inference.noise import SMALLEST_SD
from tdelta.inference.posterior import FloatArray
from tdelta.inference.rounds import fit_rounds
from tdelta.records import DetectableEffect, InstanceEffectPrior, Metric, MetricNoise, Pace, Role, RunSettings, Trial

# The smallest overhead that a run of a given length can show on this instrument, by
# `tdelta.inference.assurance`.
#
# Instance effects are drawn from what calibration knows of it, so the share of simulated runs that show an
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


def critical_log_ratio(noise: InstrumentNoise, prior: InstanceEffectPrior | None, *, rounds: int, blocks: int) -> float:
    """By how much a log ratio must exceed a limit to be called slower, nine times in ten, where no trial is odd.

    The run is a usual one: a baseline, its A/A twin, one condition.

    Args:
        noise: the instrument's.
        prior: of the run's instance effects; None without a calibration.
        rounds: of the run, at least 1.
        blocks: in each round.
    """
    known = Draws(
        variance=np.full(_EXPERIMENTS, max(noise.trial_sd, SMALLEST_SD) ** 2),
        instance_effect=instance_sd_quantiles(
            noise.instance_sd_grid, noise.instance_sd_weights, (np.arange(_EXPERIMENTS) + 0.5) / _EXPERIMENTS
        ),
        df_share=noise.df_share,
    )
    simulated = predict(known, RoundsDesign(conditions=3, plain=2, blocks=blocks), [rounds], prior=prior)
    return float(np.quantile(-np.log(simulated.decisive[:, 0, 0]), ASSURANCE))


def detectable_effects(
    noise: InstrumentNoise, prior: InstanceEffectPrior | None, pace: Pace, *, blocks: int
) -> tuple[DetectableEffect, ...]:
    """What runs of 5, 20 and 60 minutes can show, if they use their time and do not end at a precision before."""
    return tuple(_detectable(noise, prior, pace, minutes, blocks) for minutes in MINUTES)


def rounds_in(pace: Pace, minutes: float) -> int:
    """How many rounds a run of that length holds."""
    left = 60.0 * minutes - pace.set_up_seconds
    return max(0, min(MOST_ROUNDS, int(left / pace.round_seconds)))


def _detectable(
    noise: InstrumentNoise, prior: InstanceEffectPrior | None, pace: Pace, minutes: float, blocks: int
) -> DetectableEffect:
    rounds = rounds_in(pace, minutes)
    return DetectableEffect(
        minutes, rounds, critical_log_ratio(noise, prior, rounds=rounds, blocks=blocks) if rounds else None
    )


_PLAIN = (Role.BASELINE, Role.AA, Role.IDENTICAL)


@dataclass(frozen=True, slots=True)
class InstrumentNoise:
    """The noise and instance effects of one metric.

    Attributes:
        metric: which one.
        trial_sd: of the log cost of one trial, as it counts for a mean.
        df_share: degrees of freedom behind it over those of normal noise, at most 1.
        instance_sd_grid: shape (T,), standard deviations of a log cost.
        instance_sd_weights: shape (T,), their posterior weights.
        instances: how many twins the instance effect was estimated from.
    """

    metric: Metric
    trial_sd: float
    df_share: float
    instance_sd_grid: FloatArray
    instance_sd_weights: FloatArray
    instances: int

    @property
    def prior(self) -> InstanceEffectPrior:
        """What later runs begin with."""
        return instance_effect_prior(self.instance_sd_grid, self.instance_sd_weights)

    def record(self) -> MetricNoise:
        """The figures that are told."""
        low, middle, high = (
            instance_sd_quantile(self.instance_sd_grid, self.instance_sd_weights, p) for p in (0.025, 0.5, 0.975)
        )
        pair_sd = math.sqrt(2.0) * self.trial_sd
        return MetricNoise(self.metric.value, self.trial_sd, pair_sd, middle, (low, high), self.instances, self.prior)


def pooled_noise(runs: Iterable[tuple[Sequence[Trial], RunSettings]], metric: Metric) -> InstrumentNoise | None:
    """Pool the noise and instance effects of runs, each with its trials and settings; None without a ratio.

    Raises:
        TdeltaError: if a stratum has not exactly one baseline.
    """
    strata: list[Fitted] = []
    for trials, settings in runs:
        fit = fit_metrics(panels(trials, settings), (metric,))[metric]
        strata += (fitted for fitted, _ in fit.parts)
    if not strata:
        return None
    instance_effect = fit_rounds([f.means for f in strata], [f.thetas(*_PLAIN) for f in strata])
    df = math.fsum(f.means.pooled_df for f in strata)
    nominal = sum(f.means.nominal_df for f in strata)
    variance = math.fsum(f.means.pooled_df * f.means.pooled_variance for f in strata) / df if df else 0.0
    return InstrumentNoise(
        metric=metric,
        trial_sd=math.sqrt(variance),
        df_share=df / nominal if nominal else 1.0,
        instance_sd_grid=instance_effect.instance_sd_grid,
        instance_sd_weights=instance_effect.instance_sd_weights,
        instances=sum(f.means.means.size for f in strata),
    )

"""The noise and the instance effects of an instrument, from many runs of identical twins together.

The model is the verdicts' own: every run is a stratum with its own noise, and all share one tau_i, so `fit_rounds` is
the answer. Plain twins of every role stand at theta = 0; planted ones have a free theta and speak through their
scatter between rounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tdelta.inference.costs import panels
from tdelta.inference.fits import Fitted, fit_metrics
from tdelta.inference.instance_effect import instance_effect_prior, instance_sd_quantile
from tdelta.inference.posterior import FloatArray
from tdelta.inference.rounds import fit_rounds
from tdelta.records import InstanceEffectPrior, Metric, MetricNoise, Role, RunSettings, Trial

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

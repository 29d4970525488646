"""What is known of instance effects before a run: nearly nothing, or what a calibration of this machine found.

An instance's *effect* (layout, start-up) is what it differs by from others like it. Without a
calibration its standard deviation has a half-Cauchy prior with a scale of 1%: most machines show less, and its heavy
tail lets a single odd instance be seen as what it is.

A calibration's posterior becomes the next run's prior, with two reservations. InstanceEffect may have changed since, so
its log sd is widened by `BETWEEN_SITTINGS`. And it may have changed out of all knowledge (other neighbours, another
disk), so a share of the prior stays as vague as without a calibration: a robust mixture (Schmidli et al. 2014,
Biometrics 70:1023), which the data of a run can turn to. Neither figure is estimated; what they do to coverage is
simulated in ``tests/calibration/test_instance_effect_prior.py``.
"""

from __future__ import annotations

import math

import numpy as np

from tdelta.inference.posterior import FloatArray
from tdelta.records import InstanceEffectPrior

BETWEEN_SITTINGS = 0.3
"""How much instance effects may differ between a calibration and a run, as a standard deviation of its logarithm."""

VAGUE_SHARE = 0.2
"""The share of a calibrated prior that is as vague as without a calibration."""

INSTANCE_SD_SCALE = 0.01
"""tau ~ HalfCauchy(1%), where no calibration of this machine says more."""

_FEW_ROUNDS = {1: 3.0, 2: 1.5}
"""Times the scale: one or two rounds hardly measure instance effects, and 3 to 5% are met on real machines."""

_HALF_CAUCHY = math.log(2.0 / math.pi)
_NORMAL = -0.5 * math.log(2.0 * math.pi)


def scale_for(rounds: int) -> float:
    """The scale of the half-Cauchy for a run of so many rounds, a share."""
    return INSTANCE_SD_SCALE * _FEW_ROUNDS.get(rounds, 1.0)


def log_instance_sd_density(
    tau: FloatArray, scale: float, instance_effect: InstanceEffectPrior | None = None
) -> FloatArray:
    """Log prior density of log tau_i, up to a constant that does not depend on tau_i.

    Args:
        tau: standard deviations of a log cost, all positive.
        scale: scale of the half-Cauchy that holds without a calibration, a share.
        instance_effect: what a calibration found.
    """
    log_tau = np.log(tau)
    vague = np.asarray(log_tau - np.log1p((tau / scale) ** 2), dtype=np.float64)
    if instance_effect is None:
        return vague
    vague = vague + _HALF_CAUCHY - math.log(scale)
    z = (log_tau - math.log(instance_effect.median)) / instance_effect.log_sd
    known = _NORMAL - math.log(instance_effect.log_sd) - 0.5 * z**2
    if instance_effect.vague_share <= 0.0:
        return np.asarray(known, dtype=np.float64)
    mixed = np.logaddexp(
        math.log1p(-instance_effect.vague_share) + known, math.log(instance_effect.vague_share) + vague
    )
    return np.asarray(mixed, dtype=np.float64)


def instance_effect_prior(tau: FloatArray, weights: FloatArray) -> InstanceEffectPrior:
    """The prior of later runs from a calibration's posterior of tau_i: lognormal by its moments, with reservations.

    Args:
        tau: shape (T,), standard deviations of a log cost.
        weights: shape (T,), their posterior weights, summing to 1.
    """
    log_tau = np.log(tau)
    mean = float(weights @ log_tau)
    variance = float(weights @ (log_tau - mean) ** 2)
    return InstanceEffectPrior(math.exp(mean), math.sqrt(variance + BETWEEN_SITTINGS**2), VAGUE_SHARE)


def instance_sd_quantile(tau: FloatArray, weights: FloatArray, probability: float) -> float:
    """A quantile of tau_i's posterior on its grid."""
    return float(instance_sd_quantiles(tau, weights, np.array([probability]))[0])


def instance_sd_quantiles(tau: FloatArray, weights: FloatArray, probabilities: FloatArray) -> FloatArray:
    """Quantiles of tau_i's posterior on its grid, shaped as the probabilities."""
    cumulative = np.cumsum(weights) - 0.5 * weights
    return np.asarray(np.exp(np.interp(probabilities, cumulative, np.log(tau))), dtype=np.float64)

"""Stage 2: from instances to conditions, over a grid of instance luck and noise.

``m_(round, condition) = a_round + theta_condition + u_(round, condition) + noise``, ``u ~ N(0, tau_i)``. The baseline
and its A/A twin both have theta = 0, so both together are the baseline, and what they differ by speaks of tau_i, as the
scatter between rounds does. Given (tau_i, sigma) all is Gaussian and closed; designs are balanced within a round, so no
matrix needs solving. Strata have a sigma each and share tau_i.

theta is integrated flat here; its prior comes in afterwards (`posterior.posterior`), for each condition on its own.
That leaves out the pull of the *other* conditions' priors through the shared baseline: variance over 0.5^2 of their
thetas, which is under a thousandth of the interval's width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tdelta.inference.luck import log_luck_density, luck_quantile
from tdelta.inference.noise import SMALLEST_SD, InstanceMeans
from tdelta.inference.posterior import FloatArray, Mixture, mixture
from tdelta.records import LuckPrior

LUCK_SCALE = 0.014
"""tau_i ~ HalfNormal(1.4 %), where no calibration of this machine says more (`tdelta.inference.luck`)."""

_NOISE_LOG_MEAN, _NOISE_LOG_SD = float(np.log(0.03)), 1.5
_TAU_POINTS = 48
_SIGMA_POINTS = 21
_SIGMA_REACH_SDS = 4.0
_COARSE = np.linspace(float(np.log(SMALLEST_SD)), 2.0, 1500)


@dataclass(frozen=True, slots=True)
class Contrasts:
    """One stratum's posterior over the grid of (tau_i, sigma), with flat thetas, for J conditions beside the baseline.

    Attributes:
        weights: shape (T, S), sums to 1.
        theta: shape (T, S, J), log ratios over the baseline.
        variance: shape (T, S), of an instance's mean over all rounds; the variance of a theta is this times
            ``1 + 1/plain``, the covariance of two this over ``plain``.
        noise_variance: the part of ``variance`` that more blocks would lessen, averaged over the grid.
        plain: how many plain twins make the baseline.
    """

    weights: FloatArray
    theta: FloatArray
    variance: FloatArray
    noise_variance: float
    plain: int

    def mixture(self, condition: int) -> Mixture:
        """What the data say of one condition's log ratio; ``condition`` counts those beside the baseline, from 0."""
        variances = self.variance * (1.0 + 1.0 / self.plain)
        return mixture(self.weights.ravel(), self.theta[..., condition].ravel(), variances.ravel())

    def between(self, condition: int, versus: int) -> Mixture:
        """What the data say of one condition's log ratio over another's.

        The covariance through the shared baseline cancels: ``2 (1 + 1/plain) - 2/plain`` times the variance is twice
        it.
        """
        theta = self.theta[..., condition] - self.theta[..., versus]
        return mixture(self.weights.ravel(), theta.ravel(), 2.0 * self.variance.ravel())


@dataclass(frozen=True, slots=True)
class RoundsFit:
    """The answer for one cost: the strata's contrasts, and the luck they share.

    Attributes:
        strata: one for each stratum, in the order given.
        luck_grid: shape (T,), standard deviations of a log cost.
        luck_weights: shape (T,), sums to 1.
    """

    strata: tuple[Contrasts, ...]
    luck_grid: FloatArray
    luck_weights: FloatArray

    @property
    def luck_median(self) -> float:
        """Posterior median of an instance's luck, as a share of the cost."""
        return luck_quantile(self.luck_grid, self.luck_weights, 0.5)


@dataclass(frozen=True, slots=True)
class _Grid:
    """One stratum over (tau_i, sigma), before tau_i's prior and the other strata."""

    log_likelihood: FloatArray
    theta: FloatArray
    variance: FloatArray
    noise_variance: FloatArray


def fit_rounds(
    strata: Sequence[InstanceMeans],
    plain: Sequence[NDArray[np.bool_]],
    luck_scale: float = LUCK_SCALE,
    luck: LuckPrior | None = None,
) -> RoundsFit:
    """Fit one cost over all strata.

    Args:
        strata: stage 1's answer for each stratum.
        plain: for each stratum, shape (K,): which conditions are plain twins (at least one).
        luck_scale: scale of tau_i's half-normal prior, a share.
        luck: what a calibration of this machine found of tau_i; None: the half-normal alone.
    """
    tau = luck_scale * np.geomspace(0.007, 10.0, _TAU_POINTS)
    log_prior = log_luck_density(tau, luck_scale, luck)
    grids = [_stratum_grid(means, which, tau) for means, which in zip(strata, plain, strict=True)]
    marginals = [_log_sum(grid.log_likelihood) for grid in grids]
    shared = log_prior + np.sum(marginals, axis=0)
    contrasts = tuple(
        _contrasts(grid, shared - marginal, int(which.sum()))
        for grid, marginal, which in zip(grids, marginals, plain, strict=True)
    )
    return RoundsFit(contrasts, tau, _normalised(shared))


def _log_sum(log_values: FloatArray) -> FloatArray:
    top = log_values.max()
    return np.asarray(top + np.log(np.exp(log_values - top).sum(axis=1) + 1e-300), dtype=np.float64)


def _normalised(log_weights: FloatArray) -> FloatArray:
    weights = np.exp(log_weights - log_weights.max())
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _contrasts(grid: _Grid, log_elsewhere: FloatArray, plain: int) -> Contrasts:
    weights = _normalised(grid.log_likelihood + log_elsewhere[:, None])
    noise = float((weights * grid.noise_variance).sum())
    return Contrasts(weights, grid.theta, grid.variance, noise, plain)


def _log_noise_density(log_sigma: FloatArray, means: InstanceMeans) -> FloatArray:
    """Log density of log sigma: its prior N(log 0.03, 1.5^2), times the scaled chi-square of the scatter in blocks.

    "Sigma" here is the root of `InstanceMeans.variance`, the t's scale times ``sqrt((nu + 3) / (nu + 1))``, and that is
    what the prior acts on: up to 22 % (nu = 3) more than the t's own scale, beside a prior of a factor of 4.5.
    """
    prior = -0.5 * ((log_sigma - _NOISE_LOG_MEAN) / _NOISE_LOG_SD) ** 2
    return prior - means.df * log_sigma - 0.5 * means.df * means.variance * np.exp(-2.0 * log_sigma)


def _sigma_grid(means: InstanceMeans) -> FloatArray:
    """Log sigma, shape (S,): the bulk of its density given the scatter within rounds."""
    weights = _normalised(_log_noise_density(_COARSE, means))
    centre = float(weights @ _COARSE)
    spread = max(float(np.sqrt(weights @ (_COARSE - centre) ** 2)), 0.01)
    reach = _SIGMA_REACH_SDS * spread
    return np.linspace(max(centre - reach, float(np.log(SMALLEST_SD))), centre + reach, _SIGMA_POINTS)


def _stratum_grid(means: InstanceMeans, plain: NDArray[np.bool_], tau: FloatArray) -> _Grid:
    log_sigma = _sigma_grid(means)
    noise = np.exp(2.0 * log_sigma)
    spread = noise[None, :, None] / means.blocks + tau[:, None, None] ** 2
    precision = 1.0 / spread
    total = precision.sum(axis=-1)
    log_likelihood = _log_noise_density(log_sigma, means) + _log_scatter(means, plain, spread, precision)
    centres = np.einsum("tsr,rk->tsk", precision, means.means) / total[..., None]
    theta = centres[..., ~plain] - centres[..., plain].mean(axis=-1, keepdims=True)
    return _Grid(log_likelihood, theta, 1.0 / total, noise / means.blocks.sum())


def _log_scatter(
    means: InstanceMeans, plain: NDArray[np.bool_], spread: FloatArray, precision: FloatArray
) -> FloatArray:
    """Log likelihood of the instances' scatter about their conditions, the thetas and rounds integrated flat."""
    conditions = len(plain)
    total = precision.sum(axis=-1)
    centres = np.einsum("tsr,rk->tsk", precision, means.means) / total[..., None]
    between = np.einsum("tsr,r->ts", precision, (means.means**2).sum(axis=1)) - total * (centres**2).sum(axis=-1)
    twins = centres[..., plain]
    apart = total * ((twins - twins.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    free = conditions - int(plain.sum())
    determinant = (conditions - 1) * np.log(spread).sum(axis=-1) + free * np.log(total)
    return np.asarray(-0.5 * (determinant + np.maximum(between, 0.0) + apart), dtype=np.float64)

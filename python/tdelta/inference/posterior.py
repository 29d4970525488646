"""The posterior of one log ratio: a mixture of normals, a prior, and the few figures a verdict quotes.

Everything is on a grid and deterministic. The grid is sinh-spaced, so that a narrow peak with wide shoulders (few
blocks, unknown noise) is resolved in both; a grid would be no use for multimodal posteriors, which these are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tdelta.records import Estimate

FloatArray: TypeAlias = NDArray[np.float64]

PRIOR_DF = 3.0
PRIOR_SCALE = 0.5
"""theta ~ t3(0, 0.5): software AES on a scan costs 6.6 x, log 1.89, and must not be pulled in (docs/statistics.md)."""

POINTS = 801  # of a grid
_REACH_SDS = 9.0
_PRIOR_REACH = 20.0
_LOWER_TAILS = 801
_COMPONENTS = 64
_NEGLIGIBLE_WEIGHT = 1e-7
_SHIFTED_POINTS = 400
_LEAST_LEFT = 0.001


def log_prior(theta: FloatArray) -> FloatArray:
    """Log density of the prior t3(0, 0.5) of a log ratio, less its constant."""
    return -0.5 * (PRIOR_DF + 1.0) * np.log1p((theta / PRIOR_SCALE) ** 2 / PRIOR_DF)


@dataclass(frozen=True, slots=True)
class Mixture:
    """A normal mixture for a log ratio, *before* its prior: what the data say."""

    weights: FloatArray  # shape (m,), sums to 1
    means: FloatArray  # shape (m,), log ratios
    sds: FloatArray  # shape (m,), all positive

    def log_density(self, theta: FloatArray) -> FloatArray:
        """Log density at ``theta``, shape (n,); finite however far out, since a truncation may need the far tail."""
        z = (theta[:, None] - self.means) / self.sds
        terms = np.log(self.weights / self.sds) - 0.5 * z**2
        top = terms.max(axis=1)
        return np.asarray(top + np.log(np.exp(terms - top[:, None]).sum(axis=1)), dtype=np.float64)

    @property
    def mean(self) -> float:
        return float(self.weights @ self.means)

    @property
    def variance(self) -> float:
        return float(self.weights @ (self.sds**2 + (self.means - self.mean) ** 2))


def mixture(
    weights: FloatArray,  # shape (n,), not negative; normalised here
    means: FloatArray,  # shape (n,), log ratios
    variances: FloatArray,  # shape (n,), positive
) -> Mixture:
    """A mixture of at most 64 normals with the same first two moments in each bin of log variance.

    The grid of (tau, sigma) has a thousand components that differ mainly in width; merging those of nearly the same
    width keeps the mixture's shape and makes it cheap.
    """
    kept = weights > _NEGLIGIBLE_WEIGHT * weights.max()
    weights, means, variances = weights[kept] / weights[kept].sum(), means[kept], variances[kept]
    logs = np.log(variances)
    low, span = logs.min(), max(float(np.ptp(logs)), 1e-9)
    bins = np.minimum(((logs - low) / span * _COMPONENTS).astype(np.intp), _COMPONENTS - 1)
    weight = np.asarray(np.bincount(bins, weights, _COMPONENTS), dtype=np.float64)
    full = weight > 0
    weight = weight[full]
    mean = np.bincount(bins, weights * means, _COMPONENTS)[full] / weight
    second = np.bincount(bins, weights * (variances + means**2), _COMPONENTS)[full] / weight
    within = np.bincount(bins, weights * variances, _COMPONENTS)[full] / weight
    return Mixture(weight, mean, np.sqrt(np.maximum(second - mean**2, within)))


@dataclass(frozen=True, slots=True)
class Posterior:
    """A posterior of a log ratio on a grid."""

    theta: FloatArray  # shape (n,), increasing log ratios
    cumulative: FloatArray  # shape (n,), from 0 to 1

    def quantile(self, probability: float) -> float:
        return float(np.interp(probability, self.cumulative, self.theta))

    def mass_below(self, theta: float) -> float:
        return float(np.interp(theta, self.theta, self.cumulative, left=0.0, right=1.0))

    def ratio_hdi(self, mass: float) -> tuple[float, float]:
        """The shortest interval of the *ratio* that holds ``mass``; the HDI of a unimodal density."""
        return shortest(lambda below: np.exp(np.interp(below, self.cumulative, self.theta)), mass)

    def estimate(self, tolerance: float) -> Estimate:
        """The figures that are quoted, as quotients; ``tolerance`` is the overhead not cared about (0.02)."""
        below = self.mass_below(float(np.log1p(-tolerance))) if tolerance < 1.0 else 0.0
        above = 1.0 - self.mass_below(float(np.log1p(tolerance)))
        return Estimate(
            median=float(np.exp(self.quantile(0.5))),
            hdi95=self.ratio_hdi(0.95),
            hdi99=self.ratio_hdi(0.99),
            mass_above_tolerance=above,
            mass_in_tolerance=max(0.0, 1.0 - above - below),
            mass_below_tolerance=below,
        )


def shortest(quantile: Callable[[FloatArray], FloatArray], mass: float) -> tuple[float, float]:
    """The shortest interval that holds ``mass``, given what lies below each share of all."""
    tails = np.linspace(0.0, 1.0 - mass, _LOWER_TAILS)
    low, high = quantile(tails), quantile(tails + mass)
    at = int(np.argmin(high - low))
    return float(low[at]), float(high[at])


def integrated(theta: FloatArray, log_density: FloatArray) -> Posterior:
    """A log density on an increasing grid, made a posterior by the trapezoid rule."""
    density = np.exp(log_density - log_density.max())
    steps = 0.5 * (density[1:] + density[:-1]) * np.diff(theta)
    cumulative = np.concatenate([[0.0], np.cumsum(steps)])
    return Posterior(theta, cumulative / cumulative[-1])


def sinh_spaced(centre: float, narrow: float, low: float, high: float, points: int = POINTS) -> FloatArray:
    """From ``low`` to ``high``, finest about ``centre``, where the spacing is a small part of ``narrow``."""
    ends = np.arcsinh((low - centre) / narrow), np.arcsinh((high - centre) / narrow)
    return np.asarray(centre + narrow * np.sinh(np.linspace(*ends, points)), dtype=np.float64)


def _grid(data: Mixture) -> FloatArray:
    reach = _reach(data)
    return sinh_spaced(data.mean, float(data.sds.min()), data.mean - reach, data.mean + reach)


def _reach(data: Mixture) -> float:
    return _REACH_SDS * float(data.sds.max()) + float(np.ptp(data.means))


def as_posterior(mixed: Mixture) -> Posterior:
    theta = _grid(mixed)
    return integrated(theta, mixed.log_density(theta))


def posterior(data: Mixture) -> Posterior:
    theta = _grid(data)
    return integrated(theta, data.log_density(theta) + log_prior(theta))


def shifted(
    found: Posterior,
    points: FloatArray,  # shape (n,), values of the shift, increasing
    weights: FloatArray,  # shape (n,), their probabilities
) -> Posterior:
    """The posterior of a sum of a log ratio and an independent shift."""
    if len(points) == 1:
        return Posterior(found.theta + points[0], found.cumulative)
    middle = float(np.interp(0.5, np.cumsum(weights), points))
    low, high = float(found.theta[0] + points[0]), float(found.theta[-1] + points[-1])
    edges = (found.quantile(0.01) + points, found.quantile(0.5) + points, found.quantile(0.99) + points)
    theta = np.unique(np.concatenate([np.linspace(low, high, _SHIFTED_POINTS), found.theta + middle, *edges]))
    cumulative = np.zeros(len(theta))
    for point, weight in zip(points, weights, strict=True):
        cumulative += weight * np.interp(theta - point, found.theta, found.cumulative, left=0.0, right=1.0)
    return Posterior(theta, cumulative / cumulative[-1])


def truncated_at_no_change(found: Posterior) -> Posterior | None:
    """The posterior given that the log ratio is not below 0; None where nearly nothing of it is not."""
    below = found.mass_below(0.0)
    if below > 1.0 - _LEAST_LEFT:
        return None
    kept = found.theta > 0.0
    theta = np.concatenate([[0.0], found.theta[kept]])
    cumulative = np.concatenate([[below], found.cumulative[kept]])
    return Posterior(theta, np.minimum((cumulative - below) / (1.0 - below), 1.0))


def posterior_without_speedup(data: Mixture) -> Posterior:
    """The same under the prior truncated to theta >= 0: encryption adds work, so it cannot make anything faster."""
    if data.mean > 0.0:
        theta = _grid(data)
        theta = np.concatenate([[0.0], theta[theta > 0.0]])
    else:
        # A normal's tail falls off over sd^2/distance, which is narrower than the sd itself.
        steep = float(np.min(data.sds / (1.0 + np.abs(data.means) / data.sds)))
        theta = sinh_spaced(0.0, steep, 0.0, _reach(data))
    return integrated(theta, data.log_density(theta) + log_prior(theta))


def prior_alone() -> Posterior:
    theta = sinh_spaced(0.0, PRIOR_SCALE, -_PRIOR_REACH, _PRIOR_REACH)
    return integrated(theta, log_prior(theta))

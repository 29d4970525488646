"""Posteriors on grids: of a log mean, of a log ratio, of a difference. No model here, only their arithmetic.

A condition's mean comes as a likelihood over its log (a `LogCurve`, flat prior). Two of them are convolved into the
likelihood of the log ratio, which then meets its prior, and are put on a plane of both log means for the difference,
which is no function of the ratio alone. Grids are sinh-spaced: fine at the peak, reaching far into heavy tails.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tdelta.inference.observed.settings import NormalPrior, NoSpeedup, RatioPrior
from tdelta.inference.posterior import POINTS, FloatArray, Mixture, Posterior, integrated, shortest, sinh_spaced
from tdelta.records import Spread

_PLANE_POINTS, _INNER_POINTS = 201, 141
_EFFECT_NODES, _EFFECT_POINTS = 61, 401
_ONE_SD_TAIL = 0.15865525393145707
_DEEP = 60.0  # how far below its peak, in logs, a curve is known at all: e^-60 of it


@dataclass(frozen=True, slots=True)
class LogCurve:
    """A log density over the log of something: a mean's likelihood, or a ratio's."""

    at: FloatArray  # shape (n,), increasing
    log_density: FloatArray  # shape (n,), less a constant

    def interpolated(self, x: FloatArray) -> FloatArray:
        """The log density anywhere: within the grid linear, beyond it on the slope of its end, never rising."""
        left, right = (
            float(np.diff(self.log_density[part])[0] / np.diff(self.at[part])[0])
            for part in (slice(0, 2), slice(-2, None))
        )
        inside = np.interp(x, self.at, self.log_density)
        below = np.minimum(x - self.at[0], 0.0) * max(left, 0.0)
        above = np.maximum(x - self.at[-1], 0.0) * min(right, 0.0)
        return np.asarray(inside + below + above, dtype=np.float64)

    def posterior(self) -> Posterior:
        return integrated(self.at, self.log_density)

    @property
    def weights(self) -> FloatArray:
        """Shape (n,): the trapezoid rule's, of the normalised density; they sum to 1."""
        density = np.exp(self.log_density - self.log_density.max())
        widths = np.gradient(self.at)
        widths[0], widths[-1] = 0.5 * (self.at[1] - self.at[0]), 0.5 * (self.at[-1] - self.at[-2])
        weights = density * widths
        return np.asarray(weights / weights.sum(), dtype=np.float64)

    @property
    def median(self) -> float:
        """Of the posterior under the flat prior."""
        return self.posterior().quantile(0.5)

    @property
    def sd(self) -> float:
        """Half of the distance between the quantiles that lie two sd apart in a normal: finite in any tail."""
        found = self.posterior()
        return 0.5 * (found.quantile(1.0 - _ONE_SD_TAIL) - found.quantile(_ONE_SD_TAIL))

    @property
    def moments(self) -> tuple[float, float]:
        """Mean and variance, of which the runs' model makes normals."""
        weights = self.weights
        mean = float(weights @ self.at)
        return mean, float(weights @ (self.at - mean) ** 2)


def log_ratio(baseline: LogCurve, condition: LogCurve, *, is_inverse: bool) -> LogCurve:
    """Likelihood of the log ratio of costs: the convolution of two log means.

    `is_inverse`: more is better (throughput), so the cost is the inverse and the ratio is baseline over condition.
    """
    upper, lower = (baseline, condition) if is_inverse else (condition, baseline)
    theta = sinh_spaced(
        upper.median - lower.median,
        float(np.hypot(upper.sd, lower.sd)),
        float(upper.at[0] - lower.at[-1]),
        float(upper.at[-1] - lower.at[0]),
    )
    # Integrate over the narrower of the two, whose nodes are the closer ones; the wider is interpolated.
    if upper.sd >= lower.sd:
        inner = _on_fewer_points(lower, _INNER_POINTS)
        terms = upper.interpolated(theta[:, None] + inner.at) + _log(inner.weights)
    else:
        inner = _on_fewer_points(upper, _INNER_POINTS)
        terms = lower.interpolated(inner.at - theta[:, None]) + _log(inner.weights)
    return LogCurve(theta, _log_sum(terms))


def of_mixture(data: Mixture, points: int = POINTS) -> LogCurve:
    reach = 11.0 * float(data.sds.max()) + float(np.ptp(data.means))
    theta = sinh_spaced(data.mean, float(data.sds.min()), data.mean - reach, data.mean + reach, points)
    return LogCurve(theta, data.log_density(theta))


def widened(
    curve: LogCurve,
    weights: FloatArray,  # shape (k,), of each sd; they sum to 1
    sds: FloatArray,  # shape (k,), of what is added
) -> LogCurve:
    """A log mean or a log ratio to which a normal is added: rounding, or what two runs differ by for no reason."""
    found = curve.posterior()
    nodes = sinh_spaced(curve.median, curve.sd, found.quantile(1e-6), found.quantile(1.0 - 1e-6), _EFFECT_NODES)
    thin = LogCurve(nodes, curve.interpolated(nodes))
    # Each node stands for its stretch of the curve: smoothing by half of it keeps the sum smooth where the spread
    # between runs is small.
    stretch = 0.5 * np.gradient(nodes)
    data = Mixture(
        np.outer(weights, thin.weights).ravel(),
        np.tile(nodes, len(sds)),
        np.hypot(np.repeat(sds, len(nodes)), np.tile(stretch, len(sds))),
    )
    return of_mixture(data, _EFFECT_POINTS)


def under(data: LogCurve, prior: RatioPrior) -> Posterior:
    theta = data.at
    if isinstance(prior, NormalPrior):
        reach = 9.0 * prior.sd
        theta = np.union1d(theta, sinh_spaced(prior.mean, prior.sd, prior.mean - reach, prior.mean + reach))
    elif isinstance(prior, NoSpeedup):
        theta = _from_zero(data)
    return integrated(theta, data.interpolated(theta) + prior.log_density(theta))


def _from_zero(data: LogCurve) -> FloatArray:
    """A grid for a posterior cut off below 0: what is left may be the far tail of the data, steep at 0."""
    if data.median > 0.0:
        return np.concatenate([[0.0], data.at[data.at > 0.0]])
    # The density falls off over the inverse of its log's slope.
    step = 0.01 * data.sd
    slope = float(np.diff(data.interpolated(np.array([0.0, step])))[0]) / step
    narrow = min(data.sd, 1.0 / max(-slope, 1e-9))
    return sinh_spaced(0.0, narrow, 0.0, max(float(data.at[-1]), 40.0 * narrow))


@dataclass(frozen=True, slots=True)
class Linear:
    """A posterior in the unit of the values: ``cumulative`` from 0 to 1 over increasing ``value``."""

    value: FloatArray
    cumulative: FloatArray

    def quantile(self, probability: float) -> float:
        return float(np.interp(probability, self.cumulative, self.value))

    def hdi(self, mass: float) -> tuple[float, float]:
        return shortest(lambda below: np.interp(below, self.cumulative, self.value), mass)

    @property
    def spread(self) -> Spread:
        return Spread(self.quantile(0.5), self.hdi(0.95), self.hdi(0.99))


@dataclass(frozen=True, slots=True)
class Plane:
    """The joint posterior of both log means, the prior of their ratio included."""

    baseline: FloatArray  # shape (n,), log means
    condition: FloatArray  # shape (k,), log means
    density: FloatArray  # shape (n, k), less a factor

    def means(self) -> tuple[Linear, Linear]:
        return (
            _linear(self.baseline, np.asarray(np.trapezoid(self.density, self.condition, axis=1))),
            _linear(self.condition, np.asarray(np.trapezoid(self.density, self.baseline[:, None], axis=0))),
        )

    def difference(self) -> Linear:
        """The posterior of condition less baseline: for each baseline mean, the condition's own distribution."""
        steps = 0.5 * (self.density[:, 1:] + self.density[:, :-1]) * np.diff(self.condition)
        below = np.concatenate([np.zeros((len(self.baseline), 1)), np.cumsum(steps, axis=1)], axis=1)
        widths = np.gradient(self.baseline)
        below *= widths[:, None]
        baseline, condition = np.exp(self.baseline), np.exp(self.condition)
        first, second = self.means()
        centre = second.quantile(0.5) - first.quantile(0.5)
        wide = [high - low for low, high in (first.hdi(0.95), second.hdi(0.95))]
        narrow = 0.25 * float(np.hypot(wide[0], wide[1]))
        value = sinh_spaced(centre, narrow, float(condition[0] - baseline[-1]), float(condition[-1] - baseline[0]))
        total = np.zeros_like(value)
        for mean, cumulative in zip(baseline, below, strict=True):
            total += np.interp(value + mean, condition, cumulative)
        return Linear(value, total / total[-1])


def plane(baseline: LogCurve, condition: LogCurve, prior: RatioPrior | None, *, is_inverse: bool) -> Plane:
    """Both log means together, from one curve each.

    `prior`: of the log ratio of costs; None where the curves have their priors in them.
    """
    first, second = (_on_fewer_points(curve, _PLANE_POINTS) for curve in (baseline, condition))
    density = np.outer(*(np.exp(curve.log_density - curve.log_density.max()) for curve in (first, second)))
    return _meeting(Plane(first.at, second.at, density), prior, is_inverse=is_inverse)


def plane_of_normals(
    weights: FloatArray,  # shape (k,)
    means: FloatArray,  # shape (k, 2), of baseline and condition
    covariances: FloatArray,  # shape (k, 2, 2)
    prior: RatioPrior,
    *,
    is_inverse: bool,
) -> Plane:
    """Both log means together, from a mixture in whose every component they are normal."""
    kept = weights > 1e-9 * weights.max()
    weights, means, covariances = weights[kept], means[kept], covariances[kept]
    sds = np.sqrt(covariances[:, [0, 1], [0, 1]])
    grids = []
    for side in range(2):
        reach = 9.0 * sds[:, side]
        low, high = float((means[:, side] - reach).min()), float((means[:, side] + reach).max())
        centre = float(weights @ means[:, side] / weights.sum())
        grids.append(sinh_spaced(centre, float(sds[:, side].min()), low, high, _PLANE_POINTS))
    density = _of_normals(weights, grids, means, covariances)
    return _meeting(Plane(grids[0], grids[1], density), prior, is_inverse=is_inverse)


def _of_normals(weights: FloatArray, grids: list[FloatArray], means: FloatArray, covariances: FloatArray) -> FloatArray:
    """The density of the mixture: in each component the first mean alone, times the second given the first."""
    first, second = (grid - means[:, side, None] for side, grid in enumerate(grids))
    a, b, c = covariances[:, 0, 0, None], covariances[:, 1, 1, None], covariances[:, 0, 1, None]
    alone = weights[:, None] * np.exp(-0.5 * first**2 / a) / np.sqrt(a)
    left = b - c**2 / a
    if not c.any():
        return np.asarray(alone.T @ (np.exp(-0.5 * second**2 / left) / np.sqrt(left)), dtype=np.float64)
    density = np.zeros((len(grids[0]), len(grids[1])))
    for one, near, far, slope, rest in zip(alone, first, second, c / a, left, strict=True):
        density += one[:, None] * np.exp(-0.5 * (far - slope * near[:, None]) ** 2 / rest) / np.sqrt(rest)
    return density


def _meeting(both: Plane, prior: RatioPrior | None, *, is_inverse: bool) -> Plane:
    if prior is None:
        return both
    theta = both.condition - both.baseline[:, None]
    logs = prior.log_density(-theta if is_inverse else theta)
    return Plane(both.baseline, both.condition, both.density * np.exp(logs - logs.max()))


def _on_fewer_points(curve: LogCurve, points: int) -> LogCurve:
    at = sinh_spaced(curve.median, curve.sd, float(curve.at[0]), float(curve.at[-1]), points)
    return LogCurve(at, curve.interpolated(at))


def _linear(log_value: FloatArray, density: FloatArray) -> Linear:
    """From a density of the log to the value itself; a grid finer than the plane's, the log density interpolated."""
    top = density.max()
    logs = np.log(np.maximum(density / top, np.exp(-_DEEP)))
    fine = np.linspace(0.0, len(log_value) - 1.0, 4 * len(log_value))
    at = np.interp(fine, np.arange(len(log_value)), log_value)
    found = integrated(at, np.interp(at, log_value, logs))
    return Linear(np.exp(found.theta), found.cumulative)


def _log(weights: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.maximum(weights, 1e-300)), dtype=np.float64)


def _log_sum(terms: FloatArray) -> FloatArray:
    top = terms.max(axis=1)
    return np.asarray(top + np.log(np.exp(terms - top[:, None]).sum(axis=1)), dtype=np.float64)

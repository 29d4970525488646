"""Where a likelihood of (log mean, log shape) lives, and the grid over it: Newton's way to the peak, then outwards.

Every model of response times here has these two parameters, whatever it knows of the data: the mean, and the gamma's
shape, which is ``(mean / sd)^2`` in any model that speaks of a standard deviation. The peak's own width sets the grid,
so the work is the same for a thousand values and for a hundred million.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tdelta.inference.observed.curves import LogCurve
from tdelta.inference.posterior import FloatArray, sinh_spaced

LogLikelihood: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
"""Of log mean and log shape, both shape (...,)."""

CV_LOG_MEAN, CV_LOG_SD = float(np.log(0.6)), 1.5
"""The coefficient of variation: ``log CV ~ N(log 0.6, 1.5^2)``, so 95% between 0.03 and 11. It knows no unit, and
keeps the posterior proper where a few values are nearly equal."""

_NEWTON_STEPS = 40
_ENOUGH = 0.02
_DROP = 32.0
_FARTHEST_LOG = 12.0
_OFFSETS = np.array([-1.0, 0.0, 1.0])


@dataclass(frozen=True, slots=True)
class Peak:
    """The mode in (log mean, log shape), and the standard deviations there."""

    at: tuple[float, float]
    sds: tuple[float, float]


@dataclass(frozen=True, slots=True)
class ShapeFit:
    """A posterior of (log mean, log shape) on a grid.

    Attributes:
        log_mean: shape (n,).
        log_shape: shape (k,).
        log_density: shape (n, k), less a constant.
    """

    log_mean: FloatArray
    log_shape: FloatArray
    log_density: FloatArray

    def mean_curve(self) -> LogCurve:
        """The log mean's, the shape integrated out."""
        top = self.log_density.max(axis=1)
        inner = np.trapezoid(np.exp(self.log_density - top[:, None]), self.log_shape, axis=1)
        return _refined(LogCurve(self.log_mean, top + np.log(inner)))

    def nodes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """A few (mean, shape) with weights that sum to 1, for predictions: Gauss-Hermite on the two moments."""
        density = np.exp(self.log_density - self.log_density.max())
        weights = density * np.gradient(self.log_mean)[:, None] * np.gradient(self.log_shape)
        weights /= weights.sum()
        by_mean, by_shape = weights.sum(axis=1), weights.sum(axis=0)
        mean, shape = float(by_mean @ self.log_mean), float(by_shape @ self.log_shape)
        mean_sd = float(np.sqrt(by_mean @ (self.log_mean - mean) ** 2))
        shape_sd = float(np.sqrt(by_shape @ (self.log_shape - shape) ** 2))
        points, of_one = np.polynomial.hermite_e.hermegauss(5)
        both = np.outer(of_one, of_one).ravel() / of_one.sum() ** 2
        log_means, log_shapes = np.meshgrid(mean + mean_sd * points, shape + shape_sd * points, indexing="ij")
        return np.exp(log_means.ravel()), np.exp(log_shapes.ravel()), both


def log_cv_prior(log_shape: FloatArray) -> FloatArray:
    """Log density of the log shape, ``-2 log CV``, less its constant."""
    return np.asarray(-0.5 * ((-0.5 * log_shape - CV_LOG_MEAN) / CV_LOG_SD) ** 2, dtype=np.float64)


def fit(
    log_likelihood: LogLikelihood,
    start: tuple[float, float],
    count: float,
    *,
    points: tuple[int, int] = (201, 81),
    farthest_sds: float = 1000.0,
) -> ShapeFit:
    """The posterior on a grid that reaches down to e^-32 of its peak.

    Args:
        log_likelihood: with whatever prior belongs to it.
        start: log mean and log shape near the peak.
        count: how many values there are, for a first idea of the widths.
        points: of the grid, for the mean and for the shape.
        farthest_sds: how far out to look for what is left of the posterior.
    """
    first = (float(np.exp(-0.5 * start[1])) / np.sqrt(count), float(np.sqrt(2.0 / count)))
    peak = find_peak(log_likelihood, start, first)
    ends = _ends(log_likelihood, peak, farthest_sds)
    log_mean = sinh_spaced(peak.at[0], peak.sds[0], *ends[0], points[0])
    log_shape = sinh_spaced(peak.at[1], peak.sds[1], *ends[1], points[1])
    return ShapeFit(log_mean, log_shape, log_likelihood(log_mean[:, None], log_shape[None, :]))


def find_peak(log_likelihood: LogLikelihood, start: tuple[float, float], widths: tuple[float, float]) -> Peak:
    """Newton's method on differences over a 3 by 3 stencil about as wide as the peak itself."""
    at, step = np.array(start), np.array(widths)
    for _ in range(_NEWTON_STEPS):
        values = log_likelihood((at[0] + step[0] * _OFFSETS)[:, None], (at[1] + step[1] * _OFFSETS)[None, :])
        gradient, hessian = _derivatives(values)
        if hessian[0, 0] >= 0.0 or hessian[1, 1] >= 0.0 or np.linalg.det(hessian) <= 0.0:
            best = divmod(int(np.argmax(values)), 3)
            at = at + step * _OFFSETS[list(best)]
            step = step * (0.5 if best == (1, 1) else 1.5)
            continue
        move = np.clip(-np.linalg.solve(hessian, gradient), -5.0, 5.0)
        at = at + step * move
        spread = np.sqrt(np.diag(np.linalg.inv(-hessian)))
        step = step * np.clip(spread, 0.2, 5.0)
        if np.abs(move / spread).max() < _ENOUGH and np.abs(np.log(spread)).max() < 0.5:
            break
    return Peak((float(at[0]), float(at[1])), (float(step[0]), float(step[1])))


def _derivatives(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """In units of the stencil's steps."""
    up, down, right, left = values[2, 1], values[0, 1], values[1, 2], values[1, 0]
    gradient = 0.5 * np.array([up - down, right - left])
    mixed = 0.25 * (values[2, 2] + values[0, 0] - values[2, 0] - values[0, 2])
    hessian = np.array([[up + down - 2.0 * values[1, 1], mixed], [mixed, right + left - 2.0 * values[1, 1]]])
    return gradient, hessian


def _ends(
    log_likelihood: LogLikelihood, peak: Peak, farthest_sds: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """How far the grid must reach each way: from 6 sd on by powers of 1.5, until next to nothing is left."""
    outwards = 6.0 * 1.5 ** np.arange(1.0 + np.ceil(np.log(farthest_sds / 6.0) / np.log(1.5)))
    steps = np.concatenate([-outwards[::-1], np.linspace(-4.0, 4.0, 9), outwards])
    axes = [at + np.clip(sd * steps, -_FARTHEST_LOG, _FARTHEST_LOG) for at, sd in zip(peak.at, peak.sds, strict=True)]
    values = log_likelihood(axes[0][:, None], axes[1][None, :])
    values = values - values.max()
    found = []
    for axis, along in enumerate((values.max(axis=1), values.max(axis=0))):
        inside = np.flatnonzero(along > -_DROP)
        low, high = max(int(inside[0]) - 1, 0), min(int(inside[-1]) + 1, len(steps) - 1)
        found.append((float(axes[axis][low]), float(axes[axis][high])))
    return found[0], found[1]


def _refined(curve: LogCurve, points: int = 401) -> LogCurve:
    """A coarse curve on a finer grid, by a cubic through neighbouring nodes (of the log density, which is smooth)."""
    if len(curve.at) >= points:
        return curve
    nodes = np.arange(float(len(curve.at)))
    fine = np.linspace(0.0, nodes[-1], points)
    return LogCurve(_cubic(fine, curve.at), _cubic(fine, curve.log_density))


def _cubic(at: FloatArray, values: FloatArray) -> FloatArray:
    """Lagrange's cubic through the four nodes about each point; nodes at 0, 1, 2, ..."""
    first = np.clip(np.floor(at).astype(np.intp) - 1, 0, len(values) - 4)
    t = at - first
    a, b, c, d = (values[first + k] for k in range(4))
    return np.asarray(
        -a * (t - 1) * (t - 2) * (t - 3) / 6
        + b * t * (t - 2) * (t - 3) / 2
        - c * t * (t - 1) * (t - 3) / 2
        + d * t * (t - 1) * (t - 2) / 6,
        dtype=np.float64,
    )

"""Several runs of a condition: the run is the unit, and what runs differ by is part of the answer.

``x_(condition, run) ~ N(mu_condition, tau^2 + se_run^2)`` for the log means of runs; ``se`` is what the run's own data
leave open (0 where a run is one figure). One tau for both conditions, integrated over a grid: with two runs each it has
two degrees of freedom, and the interval is as wide as a t with two has it. The means are flat on their logs.

One run each says nothing of tau. For that case `luck_of_single_runs` has a prior in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tdelta.inference.observed.curves import LogCurve, Plane, of_mixture, plane_of_normals
from tdelta.inference.observed.settings import RatioPrior
from tdelta.inference.posterior import FloatArray, mixture

TAU_SCALE, TAU_POWER = 0.0005, 1.0
"""``p(tau) ~ 1/(tau + 0.05 %)``, on 0.002 % to 200 %: flat on the log where runs differ by anything to speak of, which
makes the interval that of a t when runs are alike in length; and proper, where the runs' own errors say all."""

_TAU = np.geomspace(2e-5, 2.0, 121)
_LUCK_NODES = 20


@dataclass(frozen=True, slots=True)
class RunsFit:
    """The posterior over tau, and what follows from each.

    Attributes:
        weights: shape (t,), sum to 1.
        means: shape (t, 2), of the log means of baseline and condition.
        variances: shape (t, 2).
        tau_median: what runs differ by, a share.
    """

    weights: FloatArray
    means: FloatArray
    variances: FloatArray
    tau_median: float

    def log_ratio(self, *, is_inverse: bool) -> LogCurve:
        """The likelihood of the log ratio of costs."""
        apart = self.means[:, 1] - self.means[:, 0]
        data = mixture(self.weights, -apart if is_inverse else apart, self.variances.sum(axis=1))
        return of_mixture(data)

    def plane(self, prior: RatioPrior, *, is_inverse: bool) -> Plane:
        """The joint posterior of both log means."""
        return plane_of_normals(self.weights, self.means, self.variances, prior, is_inverse=is_inverse)


def fit_runs(baseline: Sequence[tuple[float, float]], condition: Sequence[tuple[float, float]]) -> RunsFit:
    """Fit the runs of two conditions.

    Args:
        baseline: log mean and its variance, for each run.
        condition: the same; three runs at least in all.
    """
    tau_squared = _TAU**2
    log_weights = np.log(_TAU) - TAU_POWER * np.log(_TAU + TAU_SCALE)
    means, variances = np.empty((len(_TAU), 2)), np.empty((len(_TAU), 2))
    for side, runs in enumerate((baseline, condition)):
        x, errors = np.array(runs).T
        precision = 1.0 / (tau_squared[:, None] + errors)
        total = precision.sum(axis=1)
        means[:, side], variances[:, side] = precision @ x / total, 1.0 / total
        scatter = (precision * (x - means[:, side, None]) ** 2).sum(axis=1)
        log_weights = log_weights + 0.5 * (np.log(precision).sum(axis=1) - np.log(total) - scatter)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    cumulative = np.cumsum(weights) - 0.5 * weights
    return RunsFit(weights, means, variances, float(np.exp(np.interp(0.5, cumulative, np.log(_TAU)))))


def luck_of_single_runs(scale: float) -> tuple[FloatArray, FloatArray]:
    """Weights and sds of the difference of two runs' luck: ``u ~ N(0, tau^2)`` each, ``tau ~ HalfNormal(scale)``."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_LUCK_NODES)
    half = nodes > 0.0
    return weights[half] / weights[half].sum(), np.sqrt(2.0) * scale * nodes[half]

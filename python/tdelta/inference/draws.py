"""Draws of the quantities of a cost breakdown, all from one fixed stream, and their summaries."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tdelta.inference.fits import Fitted
from tdelta.inference.posterior import FloatArray, Mixture, posterior
from tdelta.records import Amount

DRAWS = 4000
FEWEST_ROUNDS = 3
"""From so many rounds on a round is the unit; below, a block is, which leaves the instance effect out."""

_SEED = 20_240_229
_MASS = 0.95


class Draws:
    """One stream of standard normals for a whole cost breakdown."""

    def __init__(self, seed: int = _SEED) -> None:
        self._random = np.random.default_rng(seed)
        self.transfer = self.normal()
        """What all prices of the run share: `tdelta.inference.prices.TRANSFER` of it."""

    def normal(self) -> FloatArray:
        """As many as every quantity has."""
        return self._random.standard_normal(DRAWS)

    def difference(self, fitted: Fitted, mixture: Mixture) -> FloatArray:
        """Of a condition over its baseline, in the metric's unit, stratified over the posterior's quantiles."""
        found = posterior(mixture)
        at = (self._random.permutation(DRAWS) + self._random.random(DRAWS)) / DRAWS
        return np.asarray(fitted.baseline_value * np.expm1(np.interp(at, found.cumulative, found.theta)))

    def mean(self, values: FloatArray, groups: NDArray[np.intp]) -> FloatArray:
        """Of the mean of values that come in groups (rounds): by the groups' means, or of few groups the values.

        Instances differ in whatever is counted or timed, and trials of one instance are no independent sample of that.
        A single value has no error that could be known.
        """
        means = np.array([values[groups == group].mean() for group in np.unique(groups)])
        used = means if len(means) >= FEWEST_ROUNDS else values
        error = float(used.std(ddof=1)) / math.sqrt(len(used)) if len(used) > 1 else 0.0
        return np.asarray(float(used.mean()) + error * self._random.standard_t(max(1, len(used) - 1), DRAWS))

    def timed(self, us: FloatArray, scatter: float) -> FloatArray:
        """Of what was timed in some trials one after another, at a moment that others differ from.

        Args:
            us: of each trial.
            scatter: the relative standard deviation of the run's trials of the same condition, at moments of their own.
        """
        error = float(us.std(ddof=1)) / math.sqrt(len(us)) if len(us) > 1 else 0.0
        of_trials = error * self._random.standard_t(max(1, len(us) - 1), DRAWS)
        return np.asarray((float(us.mean()) + of_trials) * (1.0 + scatter * self.normal()))


def amount(us: FloatArray) -> Amount:
    """The median of draws, and their shortest interval of 95%."""
    return Amount(float(np.median(us)), shortest(us))


def shortest(draws: FloatArray, mass: float = _MASS) -> tuple[float, float]:
    """The shortest interval that holds this much of the draws."""
    ordered = np.sort(draws)
    inside = math.ceil(mass * len(ordered))
    widths = ordered[inside - 1 :] - ordered[: len(ordered) - inside + 1]
    at = int(np.argmin(widths))
    return float(ordered[at]), float(ordered[at + inside - 1])

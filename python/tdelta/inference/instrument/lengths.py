"""Noise by time scale: how it averages out over blocks, and how it depends on the length of a trial.

Two ways to a longer look at a twin: more trials, which other twins' trials lie between, and longer ones. The first is
seen in any run, by the Allan deviation; the second only where trials of several lengths ran.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tdelta.inference.posterior import FloatArray
from tdelta.inference.quantiles import chi_square_quantile
from tdelta.records.instrument import ScaleNoise

_LEAST_DF = 5.0
_Z95 = 1.96
_STEPS = 12  # the simplex of (same at any length, falling, growing) in steps of a twelfth: 91 points


def allan(
    log_costs: FloatArray,  # shape (B, K), complete blocks in order
    rounds: NDArray[np.intp],  # shape (B,), the round of each block
) -> tuple[ScaleNoise, ...]:
    """Allan deviation of a trial's log cost, its block's mean taken off, over 1, 2, 3, … consecutive blocks of a round.

    Half the mean squared difference of neighbouring means (Allan 1966, Proc. IEEE 54:221). What is constant in a round,
    the instance effect, cancels; drift that all twins share does, too. Independent noise falls as one over the number
    of trials. Returns as many scales as have some degrees of freedom; none if no round has two blocks.
    """
    centred = log_costs - log_costs.mean(axis=1, keepdims=True)
    pieces = [centred[rounds == number] for number in np.unique(rounds)]
    found: list[ScaleNoise] = []
    first = (math.nan, math.nan)
    for trials in range(1, max(map(len, pieces)) // 2 + 1):
        variance, df = _allan_variance(pieces, trials)
        if df < _LEAST_DF:
            break
        if not found:
            first = (variance, df)
        excess = trials * variance / first[0] if first[0] > 0 else 1.0
        reach = _Z95 * math.sqrt(2.0 / df + 2.0 / first[1]) if found else 0.0
        interval = (excess * math.exp(-reach), excess * math.exp(reach))
        found.append(ScaleNoise(trials, math.sqrt(variance), excess, interval))
    return tuple(found)


def _allan_variance(pieces: list[FloatArray], trials: int) -> tuple[float, float]:
    """The variance of a mean of so many trials, and its degrees of freedom if trials are independent.

    ``n`` squared differences of a chain of ``n + 1`` independent means are worth ``2 n^2 / (3 n - 1)``: neighbours
    share a mean, so their squares correlate by 1/4.
    """
    squares, differences, df = 0.0, 0, 0.0
    conditions = pieces[0].shape[1]
    for piece in pieces:
        groups = len(piece) // trials
        if groups < 2:
            continue
        means = piece[: groups * trials].reshape(groups, trials, conditions).mean(axis=1)
        squares += float((np.diff(means, axis=0) ** 2).sum())
        n = groups - 1
        differences += n
        df += (conditions - 1) * 2.0 * n * n / (3.0 * n - 1.0)
    return (squares / (2.0 * (conditions - 1) * differences), df) if differences else (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class LengthCurve:
    """Posterior of a trial's noise variance as a function of its length.

    ``variance(L) = v (w0 + w1 M/L + w2 L/M)``, M being the lengths' geometric mean: a part that any trial has, one that
    more operations average away, one that a longer trial lets in (drift between twins). v is integrated in closed form,
    its prior flat in its logarithm; w has a flat prior on the simplex.
    """

    reference: float  # M, seconds
    shortest: float  # the shortest length measured, seconds
    longest: float
    weights: FloatArray  # shape (n,), of the simplex's points; sums to 1
    shares: FloatArray  # shape (n, 3), w
    scatter: FloatArray  # shape (n,), the sum of squares that v is told by
    df: float  # degrees of freedom of all lengths together

    def mean(self, seconds: FloatArray) -> FloatArray:
        shapes = self.shares @ _basis(seconds, self.reference)
        return np.asarray((self.weights * self.scatter) @ shapes / max(self.df - 2.0, 1.0), dtype=np.float64)

    def draws(self, seconds: float, count: int, rng: np.random.Generator) -> FloatArray:
        """Draws of the variance at a length, shape (count,): stratified, in random order."""
        shapes = (self.shares @ _basis(np.array([seconds]), self.reference))[:, 0]
        points = np.searchsorted(np.cumsum(self.weights), (np.arange(count) + 0.5) / count)
        points = np.minimum(points, len(self.weights) - 1)
        quantiles = rng.permutation((np.arange(count) + 0.5) / count)
        drawn = self.scatter[points] * shapes[points] / chi_square_quantile(quantiles, self.df)
        return np.asarray(rng.permutation(drawn), dtype=np.float64)


def fit_curve(
    seconds: FloatArray,  # shape (n,), the lengths of trials, any of them more than once
    variances: FloatArray,  # shape (n,), what was seen at each
    dfs: FloatArray,  # shape (n,), their degrees of freedom, above 0
) -> LengthCurve:
    """The posterior from the variances that were seen; with a single length it is that length's, flat."""
    reference = float(np.exp(np.log(seconds).mean()))
    shares = _simplex() if np.ptp(seconds) > 0 else np.array([[1.0, 0.0, 0.0]])
    shapes = shares @ _basis(seconds, reference)
    scatter = (dfs * variances / shapes).sum(axis=1)
    df = float(dfs.sum())
    logs = -0.5 * (dfs * np.log(shapes)).sum(axis=1) - 0.5 * df * np.log(scatter)
    weights = np.exp(logs - logs.max())
    return LengthCurve(
        reference, float(seconds.min()), float(seconds.max()), weights / weights.sum(), shares, scatter, df
    )


def _basis(seconds: FloatArray, reference: float) -> FloatArray:
    """The three shapes at these lengths, shape (3, n)."""
    return np.array([np.ones_like(seconds), reference / seconds, seconds / reference])


def _simplex() -> FloatArray:
    points = [(i, j, _STEPS - i - j) for i in range(_STEPS + 1) for j in range(_STEPS + 1 - i)]
    return np.array(points, dtype=np.float64) / _STEPS

"""What a round does to encryption's cost: an effect that all encrypted twins of a round share.

A round makes its twins anew: a data seed, a page layout, a state of the machine's clocks. Where these change what
encryption costs, a treatment and its B/B twin move together, so no comparison of identical twins sees it, and a second
encrypted twin says nothing new of it: only further rounds do. Its standard deviation omega is in the model of the
verdicts (`tdelta.inference.rounds`) with a half-Cauchy prior whose scale is small, since few machines show any; the
F test here says where there clearly is one. In blocks it is tested alike: what changes from block to block and lasts
reaches into the rounds' means, which omega covers.

The F test compares the scatter of the contrasts "mean of the encrypted twins less mean of the plain ones" with half the
differences within both pairs of twins, which have the same expectation where nothing is shared (Scheffe 1959, The
Analysis of Variance, chapter 8).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tdelta.inference.noise import InstanceMeans
from tdelta.inference.posterior import FloatArray
from tdelta.inference.quantiles import beta_quantile

ROUND_EFFECT_SCALE = 0.002
"""omega ~ HalfCauchy(0.2%): nearly all runs of quiet machines show none (benches/results/grid.md)."""

_LEAST_SD, _LEAST_TOP = 5e-4, 0.02
_BELOW, _ABOVE = 6.0, 12.0
_CHANCE = 0.99
_FEWEST = 3
_MOST_AR = 0.95


def round_effect_nodes(scatter: FloatArray, rounds: int, count: int) -> tuple[FloatArray, FloatArray]:
    """Nodes of omega and the log weights of its prior.

    They are spaced evenly in the logarithm over what a scatter of contrasts allows for: omega is hardly less than a
    sixth of it, or as good as 0, and the fewer the rounds, the more it may exceed it.

    Args:
        scatter: shape (N,), the standard deviation over rounds of the encrypted twins' mean less the plain ones', in
            each of N runs; 0 of a single round.
        rounds: R.
        count: W, of nodes.

    Returns:
        Both of shape (N, W); the weights of the prior's mass between the midpoints of the nodes.
    """
    low = np.maximum(_LEAST_SD, scatter / _BELOW)
    high = np.maximum(np.maximum(_LEAST_TOP, scatter * (1.0 + _ABOVE / max(1, rounds - 1))), 2.0 * low)
    steps = np.linspace(0.0, 1.0, count)
    nodes = low[:, None] * (high / low)[:, None] ** steps
    ends = np.sqrt(nodes[:, 1:] * nodes[:, :-1])
    below = 2.0 / math.pi * np.arctan(ends / ROUND_EFFECT_SCALE)
    mass = np.diff(below, axis=1, prepend=0.0, append=1.0)
    return nodes, np.log(mass)


def contrast_scatter(
    means: FloatArray, there: NDArray[np.bool_], own: NDArray[np.bool_], versus: NDArray[np.bool_]
) -> float:
    """The standard deviation over rounds of one group's mean log cost less another's; 0 of fewer than two rounds.

    Args:
        means: shape (R, K), of instances.
        there: shape (R, K), which instances there are.
        own: shape (K,), the columns of the group.
        versus: shape (K,), those of the other.
    """
    contrasts = _group_means(means, there, own) - _group_means(means, there, versus)
    contrasts = contrasts[np.isfinite(contrasts)]
    return float(contrasts.std(ddof=1)) if len(contrasts) > 1 else 0.0


def _group_means(values: FloatArray, there: NDArray[np.bool_], columns: NDArray[np.bool_]) -> FloatArray:
    """The mean over columns in each row; NaN where none of them is there."""
    of = there & columns
    count = of.sum(axis=1)
    return np.where(count > 0, (values * of).sum(axis=1) / np.maximum(count, 1), np.nan)


@dataclass(frozen=True, slots=True)
class SharedEffect:
    """How much more the encrypted twins of a round, or of a block, move together than chance explains.

    Attributes:
        sd: standard deviation of the shared effect on a log cost, by the method of moments.
        count: of the rounds or blocks behind it.
        is_beyond_chance: whether F lies beyond its 99% quantile.
    """

    sd: float
    count: int
    is_beyond_chance: bool


def wandering_sd(means: InstanceMeans, treated: NDArray[np.bool_], plain: NDArray[np.bool_]) -> float:
    """What an effect that lasts over several blocks leaves open of a log ratio, beyond what rounds alone show of it.

    Rounds count as independent draws. Where what the encrypted twins of a block share is autocorrelated over blocks,
    neighbouring rounds are alike, so that their scatter is too small and their mean worse known. With C the covariance
    of R rounds' means, that mean's variance is ``1'C1 / R^2`` and the expected scatter ``(tr C - 1'C1 / R) / (R - 1)``;
    C is that of an AR(1) process, whose coefficient is estimated by moments and corrected for its bias in short series
    (Marriott and Pope 1954, Biometrika 41:390).

    Returns:
        A standard deviation; 0 unless the F test over blocks finds a shared effect.
    """
    by_block = shared_by_block(means, treated, plain)
    rounds = int(means.rounds.max()) + 1 if len(means.rounds) else 0
    if by_block is None or not by_block.is_beyond_chance or rounds < 2:
        return 0.0
    values = means.means[means.rounds] + means.residual
    contrasts = _group_means(values, means.there, treated) - _group_means(values, means.there, plain)
    known = np.isfinite(contrasts)
    centred, of_round = contrasts[known] - contrasts[known].mean(), means.rounds[known]
    ar = float((centred[1:] * centred[:-1]).mean()) / max(by_block.sd**2, float((centred**2).mean()) / 2.0)
    ar = min(_MOST_AR, max(0.0, ar + (1.0 + 3.0 * ar) / len(centred)))
    averages = np.equal.outer(np.arange(rounds), of_round) / np.bincount(of_round, minlength=rounds)[:, None]
    lags = np.abs(np.subtract.outer(np.arange(len(centred)), np.arange(len(centred))))
    covariance = averages @ ar**lags @ averages.T
    of_mean = covariance.sum() / rounds**2
    of_scatter = (np.trace(covariance) - rounds * of_mean) / (rounds - 1)
    seen = contrast_scatter(means.means, means.blocks > 0, treated, plain) ** 2 / rounds
    return math.sqrt(max(0.0, of_mean * rounds / of_scatter - 1.0) * seen)


def shared_by_round(means: InstanceMeans, treated: NDArray[np.bool_], plain: NDArray[np.bool_]) -> SharedEffect | None:
    """The F test over rounds; None without three rounds that have two plain and two treated twins.

    Args:
        means: stage 1's answer.
        treated: shape (K,), the columns of a treatment and its B/B twin.
        plain: shape (K,), those of the baseline and its A/A twin.
    """
    return _shared(means.means, means.blocks > 0, treated, plain, np.zeros(len(means.means), dtype=np.intp))


def shared_by_block(means: InstanceMeans, treated: NDArray[np.bool_], plain: NDArray[np.bool_]) -> SharedEffect | None:
    """The same over the blocks within rounds."""
    return _shared(means.residual, means.there, treated, plain, means.rounds)


def _shared(
    values: FloatArray,
    there: NDArray[np.bool_],
    treated: NDArray[np.bool_],
    plain: NDArray[np.bool_],
    groups: NDArray[np.intp],
) -> SharedEffect | None:
    """The F test over rows, each group of rows having a mean of its own."""
    pairs = [np.flatnonzero(columns) for columns in (treated, plain)]
    if any(len(pair) != 2 for pair in pairs):
        return None
    complete = there[:, np.concatenate(pairs)].all(axis=1)
    rows, groups = values[complete], groups[complete]
    free = len(rows) - len(np.unique(groups))
    if len(rows) < _FEWEST or free < 2:
        return None
    (one, two), (first, second) = (rows[:, pair].T for pair in pairs)

    def mean_square(differences: FloatArray) -> float:
        means = np.bincount(groups, differences) / np.maximum(np.bincount(groups), 1)
        return float(((differences - means[groups]) ** 2).sum()) / free

    between = mean_square(0.5 * (one + two - first - second))
    # The pairs may scatter differently, so the degrees of freedom of their sum are Satterthwaite's (1946).
    halves = [mean_square(0.5 * (one - two)), mean_square(0.5 * (first - second))]
    within = sum(halves)
    if within <= 0.0:
        return SharedEffect(math.sqrt(between), len(rows), between > 0.0)
    df = free * within**2 / sum(half**2 for half in halves)
    at = float(beta_quantile(_CHANCE, free / 2.0, df / 2.0))
    is_beyond = between * free * (1.0 - at) > within * df * at
    return SharedEffect(math.sqrt(max(0.0, between - within)), len(rows), is_beyond)

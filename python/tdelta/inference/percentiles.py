"""The ratio of two 99th percentiles: a Bayesian bootstrap over rounds, merging weighted histograms.

Each draw gives every round a weight, Dirichlet(1, …, 1) over all of them (Rubin, Ann. Statist. 9, 1981), adds the
blocks' histograms up with these weights, the same on both sides, and reads either percentile. Rounds are weighted and
not blocks, since blocks of a round share the effects of its instances; with fewer than three there is no interval.
Percentiles of single blocks are never averaged: the mean of many p99s is not the p99 of all (their intervals hold the
truth 0 times in 100).

The interval is ``± t sd`` of the draws' log ratios. A Dirichlet's draws of a mean scatter by ``(n - 1)/(n + 1)`` of the
variance that n units give it, which is put back. It is approximate: a percentile is no smooth function of the data, and
fewer than `FEWEST_PAIRS` pairs are not enough. Seeded by the run, so the same trials give the same figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tdelta.inference.histograms import RESOLUTION, Counts, IntArray, longest_ns
from tdelta.inference.posterior import FloatArray
from tdelta.inference.quantiles import t_reach
from tdelta.messages import Reason
from tdelta.records import Percentile99, TailRatio, TailUnit

QUANTILE = 0.99

FEWEST_PAIRS = 80
"""Pairs below which the interval holds the truth too seldom."""

FEWEST_ROUNDS = 3
"""Rounds below which no interval is given."""

FEWEST_BEYOND = 10
"""Transactions beyond a percentile, on each side, below which it is a few points and not shown."""

DRAWS = 2000

_MASS = 0.95
_EXACT = 1e-9


@dataclass(frozen=True, slots=True)
class Side:
    """One side's histograms, block by block, as a percentile of any weighting needs them.

    Attributes:
        bins: shape (m,), increasing: those that hold anything in any block.
        surplus: shape (m, B): a block's transactions up to a bin, less the quantile's share of all its transactions.
            The weighted sum over blocks turns from negative to not negative at the percentile's bin.
    """

    bins: IntArray
    surplus: FloatArray

    def in_rounds(self, at: NDArray[np.intp]) -> Side:
        """The same with rounds in the place of blocks; ``at`` says which round, from 0, each block is of."""
        is_of = np.equal.outer(at, np.arange(at.max() + 1)).astype(np.float64)
        return Side(self.bins, self.surplus @ is_of)

    def percentile_bins(self, weights: FloatArray) -> IntArray:
        """The bin of the percentile under each weighting; ``weights`` has shape (D, B)."""
        low = np.zeros(len(weights), dtype=np.intp)
        high = np.full(len(weights), len(self.bins) - 1, dtype=np.intp)
        tolerance = _EXACT * np.abs(self.surplus[-1]).max()
        for _ in range(len(self.bins).bit_length()):
            middle = (low + high) // 2
            reached = np.einsum("db,db->d", weights, self.surplus[middle]) >= -tolerance
            high = np.where(reached, middle, high)
            low = np.where(reached, low, np.minimum(middle + 1, high))
        return np.asarray(self.bins[high], dtype=np.int64)


def side_of(blocks: Sequence[Counts], quantile: float = QUANTILE) -> Side | None:
    """Histograms of one side made ready; None where too few transactions lie beyond the quantile."""
    total = np.array([block.total for block in blocks], dtype=np.float64)
    if total.sum() * (1.0 - quantile) < FEWEST_BEYOND * (1.0 - _EXACT):
        return None
    bins = np.unique(np.concatenate([block.bins for block in blocks]))
    held = np.zeros((len(blocks), len(bins)))
    for at, block in enumerate(blocks):
        held[at, np.searchsorted(bins, block.bins)] = block.counts
    return Side(bins, np.ascontiguousarray(np.cumsum(held, axis=1).T) - quantile * total)


def percentile_ns(counts: Counts, quantile: float) -> int | None:
    """A percentile of one histogram, ns; None where fewer than `FEWEST_BEYOND` transactions lie beyond it."""
    side = side_of([counts], quantile)
    return None if side is None else int(_times_ns(side, np.ones((1, 1)))[0])


def percentile_ratio(
    condition: Side, baseline: Side, rounds: NDArray[np.intp], rng: np.random.Generator, draws: int = DRAWS
) -> Percentile99:
    """The 99th percentiles of both sides and their ratio, from `FEWEST_ROUNDS` on with an approximate 95% interval.

    Args:
        condition: the condition's blocks.
        baseline: the plain twins' of the same blocks.
        rounds: shape (B,), the round of each block.
        rng: draws the weights.
        draws: how many.
    """
    numbers, at = np.unique(rounds, return_inverse=True)
    units = len(numbers)
    sides = condition.in_rounds(at), baseline.in_rounds(at)
    here, there = (int(_times_ns(side, np.ones((1, units)))[0]) for side in sides)
    if units < FEWEST_ROUNDS:
        return Percentile99(there, here, None, Reason.of("percentile-few-rounds", fewest=FEWEST_ROUNDS))
    # The scale of weights does not matter, so exponentials serve as a Dirichlet.
    weights = rng.standard_exponential((draws, units))
    logs = [np.log(_times_ns(side, weights)) for side in sides]
    sd = float(np.std(logs[0] - logs[1], ddof=1)) * np.sqrt((units + 1.0) / (units - 1.0))
    half = t_reach(units - 1.0, _MASS) * sd + RESOLUTION
    ratio = here / there
    ends = float(ratio * np.exp(-half)), float(ratio * np.exp(half))
    return Percentile99(there, here, TailRatio(ratio, ends, TailUnit.ROUND, units))


def _times_ns(side: Side, weights: FloatArray) -> IntArray:
    return np.asarray(np.maximum(longest_ns(side.percentile_bins(weights)), 1), dtype=np.int64)

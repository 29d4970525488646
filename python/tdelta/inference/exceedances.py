"""How much more often a threshold is exceeded: a ratio of shares, linearised over rounds, with Student's t.

The share over all blocks is a ratio of sums, and the log of the quotient of two such shares is a smooth function of
means, so its error is a sum of one small term for each block (its influence; Cochran, Sampling Techniques, 1977, sec.
2.11 and 6.5). What drifts over a block cancels in its term, transactions of one trial are never taken as independent,
and clumps (a stall that many transactions run into) widen the interval as they should. Terms of a round share the
effects of its instances, so the round is the unit. Of one round there is no interval, since nothing in it distinguishes
instance effects from the condition; of two there is Student's t with one degree of freedom, never narrower than what
blocks alone would give.

Limits: nothing is known where nothing was exceeded, and little where it happened in few blocks: `FEWEST` and
`FEWEST_BLOCKS` were chosen before the simulations of ``benches/results/tails.md``; others were not tried.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tdelta.inference.posterior import FloatArray
from tdelta.inference.quantiles import t_reach
from tdelta.messages import Reason
from tdelta.records import Exceeding, TailRatio, TailUnit

FEWEST = 10
"""Transactions beyond the threshold, on each side, below which no interval is given."""

FEWEST_BLOCKS = 8
"""Blocks that have any, on each side, below which no interval is given."""

FEWEST_ROUNDS = 2
"""Rounds below which no interval is given."""

_ENOUGH_ROUNDS = 3
"""Rounds from which on their scatter alone gives the interval: two may agree by chance."""

_MASS = 0.95


@dataclass(frozen=True, slots=True)
class Shares:
    """One side, block by block.

    Attributes:
        longer: shape (B,), transactions that took longer than the threshold.
        of: shape (B,), all transactions.
    """

    longer: FloatArray
    of: FloatArray

    @property
    def counted(self) -> Exceeding:
        """All blocks together."""
        return Exceeding(int(self.longer.sum()), int(self.of.sum()), int((self.longer > 0).sum()))

    @property
    def influence(self) -> FloatArray:
        """What each block adds to the error of the log share; sums to 0."""
        share = self.longer.sum() / self.of.sum()
        return np.asarray((self.longer - share * self.of) / self.longer.sum(), dtype=np.float64)


def exceedance_ratio(condition: Shares, baseline: Shares, rounds: NDArray[np.intp]) -> TailRatio:
    """The quotient of two shares with its 95% interval; both sides must have some, and there be `FEWEST_ROUNDS`.

    Args:
        condition: the condition, block by block.
        baseline: the plain twins of the same blocks.
        rounds: shape (B,), the round of each block.
    """
    log_ratio = float(np.log(condition.counted.share / baseline.counted.share))
    influence = condition.influence - baseline.influence
    by_round = in_rounds(influence, rounds)
    half = _reach(by_round)
    if len(by_round) < _ENOUGH_ROUNDS:
        half = max(half, _reach(influence))
    ends = float(np.exp(log_ratio - half)), float(np.exp(log_ratio + half))
    return TailRatio(float(np.exp(log_ratio)), ends, TailUnit.ROUND, len(by_round))


def in_rounds(values: FloatArray, rounds: NDArray[np.intp]) -> FloatArray:
    """Sums of blocks' values over each round, shape (R,)."""
    _, at = np.unique(rounds, return_inverse=True)
    return np.asarray(np.bincount(at, values), dtype=np.float64)


def reason_for_none(condition: Exceeding, baseline: Exceeding, blocks: int, rounds: int) -> Reason | None:
    """Why there is no interval; None where there is one."""
    none = [
        name
        for name, side in (("the configuration", condition), ("the unencrypted copies", baseline))
        if not side.longer
    ]
    if none:
        # P(no block of B has any) = (1 - p)^B; the p at which that is 5% bounds the share of blocks that would.
        bound = 1.0 - 0.05 ** (1.0 / max(1, blocks))
        return Reason.of("tail-none", sides=" nor on ".join(none), bound=bound)
    if rounds < FEWEST_ROUNDS:
        return Reason.of("tail-one-round")
    fewest = min(condition.longer, baseline.longer), min(condition.blocks_with, baseline.blocks_with)
    if fewest[0] < FEWEST or fewest[1] < FEWEST_BLOCKS:
        return Reason.of("tail-too-few", found=fewest[0], fewest=FEWEST)
    return None


def _reach(terms: FloatArray) -> float:
    units = len(terms)
    variance = units / (units - 1) * float(((terms - terms.mean()) ** 2).sum())
    return t_reach(units - 1.0, _MASS) * float(np.sqrt(variance))

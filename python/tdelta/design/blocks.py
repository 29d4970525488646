"""Randomized complete blocks, drawn as randomly permuted Williams designs.

In a Williams design every condition stands in every position equally often and follows every other condition equally
often, so that neither the place in a block nor the carry-over from the trial before can favour one of them
(E. J. Williams 1949, "Experimental designs balanced for the estimation of residual effects of treatments",
Australian Journal of Scientific Research A 2, 149–168). Fixed designs alias with periodic jobs, so labels and the order
of the rows are drawn afresh for every *pass* through the design.

A pass need not be a round: a round takes as many rows as it has blocks, and the next round goes on where it stopped.
So balance accrues over rounds, is exact at the end of each pass, and where blocks per round are a multiple of the rows
(three conditions, six blocks) every round has a draw of its own. What is not balanced: the step from the last trial of
a block to the first of the next one.

Comparisons are made within a stratum, so its conditions follow one another: a machine that slows down for half a minute
then slows all that is compared, and not one side of it. The strata stand in a drawn order, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tdelta.design.randomness import stream

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def williams_design(count: int) -> NDArray[np.int64]:
    """Build the unpermuted Williams design of ``count`` conditions.

    Returns:
        Shape ``(rows, count)``; each row is a permutation of ``0 … count-1``. ``rows`` is ``count`` where that is even
        and twice ``count`` where it is odd, for which no single balanced square of this kind exists.
    """
    import numpy as np  # as in `stream`

    steps = np.arange(count)
    zigzag = np.where(steps % 2 == 1, (steps + 1) // 2, (count - steps // 2) % count)
    square = (zigzag[None, :] + steps[:, None]) % count
    if count % 2 == 0:
        return square
    return np.concatenate([square, square[:, ::-1]])


def block_order(seed: int, block: int, count: int, of: str = "blocks", *which: int) -> tuple[int, ...]:
    """Draw the order of one block.

    Args:
        block: the block's number, from 0 through the whole run.
        of: the purpose of the draw.
        *which: which of its streams; each has designs of its own.

    Returns:
        A permutation of ``0 … count-1``: which condition runs at each position.
    """
    design = williams_design(count)
    design_pass, row = divmod(block, len(design))
    rng = stream(seed, of, *which, design_pass)
    labels = rng.permutation(count)
    rows = rng.permutation(len(design))
    return tuple(int(label) for label in labels[design[rows[row]]])


def stratified_order(seed: int, block: int, strata: Sequence[int], nth: Mapping[int, int]) -> tuple[int, ...]:
    """Draw the order of one block, stratum by stratum; :func:`block_order` where there is one stratum.

    Args:
        block: the block's number, from 0 through the whole run.
        strata: the stratum of each condition of the block.
        nth: of strata that not every block has: which of its own blocks this is, from 0, so that its orders balance.

    Returns:
        Indices of ``strata``, a permutation: which condition runs at each position.
    """
    members: dict[int, list[int]] = {}
    for index, stratum in enumerate(strata):
        members.setdefault(stratum, []).append(index)
    if len(members) == 1:
        return block_order(seed, nth.get(strata[0], block), len(strata))
    groups = list(members.items())
    order: list[int] = []
    for place in block_order(seed, block, len(groups), "strata"):
        stratum, indices = groups[place]
        order += (indices[i] for i in block_order(seed, nth.get(stratum, block), len(indices), "stratum", stratum))
    return tuple(order)

"""What the place in a block and the twin before do to a trial: first-order carry-over.

Blocks are rows of Williams designs, in which every condition follows every other equally often, so that a trial's
predecessor can be told from the trial itself (Williams 1949; Jones and Kenward 2014, "Design and Analysis of Cross-Over
Trials", chapter 4). Blocks and instances are taken out by double centring, which is exact since blocks are complete;
then least squares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tdelta.inference.planning.runs import StratumNoise
from tdelta.inference.posterior import FloatArray
from tdelta.inference.quantiles import t_reach
from tdelta.messages import Reason
from tdelta.records import Condition, Role
from tdelta.records.prospects import CarryOver, ShareEffect

_MOST_POSITIONS = 8
_WORST_CONDITION = 1e8
_LEAST_INFORMATION = 1e-6


def carry_over(strata: Sequence[StratumNoise]) -> CarryOver:
    """First-order carry-over in the stratum that tells most: of those with encrypted twins, else of all, the largest.

    Returns:
        Estimates, and what cannot be estimated from these data.
    """
    one = max(strata, key=lambda s: (_has_encrypted(s), s.fitted.own_costs.size))
    positions = _stretch(one)
    panel = one.fitted.panel
    most = len(panel.conditions) + max((sum(t is not None for t in row) for row in panel.twin_trials), default=0)
    places = most if positions is not None else one.run.trials_of_block
    unknown = [Reason.of("carry-over-to-itself"), Reason.of("carry-over-course")]
    columns = list(_positions(one, positions, places)) if places <= _MOST_POSITIONS else []
    if not columns:
        unknown.append(Reason.of("carry-over-places", places=places))
    follows = _after_encrypted(one)
    if not _has_encrypted(one):
        unknown.insert(0, Reason.of("carry-over-only-plain"))
    estimates = _least_squares(one, [*columns, *([follows] if _has_encrypted(one) else [])])
    if estimates is None:
        return CarryOver((), None, None, (Reason.of("carry-over-few-trials"), *unknown))
    after = estimates.pop() if _has_encrypted(one) else None
    return CarryOver(tuple(estimates), after, _bias(after, places), tuple(unknown))


def _bias(after: ShareEffect | None, places: int) -> ShareEffect | None:
    """Of an overhead, for what follows encrypted twins.

    Each ordered pair of neighbours of a stratum is as likely as any other, 1 in ``places`` a block. A plain trial so
    follows one more encrypted twin than an encrypted trial does, itself: the baseline bears that much more.
    """
    if after is None:
        return None
    low, high = after.interval95
    return ShareEffect(-after.share / places, (-high / places, -low / places))


def _has_encrypted(one: StratumNoise) -> bool:
    return any(c.role is Role.TREATMENT for c in one.run.settings.conditions)


def _stretch(one: StratumNoise) -> FloatArray | None:
    """The place of each trial among its stratum's, shape (B, K), where these follow one another; None where not."""
    panel = one.fitted.panel
    rows = [[t.position for t in (*row, *more) if t] for row, more in zip(panel.trials, panel.twin_trials, strict=True)]
    if any(max(row) - min(row) != len(row) - 1 for row in rows):
        return None
    return panel.places[:, : len(panel.conditions)].astype(np.float64)


def _positions(one: StratumNoise, positions: FloatArray | None, places: int) -> list[FloatArray]:
    """An indicator for each place but the first, shape (B, K)."""
    in_block = [[trial.position for trial in row] for row in one.fitted.panel.trials]
    position = _table(one, in_block if positions is None else positions.tolist())
    return [(position == place).astype(np.float64) for place in range(1, places)]


def _after_encrypted(one: StratumNoise) -> FloatArray:
    """Whether a trial follows an encrypted twin's in its block, shape (B, K)."""
    at: Mapping[tuple[int, int, int], Condition] = {(t.round, t.block, t.position): t.condition for t in one.run.trials}
    follows = [
        [_is_encrypted(at.get((t.round, t.block, t.position - 1))) for t in row] for row in one.fitted.panel.trials
    ]
    return _table(one, follows)


def _is_encrypted(condition: Condition | None) -> float:
    return float(condition is not None and condition.role in (Role.TREATMENT, Role.BB))


def _table(one: StratumNoise, rows: Sequence[Sequence[float]]) -> FloatArray:
    whole = np.array(rows, dtype=np.float64)
    return whole[np.ix_(one.fitted.blocks, one.fitted.used)]


def _least_squares(one: StratumNoise, columns: Sequence[FloatArray]) -> list[ShareEffect] | None:
    """Each column's coefficient as a share, with its 95 % interval; None if they cannot be told apart."""
    if not columns:
        return []
    rounds = one.fitted.panel.rounds[one.fitted.blocks]
    y = _centred(np.log(one.fitted.own_costs), rounds).ravel()
    x = np.stack([_centred(column, rounds).ravel() for column in columns], axis=1)
    blocks, twins = one.fitted.own_costs.shape
    df = (blocks - len(np.unique(rounds))) * (twins - 1) - x.shape[1]
    gram = x.T @ x
    if df < 1 or gram.diagonal().min() < _LEAST_INFORMATION or np.linalg.cond(gram) > _WORST_CONDITION:
        return None
    inverse = np.linalg.inv(gram)
    found = inverse @ x.T @ y
    variance = float(((y - x @ found) ** 2).sum()) / df
    reach = t_reach(df) * np.sqrt(variance * np.diag(inverse))
    return [
        ShareEffect(math.expm1(value), (math.expm1(value - sd), math.expm1(value + sd)))
        for value, sd in zip(found.tolist(), reach.tolist(), strict=True)
    ]


def _centred(table: FloatArray, rounds: NDArray[np.intp]) -> FloatArray:
    """Less its block's mean and its instance's, shape (B, K)."""
    left = table - table.mean(axis=1, keepdims=True)
    for number in np.unique(rounds):
        left[rounds == number] -= left[rounds == number].mean(axis=0)
    return np.asarray(left, dtype=np.float64)

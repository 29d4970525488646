"""Costs that come in steps, as of a clock or a counter that is coarse: what they leave open of a mean.

Trials are timed to the nanosecond, so no two of them cost the same but by chance. Where half of them do, the figure
behind them has steps: a mean may be off by half of one where all trials of a twin lie in it; where they spread over
several, what is off cancels.
"""

from __future__ import annotations

import numpy as np

from tdelta.inference.posterior import FloatArray

_REPEATED = 0.5
"""The share of distinct costs from which on steps are none: of more, those that are alike are so by chance."""

_NOT_KNOWN = 1.0
"""The step, in logs, where all trials cost the same: nothing shows how far away the next value would be."""

_ALIKE = 12
"""Decimals of a logarithm that two equal costs have in common."""


def step_sd(costs: FloatArray) -> float:
    """How far off the log mean of a twin may be for the steps of its costs, as a standard deviation.

    Args:
        costs: shape (blocks, twins), NaN where a twin took no part.
    """
    logs = np.round(np.log(costs), _ALIKE)
    distinct = np.unique(logs[np.isfinite(logs)])
    if len(distinct) > _REPEATED * np.isfinite(logs).sum():
        return 0.0
    step = float(np.diff(distinct).min()) if len(distinct) > 1 else _NOT_KNOWN
    columns = [column[np.isfinite(column)] for column in logs.T]
    fullest = max(float(np.unique(it, return_counts=True)[1].max()) / len(it) for it in columns if len(it))
    return 0.5 * step * fullest**2 / float(np.sqrt(3.0))

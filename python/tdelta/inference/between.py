"""The difference of the overheads of two runs, from what their results keep: median, 95% and 99% HDI of each.

Runs have instances, blocks and hours of their own, so their posteriors are independent; what a run's own interval holds
is everything that differs between its rounds. A posterior is made again as a t of the log ratio: its centre is the
median, its scale the 95% interval's and its degrees of freedom the quotient of the two widths. That a difference made
so covers the truth as often as it says is simulated with whole runs (`tests/calibration/test_between.py`).

What lasts for a whole run and is another in the next (a kernel, a neighbour on the host) is in no single run's
interval; only a history of several runs shows it (`tdelta.inference.changes`).
"""

from __future__ import annotations

import functools
import math

import numpy as np

from tdelta.inference.posterior import FloatArray, Posterior, integrated, shortest, sinh_spaced
from tdelta.records import Estimate
from tdelta.records.history import Change, OverheadChange

_POINTS = 400
_REACH = 60.0
_DF = (1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 25.0, 60.0, 400.0)
_LEAST_WIDTH = 1e-9


def is_usable(estimate: Estimate) -> bool:
    """Whether a posterior can be made of it: finite, above zero, with some width."""
    ends = (*estimate.hdi99, *estimate.hdi95, estimate.median)
    return all(math.isfinite(end) and end > 0.0 for end in ends) and estimate.hdi95[0] < estimate.hdi95[1]


def posterior_of(estimate: Estimate) -> Posterior:
    """The posterior of a log ratio, made again from the figures that a result keeps; they must be usable."""
    half95, half99 = (0.5 * math.log(high / low) for low, high in (estimate.hdi95, estimate.hdi99))
    half95 = max(half95, _LEAST_WIDTH)
    widths, quantiles = _table()
    log_df = float(np.interp(-half99 / half95, -widths, np.log(_DF)))  # the widths fall with df
    scale = half95 / float(np.interp(log_df, np.log(_DF), quantiles))
    centre = math.log(estimate.median)
    theta = sinh_spaced(centre, scale, centre - _REACH * scale, centre + _REACH * scale)
    return integrated(theta, _log_t((theta - centre) / scale, math.exp(log_df)))


def standard_error(estimate: Estimate) -> float:
    """The standard deviation of a normal whose tails are no thinner at 95% and 99% than a usable estimate's."""
    return max(
        0.5 * math.log(high / low) / quantile
        for (low, high), quantile in ((estimate.hdi95, 1.959964), (estimate.hdi99, 2.575829))
    )


def difference(later: Estimate, earlier: Estimate, tolerance: float, *, is_valid: bool = True) -> OverheadChange:
    """How much larger the later overhead is than the earlier one.

    Args:
        later: the later run's ratio over its baseline.
        earlier: the earlier run's.
        tolerance: the difference of ratios that is not cared about.
        is_valid: whether both runs are.
    """
    if not (is_usable(later) and is_usable(earlier)):
        nothing = (float("nan"), float("nan"))
        return OverheadChange(float("nan"), nothing, float("nan"), Change.UNDECIDED if is_valid else Change.INVALID)
    value, cumulative = _of_ratios(posterior_of(later), posterior_of(earlier))
    return summary(value, cumulative, tolerance, is_valid=is_valid)


def summary(value: FloatArray, cumulative: FloatArray, tolerance: float, *, is_valid: bool = True) -> OverheadChange:
    """The figures of a distribution of a difference of ratios.

    Args:
        value: shape (n,), increasing differences.
        cumulative: shape (n,), from 0 to 1.
        tolerance: the difference that is not cared about.
        is_valid: whether its runs are.
    """
    low, high = shortest(lambda below: np.interp(below, cumulative, value), 0.95)
    above = 1.0 - float(np.interp(0.0, value, cumulative, left=0.0, right=1.0))
    median = float(np.interp(0.5, cumulative, value))
    change = decided(low, high, tolerance) if is_valid else Change.INVALID
    return OverheadChange(median, (low, high), above, change)


def decided(low: float, high: float, tolerance: float) -> Change:
    """What a 95% HDI of a difference says against a tolerance about 0."""
    if low > tolerance:
        return Change.LARGER
    if high < -tolerance:
        return Change.SMALLER
    return Change.UNCHANGED if low >= -tolerance and high <= tolerance else Change.UNDECIDED


def _of_ratios(later: Posterior, earlier: Posterior) -> tuple[FloatArray, FloatArray]:
    """The distribution of the difference of two independent ratios, on a grid."""
    shares = (np.arange(_POINTS) + 0.5) / _POINTS
    before, after = (np.exp(np.interp(shares, one.cumulative, one.theta)) for one in (earlier, later))
    centre = float(after[_POINTS // 2] - before[_POINTS // 2])
    narrow = max(_LEAST_WIDTH, float(np.hypot(np.ptp(after[_middle]), np.ptp(before[_middle]))) / 8.0)
    low, high = float(after[0] - before[-1]), float(after[-1] - before[0])
    value = sinh_spaced(centre, narrow, min(low, centre) - narrow, max(high, centre) + narrow)
    at = np.log(np.maximum(value[:, None] + before[None, :], 1e-300))
    cumulative = np.interp(at, later.theta, later.cumulative, left=0.0, right=1.0).mean(axis=1)
    return value, cumulative / cumulative[-1]


_middle = slice(_POINTS // 40, -(_POINTS // 40))


def _log_t(z: FloatArray, df: float) -> FloatArray:
    return np.asarray(-0.5 * (df + 1.0) * np.log1p(z**2 / df), dtype=np.float64)


@functools.cache
def _table() -> tuple[FloatArray, FloatArray]:
    """For each of `_DF`, the width of the 99% interval of a t over the 95% one's, and its 97.5% quantile."""
    found = []
    for df in _DF:
        z = sinh_spaced(0.0, 1.0, -1e4, 1e4, points=4001)
        of_t = integrated(z, _log_t(z, df))
        found.append((of_t.quantile(0.995) / of_t.quantile(0.975), of_t.quantile(0.975)))
    widths, quantiles = np.array(found).T
    return widths, quantiles

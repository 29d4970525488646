"""The difference of the overheads of two runs, from what their results keep: median, 95% and 99% HDI of each.

Runs have instances, blocks and hours of their own, so their posteriors are independent; what a run's own interval holds
is everything that differs between its rounds. A posterior is made again as a t of the log ratio: its centre is the
median, its scale the 95% interval's and its degrees of freedom the quotient of the two widths. That a difference made
so covers the truth as often as it says is simulated with whole runs (`tests/calibration/test_between.py`).

What lasts for a whole run and is another in the next (a kernel, a neighbour on the host) is in no single run's
interval; only a history of several runs shows it (`tdelta.inference.between`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from tdelta.errors import EnvironmentFault
from tdelta.inference.posterior import FloatArray, Posterior, as_posterior, integrated, mixture, shortest, sinh_spaced
from tdelta.messages import Refusal
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

    `later`: the later run's ratio over its baseline; `tolerance`: the difference of ratios that is not cared about.
    """
    if not (is_usable(later) and is_usable(earlier)):
        nothing = (float("nan"), float("nan"))
        return OverheadChange(float("nan"), nothing, float("nan"), Change.UNDECIDED if is_valid else Change.INVALID)
    value, cumulative = _of_ratios(posterior_of(later), posterior_of(earlier))
    return summary(value, cumulative, tolerance, is_valid=is_valid)


def summary(value: FloatArray, cumulative: FloatArray, tolerance: float, *, is_valid: bool = True) -> OverheadChange:
    """The figures of a distribution of a difference of ratios.

    `value`: shape (n,), increasing differences; `cumulative`: shape (n,), from 0 to 1.
    """
    low, high = shortest(lambda below: np.interp(below, cumulative, value), 0.95)
    above = 1.0 - float(np.interp(0.0, value, cumulative, left=0.0, right=1.0))
    median = float(np.interp(0.5, cumulative, value))
    change = decided(low, high, tolerance) if is_valid else Change.INVALID
    return OverheadChange(median, (low, high), above, change)


def decided(low: float, high: float, tolerance: float) -> Change:
    if low > tolerance:
        return Change.LARGER
    if high < -tolerance:
        return Change.SMALLER
    return Change.UNCHANGED if low >= -tolerance and high <= tolerance else Change.UNDECIDED


def _of_ratios(later: Posterior, earlier: Posterior) -> tuple[FloatArray, FloatArray]:
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


# Where a series of runs changed, by Apache Otava's library: E-divisive means propose places, this module judges them.
#
# The candidates are Otava's (Matteson and James 2014, JASA 109:334, as Fleming et al. 2023,
# doi:10.1145/3578244.3583719, apply it). Its own test is a t-test between points, which takes three runs for three
# numbers. Here a run is an interval: ``x_run ~ N(mu_stretch, se_run^2 + omega^2)`` for the log ratios, with ``omega``
# what runs differ by beyond their own uncertainty, ``omega ~ half-t_4(0.5%)``, integrated over a grid together with
# flat means. With two or three runs the prior says nearly all that is known of omega; with ten it is the runs.
#
# Places are proposed generously, one split after another, and then held beside each other, the least sure taken out
# first, as Fleming et al. do. A change is shown where the tail of the difference of means beyond 0, both sides, is at
# most `most_probable`: Otava's default for its own test, 0.001, or 1% over all places of a longer series. How many
# simulated histories without a change show one is held by `tests/calibration/test_changes.py`.
#
# Apache Otava is the extra ``tdelta[history]``.

MOST_PROBABLE = 0.001  # how probable a change of this size at this place may be where there is none
MOST_OF_SERIES = 0.01  # the same of any change in the whole series
_OMEGA_DF, _OMEGA_SCALE = 4.0, 0.005
_OMEGA = np.geomspace(1e-5, 0.5, 121)


@dataclass(frozen=True, slots=True)
class DetectedChange:
    """A change: the place of the first run after it, the ratios before and after, and how sure.

    ``probability`` is the two-sided tail of the difference of means.
    """

    at: int
    before: float
    after: float
    difference: OverheadChange
    probability: float


@dataclass(frozen=True, slots=True)
class Changes:
    """All changes of a series, and what runs of one stretch differ by (None where no stretch has two runs)."""

    found: tuple[DetectedChange, ...]
    between_runs_sd: float | None


def find_changes(ratios: Sequence[Estimate], tolerance: float) -> Changes:
    """Find where a series changed.

    `ratios`: usable estimates (`tdelta.inference.between.is_usable`), in the order of the runs; `tolerance`: the
    difference of ratios that is not cared about; it does not decide what is found, but what it is called. Raises
    `EnvironmentFault`: Apache Otava is not installed.
    """
    detector, calculator, base = _otava()
    if not ratios:
        return Changes((), None)
    x = np.log([one.median for one in ratios])
    errors = np.array([standard_error(one) for one in ratios]) ** 2
    places: list[int] = []
    if len(ratios) > 1:
        proposed = detector(significance_tester=_tester(base, errors), calculator=calculator).get_change_points(x)
        places = _kept(sorted(int(one.index) for one in proposed), x, errors)
    found = tuple(_change(at, places, x, errors, tolerance) for at in places)
    has_pairs = max(np.diff([0, *places, len(x)])) > 1
    return Changes(found, _between_runs(places, x, errors) if has_pairs else None)


MOST_PROPOSED = 0.05
"""The same of a place that is looked at beside all others: what went up and came back shows in no single split."""


def most_probable(runs: int) -> float:
    """How probable a change at one place of a series of so many runs may be where there is none."""
    return min(MOST_PROBABLE, MOST_OF_SERIES / max(1, runs - 1))


def _otava() -> tuple[Any, Any, Any]:
    try:
        detecting = import_module("otava.change_point_divisive.detector")
        calculating = import_module("otava.change_point_divisive.calculator")
        base = import_module("otava.change_point_divisive.base")
    except ImportError as error:
        said = Refusal.of("library-missing", library="Apache Otava", extra="history", fault=error)
        raise EnvironmentFault(said) from None
    return detecting.ChangePointDetector, calculating.PairDistanceCalculator, base


def _tester(base: Any, errors: FloatArray) -> Any:
    """A test as Otava's detector asks for one: of two neighbouring stretches."""

    class Tester(base.SignificanceTester):  # type: ignore[misc] # Otava has no types
        def change_point(self, candidate: Any, series: FloatArray, intervals: list[slice]) -> Any:
            places = sorted({*(i.stop for i in intervals if i.stop is not None), candidate.index})
            probability = _probability(int(candidate.index), places, series, errors)
            return base.ChangePoint.from_candidate(candidate, base.BaseStats(probability))

    return Tester(MOST_PROPOSED)


def _kept(places: list[int], x: FloatArray, errors: FloatArray) -> list[int]:
    """Those that hold beside all others: what later changes explain is taken out again, the least sure first."""
    while places:
        probabilities = [_probability(at, places, x, errors) for at in places]
        worst = int(np.argmax(probabilities))
        if probabilities[worst] <= most_probable(len(x)):
            break
        del places[worst]
    return places


@dataclass(frozen=True, slots=True)
class _Fit:
    weights: FloatArray
    means: FloatArray
    variances: FloatArray


def _fit(places: Sequence[int], x: FloatArray, errors: FloatArray) -> _Fit:
    """Every stretch between places, with one omega; stretches' means are flat and integrated out."""
    stretch = np.searchsorted(np.asarray(places), np.arange(len(x)), side="right")
    of = np.equal.outer(np.arange(len(places) + 1), stretch).astype(np.float64)
    weight = 1.0 / (errors[None, :] + _OMEGA[:, None] ** 2)
    total = weight @ of.T
    means = ((weight * x) @ of.T) / total
    misfit = (weight * (x - means[:, stretch]) ** 2).sum(axis=1)
    log_likelihood = 0.5 * (np.log(weight).sum(axis=1) - np.log(total).sum(axis=1) - misfit)
    log_prior = -0.5 * (_OMEGA_DF + 1.0) * np.log1p((_OMEGA / _OMEGA_SCALE) ** 2 / _OMEGA_DF) + np.log(_OMEGA)
    logs = log_likelihood + log_prior
    weights = np.exp(logs - logs.max())
    return _Fit(weights / weights.sum(), means, 1.0 / total)


def _probability(at: int, places: Sequence[int], x: FloatArray, errors: FloatArray) -> float:
    """The two-sided tail of the difference of the means on both sides of one of the places."""
    fit, left = _fit(places, x, errors), list(places).index(at)
    apart = fit.means[:, left + 1] - fit.means[:, left]
    z = apart / np.sqrt(fit.variances[:, left + 1] + fit.variances[:, left])
    above = float(fit.weights @ _normal_above(-z))
    return 2.0 * min(above, 1.0 - above)


def _change(at: int, places: Sequence[int], x: FloatArray, errors: FloatArray, tolerance: float) -> DetectedChange:
    fit, left = _fit(places, x, errors), list(places).index(at)
    (before, after) = (float(np.exp(fit.weights @ fit.means[:, side])) for side in (left, left + 1))
    apart = fit.means[:, left + 1] - fit.means[:, left]
    log_ratio = as_posterior(mixture(fit.weights, apart, fit.variances[:, left + 1] + fit.variances[:, left]))
    value = before * np.expm1(log_ratio.theta)  # the mean before is known far better than the difference is large
    difference = summary(value, log_ratio.cumulative, tolerance)
    return DetectedChange(at, before, after, difference, _probability(at, places, x, errors))


def _between_runs(places: Sequence[int], x: FloatArray, errors: FloatArray) -> float:
    cumulative = np.cumsum(_fit(places, x, errors).weights)
    return float(np.exp(np.interp(0.5, cumulative, np.log(_OMEGA))))


def _normal_above(z: FloatArray) -> FloatArray:
    from math import erfc

    return np.array([0.5 * erfc(value / np.sqrt(2.0)) for value in z])

"""Where a series of runs changed, by Apache Otava's library: E-divisive means propose places, this module judges them.

The candidates are Otava's (Matteson and James 2014, JASA 109:334, as Fleming et al. 2023, doi:10.1145/3578244.3583719,
apply it). Its own test is a t-test between points, which takes three runs for three numbers. Here a run is an
interval: ``x_run ~ N(mu_stretch, se_run^2 + omega^2)`` for the log ratios, with ``omega`` what runs differ by beyond
their own uncertainty, ``omega ~ half-t_4(0.5%)``, integrated over a grid together with flat means. With two or three
runs the prior says nearly all that is known of omega; with ten it is the runs.

Places are proposed generously, one split after another, and then held beside each other, the least sure taken out
first, as Fleming et al. do. A change is shown where the tail of the difference of means beyond 0, both sides, is at
most `most_probable`: Otava's default for its own test, 0.001, or 1% over all places of a longer series. How many
simulated histories without a change show one is held by `tests/calibration/test_changes.py`.

Apache Otava is the extra ``tdelta[history]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from tdelta.errors import EnvironmentFault
from tdelta.inference.between import standard_error, summary
from tdelta.inference.posterior import FloatArray, as_posterior, mixture
from tdelta.messages import Refusal
from tdelta.records import Estimate
from tdelta.records.history import OverheadChange

MOST_PROBABLE = 0.001
"""How probable a change of this size at this place may be where there is none."""
MOST_OF_SERIES = 0.01
"""The same of any change in the whole series."""

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

    Args:
        ratios: usable estimates (`tdelta.inference.between.is_usable`), in the order of the runs.
        tolerance: the difference of ratios that is not cared about; it does not decide what is found, but what it is
            called.

    Raises:
        EnvironmentFault: Apache Otava is not installed.
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
    """Means of the stretches over the grid of omega: weights (t,), means (t, s), variances (t, s)."""

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
    """The share of a standard normal above ``z``."""
    from math import erfc

    return np.array([0.5 * erfc(value / np.sqrt(2.0)) for value in z])

"""Several runs of a condition: the run is the unit, and what runs differ by is part of the answer.

``x_(condition, run) ~ N(mu_condition + beta * place, tau^2 + se^2)`` for the log means of runs; ``se`` is what the
runs' own data leave open, one figure a side, so that every run weighs the same and the ratio is the quotient of the
means shown. One tau for both conditions, integrated over a grid; the means are flat on their logs.

``place`` is a run's place in the session, where the order of runs is known: ``beta ~ N(0, tau^2)`` a place, a drift as
large from run to run as runs scatter anyway. Where conditions took turns it costs next to nothing; where all runs of
one came first, the interval has the width that such an order leaves.

Where it is not known, both orders in which one condition was over before the other began are as likely: the posterior
is that of the two together, as wide as such an order leaves it, and as wide as what a visible drift could have made.

Rounding is an error that the runs of a side share: three runs that print the same figure are off by the same amount.

One run each says nothing of tau: it decides only with what the user states.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from tdelta.inference.observed.curves import LogCurve, Plane, of_mixture, plane_of_normals
from tdelta.inference.observed.models import FEWEST_VALUES
from tdelta.inference.observed.pairing import Pair
from tdelta.inference.observed.settings import RatioPrior
from tdelta.inference.posterior import FloatArray, mixture
from tdelta.records import Observation, Series

TAU_SCALE = 0.01
"""``p(tau) ~ 1/(tau + 1%)``, on 0.002% to 200%: flat below 1%, so that two runs that happen to agree do not pass
for proof that runs agree; flat on the log above, where the interval is then that of a t."""

DRIFT_SCALE = 1.0  # the sd of the drift from one run to the next, in units of tau
_FEWEST_IN_CLUSTER, _WIDER, _LEAST_APART = 2, 3.0, 0.02
_TAU = np.geomspace(2e-5, 2.0, 121)
_VISIBLE = 0.95  # the share of a drift's posterior on one side of 0 from which it is visible


@dataclass(frozen=True, slots=True)
class Drift:
    """The drift of a session's runs: its posterior median a run, and whether it is visible.

    It is visible where 95% of the posterior lies on one side of 0. Without a drift that happens in 10 of 100 sessions:
    to miss a drift costs more than to suspect one.
    """

    a_run: float
    is_visible: bool


@dataclass(frozen=True, slots=True)
class RunsFit:
    weights: FloatArray  # shape (t,), sum to 1
    means: FloatArray  # shape (t, 2), of the log means of baseline and condition
    covariances: FloatArray  # shape (t, 2, 2)
    tau_median: float  # what runs differ by, a share
    drift: Drift | None = None  # None where the order of the runs is not known

    def log_ratio(self, *, is_inverse: bool) -> LogCurve:
        apart = self.means[:, 1] - self.means[:, 0]
        variances = self.covariances[:, 0, 0] + self.covariances[:, 1, 1] - 2.0 * self.covariances[:, 0, 1]
        return of_mixture(mixture(self.weights, -apart if is_inverse else apart, variances))

    def plane(self, prior: RatioPrior, *, is_inverse: bool) -> Plane:
        return plane_of_normals(self.weights, self.means, self.covariances, prior, is_inverse=is_inverse)


def fit_runs(
    baseline: Sequence[tuple[float, float]],
    condition: Sequence[tuple[float, float]],
    places: tuple[Sequence[float], Sequence[float]] | None = None,
    rounding: tuple[float, float] = (0.0, 0.0),
) -> RunsFit:
    """Fit the runs of two conditions.

    `baseline`: log mean and its variance, for each run; `places`: of the same runs in the session, 0, 1, 2, …; None
    where the order is not known; `rounding`: half a unit of the last printed digit on each side, as a share.
    """
    x = np.array([log_mean for log_mean, _ in (*baseline, *condition)])
    side = np.repeat([0, 1], [len(baseline), len(condition)])
    printed = np.array(rounding) ** 2 / 3.0
    own = np.array([np.mean([variance for _, variance in runs]) for runs in (baseline, condition)])
    place = np.zeros(len(x)) if places is None else np.array([*places[0], *places[1]], dtype=np.float64)
    place = (place - place.mean()) * (0.0 if places is None else DRIFT_SCALE)
    given = _given_tau(x, side, place, own + printed)
    log_weights = given.log_density + np.log(_TAU) - np.log(_TAU + TAU_SCALE)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    cumulative = np.cumsum(weights) - 0.5 * weights
    return RunsFit(
        weights,
        given.found[:, :2],
        given.covariances[:, :2, :2] + np.diag(printed),
        float(np.exp(np.interp(0.5, cumulative, np.log(_TAU)))),
        None if places is None else _drift(weights, given),
    )


def fit_either_first(
    baseline: Sequence[tuple[float, float]],
    condition: Sequence[tuple[float, float]],
    orders: Sequence[tuple[Sequence[float], Sequence[float]]],
    rounding: tuple[float, float] = (0.0, 0.0),
) -> RunsFit:
    """The same where only one of some orders is known to be the true one, all of them as likely."""
    fits = [fit_runs(baseline, condition, places, rounding) for places in orders]
    return RunsFit(
        np.concatenate([fit.weights for fit in fits]) / len(fits),
        np.concatenate([fit.means for fit in fits]),
        np.concatenate([fit.covariances for fit in fits]),
        fits[0].tau_median,
    )


def two_clusters(baseline: FloatArray, condition: FloatArray) -> tuple[float, int | None] | None:
    """How far apart two clusters of runs are that the conditions do not explain, and on which side; None without them.

    Shape (n,), log means of each side. Of all runs together (side None), or of one side's, the widest gap is three
    times the next one, 2% or more, and has two runs or more on either side of it.
    """
    sides = np.repeat([0, 1], [len(baseline), len(condition)])
    both = np.concatenate([baseline, condition])
    for of, values in ((None, both), (0, baseline), (1, condition)):
        order = np.argsort(values)
        gaps = np.diff(values[order])
        if len(values) < 2 * _FEWEST_IN_CLUSTER:
            continue
        at = int(np.argmax(gaps))
        if not _FEWEST_IN_CLUSTER <= at + 1 <= len(values) - _FEWEST_IN_CLUSTER:
            continue
        next_one = float(np.delete(gaps, at).max())
        is_of_conditions = of is None and len(set(sides[order][: at + 1])) == len(set(sides[order][at + 1 :])) == 1
        if gaps[at] > max(_WIDER * next_one, _LEAST_APART) and not is_of_conditions:
            return float(np.expm1(gaps[at])), of
    return None


@dataclass(frozen=True, slots=True)
class _GivenTau:
    log_density: FloatArray  # shape (t,), the restricted likelihood
    found: FloatArray  # shape (t, 3), both means and the drift
    covariances: FloatArray  # shape (t, 3, 3)


def _given_tau(x: FloatArray, side: FloatArray, place: FloatArray, errors: FloatArray) -> _GivenTau:
    """Both means and the drift by generalised least squares: the drift is a random slope of variance tau^2."""
    weight = 1.0 / (_TAU[:, None] ** 2 + errors[side])
    design = np.stack([side == 0, side == 1, place], axis=1).astype(np.float64)
    information = np.einsum("tn,ni,nj->tij", weight, design, design)
    information[:, 2, 2] += 1.0 / _TAU**2
    covariances = np.linalg.inv(information)
    found = np.einsum("tij,tj->ti", covariances, (weight * x) @ design)
    misfit = (weight * (x - found @ design.T) ** 2).sum(axis=1) + (found[:, 2] / _TAU) ** 2
    log_scale = np.log(weight).sum(axis=1) - 2.0 * np.log(_TAU) + np.linalg.slogdet(covariances)[1]
    return _GivenTau(0.5 * (log_scale - misfit), found, covariances)


def _drift(weights: FloatArray, given: _GivenTau) -> Drift:
    found = of_mixture(mixture(weights, given.found[:, 2], given.covariances[:, 2, 2])).posterior()
    low, high = found.quantile(1.0 - _VISIBLE), found.quantile(_VISIBLE)
    return Drift(DRIFT_SCALE * found.quantile(0.5), low > 0.0 or high < 0.0)


# The order in which runs were made: when they began, or one count through both conditions; else the worst it can be.
#
# Copied files have times of writing that are all alike, or in the order of their names. So times are believed only
# where every run has a beginning and no run begins before the one ahead of it is at least half through. Numbers are
# believed where no two runs of the two conditions have the same one: such a count goes through the whole session.
#
# Where neither is known, all runs of one condition may have come first, which is how most people measure, and a drift
# over the session is then in the difference. Numbers within a condition still say in which order its own runs were
# made.

_LAST_NUMBER = re.compile(r"(\d+)\D*$")
_SHARE_OF_A_RUN = 0.5
_SHORTEST_RUN_SECONDS = 10.0  # of runs whose length is not known


@dataclass(frozen=True, slots=True)
class Order:
    """The places of the runs in the session, 0 for the first. `baseline, condition`: shape (runs,)."""

    baseline: tuple[float, ...]
    condition: tuple[float, ...]

    @property
    def first(self) -> str | None:
        """Which side was over before the other began: ``baseline``, ``condition``, or None."""
        if max(self.baseline) < min(self.condition):
            return "baseline"
        return "condition" if max(self.condition) < min(self.baseline) else None


def order_of(pair: Pair) -> Order | None:
    """The order of the runs of a comparison; None where it is not known, or cannot be true."""
    starts = [start for run in pair.runs if (start := run.started_unix_seconds) is not None]
    if len(starts) == len(pair.runs) and _can_be_true(starts, pair.run_seconds):
        return Order(*pair.sides(_ranks(starts)))
    numbers = _numbers(pair.runs)
    return None if numbers is None else Order(*pair.sides(_ranks(numbers)))


def worst_orders(pair: Pair) -> tuple[Order, Order]:
    """The two orders in which one side was over before the other began; within it by number, else as it was read."""
    baseline, condition = (_places(runs) for runs in (pair.baseline_runs, pair.condition_runs))
    then = Order(baseline, tuple(len(baseline) + place for place in condition))
    return then, Order(tuple(len(condition) + place for place in baseline), condition)


def _can_be_true(starts: Sequence[float], lengths: Sequence[float | None]) -> bool:
    ordered = sorted(zip(starts, [_SHORTEST_RUN_SECONDS if n is None else n for n in lengths], strict=True))
    return all(later - start >= _SHARE_OF_A_RUN * seconds for (start, seconds), (later, _) in pairwise(ordered))


def _places(runs: Sequence[Observation]) -> tuple[float, ...]:
    numbers = _numbers(runs)
    return tuple(map(float, range(len(runs)))) if numbers is None else tuple(_ranks(numbers))


def _numbers(runs: Sequence[Observation]) -> list[int] | None:
    found = [_LAST_NUMBER.search(run.group.run) for run in runs]
    numbers = [int(match[1]) for match in found if match is not None]
    return None if len(numbers) < len(runs) or len(set(numbers)) < len(numbers) else numbers


def _ranks(values: Sequence[float]) -> list[float]:
    ranks: list[float] = np.argsort(np.argsort(values)).astype(float).tolist()
    return ranks


# Runs of unequal length: a load that slows for hours is another load after four minutes.
#
# Where every run has a series, all are cut to the length of the shortest, so that the same first part is compared.
# Where one has none, the comparison is kept from deciding.

UNEQUAL = 1.5  # the longest run over the shortest: beyond it runs are unequal in length


@dataclass(frozen=True, slots=True)
class Lengths:
    baseline: tuple[float, float]
    condition: tuple[float, float]

    @property
    def is_unequal(self) -> bool:
        return self.longest > UNEQUAL * self.shortest

    @property
    def shortest(self) -> float:
        return min(self.baseline[0], self.condition[0])

    @property
    def longest(self) -> float:
        return max(self.baseline[1], self.condition[1])


def lengths_of(pair: Pair) -> Lengths | None:
    """How long the runs of a comparison are; None where one does not say."""
    seconds = pair.run_seconds
    known = [length for length in seconds if length is not None and length > 0.0]
    if len(known) < len(seconds):
        return None
    baseline, condition = pair.sides(known)
    return Lengths((min(baseline), max(baseline)), (min(condition), max(condition)))


def same_part(pair: Pair, lengths: Lengths) -> Pair | None:
    """The comparison with every series cut to the shortest; None where a run has no series, or too little of one."""
    cut = [_first_part(run, beside, lengths.shortest) for run, beside in zip(pair.runs, pair.beside, strict=True)]
    whole = [run for run in cut if run is not None]
    if len(whole) < len(cut):
        return None
    baseline, condition = pair.sides(whole)
    return replace(pair, baseline_runs=baseline, condition_runs=condition, beside=(None,) * len(whole))


def _first_part(run: Observation, beside: Series | None, seconds: float) -> Series | None:
    series = run if isinstance(run, Series) else beside
    if series is None or (series.group.metric, series.group.transaction) != (run.group.metric, run.group.transaction):
        return None
    count = round((seconds - series.starts_at_seconds) / series.interval_seconds)
    return series.first(count) if count >= FEWEST_VALUES else None

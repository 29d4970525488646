"""From the typical cost to the mean cost: what rare, expensive trials add to a condition.

Stage 1 says where the trials of a condition typically lie and discounts the odd one. The owner pays for the odd one,
too: the *ratio of means* is ``exp(theta) M_condition / M_plain``, where M is the mean of ``exp(residual)`` (Duan 1983,
"Smearing estimate: a nonparametric retransformation method", JASA 78:605). What a trial adds to M beyond what the
typical cost has counted already, its *excess*, is ``exp(residual) - 1 - influence``: next to nothing for a trial as
expected, ``f - 1`` for one that took f times as long. An instance that lies off the others of its condition as a whole
has all its trials in the mean, too: the typical cost averages instances by their logarithms, and the owner pays their
mean. So the residual here is that of the trial and of its instance (`instance_residuals`) together.

Excesses come in two kinds. Small ones are many, and their mean is normal. Large ones are rare *events*: stalls. One
that lasts over neighbouring blocks of a round is one event, on however many of a condition's twins it was met. Their
sum is a weighted Poisson count, and its posterior a gamma distribution with the same mean and variance, half the draws
with the largest event once more, as one that just was not met (Fay and Feuer 1997, Statistics in Medicine 16:791; in
the mid-p form of Fay and Kim 2017, Biometrical Journal 59:1174). Where a condition met none, another may have met
some, on the same machine: each is given a few events' worth of what all conditions met together, and how many is
estimated from how unevenly they met them (a Dirichlet-multinomial over four strengths). So a stall or two on one side
does not pass for a difference, and many on one side alone do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tdelta.design.randomness import stream
from tdelta.inference.noise import InstanceMeans
from tdelta.inference.posterior import FloatArray

SEED = 19571004  # fixed, so that the same trials give the same figures
LEAST_EVENT = 0.05  # an excess below 5% of the typical cost is no event, however quiet the trials are otherwise
EVENT_SDS = 3.0  # an event exceeds so many standard deviations of its kind's trials, too
MISSED = 0.05  # what may be missed is said at this risk: stalls so rare that none is met in 5% of runs of the length
_STRENGTHS = np.array([0.1, 0.3, 1.0, 3.0])
_STRENGTH_PRIOR = np.array([0.4, 0.3, 0.2, 0.1])
_DRAWS = 1600
_TAIL = 60
_MIDDLE = 150
_LONGEST_LOG = 12.0
"""A trial is taken as at most 160,000 times as long as expected: beyond that a float would overflow in the square."""

_LEAST_MEAN = 0.02


@dataclass(frozen=True, slots=True)
class Events:
    """The excesses of one condition's trials, as shares of its typical cost."""

    trials: int
    above: FloatArray  # shape (e,), the sums of events that cost more than is typical
    below: FloatArray  # shape (f,), of those that cost less, positive numbers
    small: FloatArray  # shape (s,), the excesses of all other trials
    stalled: int  # how many trials the events above consist of
    shared_variance: float = 0.0  # of the mean, what odd instances add because they move the typical cost along with it

    @property
    def effective(self) -> float:
        """How many equal events would scatter as much as these (Kish 1965); 0 without any."""
        squares = float((self.above**2).sum())
        return float(self.above.sum()) ** 2 / squares if squares else 0.0

    @property
    def cost(self) -> float:
        return float(self.above.sum()) / max(1, self.trials)

    @property
    def missed_share(self) -> float:
        """Stalls in a smaller share of trials than this are missed by more than `MISSED` of runs of this length."""
        return 1.0 - float(MISSED ** (1.0 / max(1, self.trials)))


@dataclass(frozen=True, slots=True)
class Shift:
    """Posterior of ``log(M_condition / M_plain)``, by which the ratio of means lies above the typical ratio."""

    points: FloatArray  # shape (n,), increasing
    weights: FloatArray  # shape (n,), summing to 1

    @property
    def mean(self) -> float:
        return float(self.weights @ self.points)

    @property
    def variance(self) -> float:
        return float(self.weights @ (self.points - self.mean) ** 2)


NO_SHIFT = Shift(np.zeros(1), np.ones(1))  # the mean lies where the typical trial lies


def instance_residuals(means: InstanceMeans, thetas: NDArray[np.intp]) -> FloatArray:
    """How far each instance lies off the mean of its condition's, as a log cost, shape (R, K); 0 where there is none.

    The round's own level is the median over its twins, each less what its condition typically costs: one odd instance
    does not move it. `thetas`: shape (K,), the number of each column's condition, 0 for plain twins.
    """
    there = means.blocks > 0
    values = np.where(there, means.means, np.nan)
    plain = _row_means(values, thetas == 0)
    contrasts = {int(theta): _row_means(values, thetas == theta) - plain for theta in np.unique(thetas)}
    typical = {theta: _median(found) for theta, found in contrasts.items()}
    level = values - np.array([typical[int(theta)] for theta in thetas])
    found = values - np.array([_median(row) for row in level])[:, None]
    for theta in contrasts:
        of = (thetas == theta) & there
        found[:, thetas == theta] -= found[of].mean() if of.any() else 0.0
    return np.where(there, found, 0.0)


def _row_means(values: FloatArray, columns: NDArray[np.bool_]) -> FloatArray:
    """The mean over some columns of each row, of what is not NaN; NaN where all is."""
    some = values[:, columns]
    count = np.count_nonzero(~np.isnan(some), axis=1)
    return np.where(count > 0, np.nansum(some, axis=1) / np.maximum(count, 1), np.nan)


def _median(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else 0.0


def events_of(means: InstanceMeans, thetas: NDArray[np.intp], theta: int) -> Events:
    """The excesses of the trials of one condition's twins.

    `thetas`: shape (K,), the number of each column's condition, 0 for plain twins.
    """
    columns = thetas == theta
    there = means.there[:, columns]
    of_instance = instance_residuals(means, thetas)[means.rounds][:, columns]
    residual = np.minimum(means.residual[:, columns] + of_instance, _LONGEST_LOG)
    excess = np.where(there, np.expm1(residual) - of_instance - means.influence[:, columns], 0.0)
    spread = math.sqrt(float(means.variance[means.kinds[columns]].mean()))
    least = max(LEAST_EVENT, EVENT_SDS * spread)
    above = _joined(np.where(excess > least, excess, 0.0).sum(axis=1), means.rounds)
    below = _joined(np.where(excess < -least, -excess, 0.0).sum(axis=1), means.rounds)
    is_event = np.abs(excess) > least
    small = excess[there & ~is_event]
    trials = int(there.sum())
    return Events(
        trials=trials,
        above=above,
        below=below,
        small=small,
        stalled=int((excess > least).sum()),
        shared_variance=_shared_variance(np.where(is_event, excess, 0.0), of_instance, means.blocks[:, columns]),
    )


def _shared_variance(
    events: FloatArray,  # shape (B, n), the excess of each trial that is an event
    of_instance: FloatArray,  # shape (B, n), how far its instance lies off the others
    blocks: FloatArray,  # shape (R, n), trials of each instance
) -> float:
    """The variance that odd instances add to a log mean.

    An instance that was met by chance, as a stall is, is in the typical cost and in what events add to it: twice the
    covariance of both, a sum over Poisson counts of one.
    """
    instances, trials = np.count_nonzero(blocks), float(blocks.sum())
    covariance = float((events * of_instance).sum()) / (instances * trials)
    return 2.0 * max(0.0, covariance) / (1.0 + max(0.0, float(events.sum()) / trials))


def _joined(by_block: FloatArray, rounds: NDArray[np.intp]) -> FloatArray:
    """The sums of runs of neighbouring blocks that have any, within a round."""
    hit = np.flatnonzero(by_block > 0.0)
    if not len(hit):
        return np.zeros(0)
    is_new = np.concatenate([[True], (np.diff(hit) > 1) | (np.diff(rounds[hit]) > 0)])
    return np.asarray(np.bincount(np.cumsum(is_new) - 1, by_block[hit]), dtype=np.float64)


def shifts(groups: Sequence[Events]) -> list[Shift]:
    """How far each condition's mean lies above its typical cost, beyond the first one's.

    `groups`: the events of every condition of a stratum, plain twins together first. Returns one for each group but the
    first.
    """
    if not any(len(g.above) + len(g.below) + len(g.small) for g in groups):
        return [NO_SHIFT for _ in groups[1:]]
    rng = stream(SEED, "stalls")
    above = _means([(g.above, g.trials) for g in groups], rng)
    below = _means([(g.below, g.trials) for g in groups], rng)
    logs = [
        np.log(np.maximum(1.0 + up - down + _small(group, rng), _LEAST_MEAN))
        for group, up, down in zip(groups, above, below, strict=True)
    ]
    return [_thinned(log - logs[0]) for log in logs[1:]]


def _small(group: Events, rng: np.random.Generator) -> FloatArray:
    count = len(group.small)
    if count < 2:
        return np.zeros(_DRAWS)
    error = math.sqrt(count) * float(group.small.std(ddof=1))
    return np.asarray((group.small.sum() + error * rng.standard_normal(_DRAWS)) / group.trials, dtype=np.float64)


def _means(groups: Sequence[tuple[FloatArray, int]], rng: np.random.Generator) -> list[FloatArray]:
    pooled = np.concatenate([events for events, _ in groups])
    trials = np.array([count for _, count in groups], dtype=np.float64)
    if not len(pooled):
        return [np.zeros(_DRAWS) for _ in groups]
    weights = _strength_posterior(np.array([len(events) for events, _ in groups]), trials)
    drawn = np.searchsorted(np.cumsum(weights), (np.arange(_DRAWS) + 0.5) / _DRAWS)
    strength = _STRENGTHS[np.minimum(drawn, len(_STRENGTHS) - 1)]
    once_more = np.arange(_DRAWS) % 2
    given = strength * trials.sum() / len(pooled)
    found = []
    for events, count in groups:
        largest = once_more * (events.max() if len(events) else 0.0)
        total = events.sum() + strength * pooled.mean() + largest
        squares = (events**2).sum() + strength * (pooled**2).mean() + largest**2
        found.append(rng.gamma(total**2 / squares) * squares / total / (count + given))
    return found


def _strength_posterior(counts: NDArray[np.intp], trials: FloatArray) -> FloatArray:
    """Posterior of the pooling strength, from how unevenly the groups met events."""
    share = len(trials) * trials / trials.sum()

    def log_likelihood(strength: float) -> float:
        given = strength * share
        terms = [math.lgamma(g + n) - math.lgamma(g) for g, n in zip(given, counts, strict=True)]
        return math.lgamma(float(given.sum())) - math.lgamma(float(given.sum() + counts.sum())) + math.fsum(terms)

    logs = np.log(_STRENGTH_PRIOR) + np.array([log_likelihood(float(s)) for s in _STRENGTHS])
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _thinned(draws: FloatArray) -> Shift:
    """Draws as few weighted points, the tails kept one by one."""
    ordered = np.sort(draws)
    parts = np.array_split(ordered[_TAIL:-_TAIL], _MIDDLE)
    points = np.concatenate([ordered[:_TAIL], [part.mean() for part in parts], ordered[-_TAIL:]])
    weights = np.concatenate([np.ones(_TAIL), [len(part) for part in parts], np.ones(_TAIL)]) / len(draws)
    return Shift(points, weights)

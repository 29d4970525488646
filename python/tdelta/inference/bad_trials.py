"""How much more often a trial has any transaction beyond the threshold: a bound for stalls that come in clumps.

One stall holds up dozens of transactions of one trial, so thousands of slow transactions may be four events, and shares
of transactions know next to nothing. Trials that have *any* are counted instead: bad trials. Given how many there are
in a round, those of the condition are binomial with probability rho n / (rho n + m), where n and m are both sides'
trials (Przyborowski and Wilenski 1940, Biometrika 31:313); drift of a round cancels in it. Instances differ by chance
in how often they stall: it is normal in the log of their rate, and its sd is averaged over, with what all instances of
all rounds say about it. Ends are Clopper and Pearson's: the rates at which so many (or so few) bad trials on the
condition's side would come in 2.5% of runs.

Limits: with one round the instance effect is its prior (`INSTANCE_SD`) and what the plain twins differ by; stalls that
last over several trials of one instance look like instance effects, and are recognized as such from several rounds
only. A rate is of trials as long as these. Coverage: ``benches/results/tails.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tdelta.inference.posterior import FloatArray
from tdelta.records import BadTrials

INSTANCE_SD = 0.2
"""Median sd of an instance effect, of the log of how often it stalls; half-Cauchy, so much more is possible."""

MOST = 0.5  # share of bad trials on both sides above which they are no count of events: nearly every trial has some
_INSTANCE_SDS = INSTANCE_SD * np.tan(0.5 * np.pi * (np.arange(12) + 0.5) / 12)  # points of equal prior mass
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(11)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_FARTHEST = 8.0
_GRID = np.linspace(-_FARTHEST, _FARTHEST, 81)
_PRIOR_SD = 2.0  # of the log rate, while the sd of instance effects is weighed; the interval itself has no prior for it
_TAIL = 0.025
_HALVINGS = 24


@dataclass(frozen=True, slots=True)
class BadCounts:
    """The trials of one side: shape (R, m), one row for each round and one column for each twin."""

    bad: FloatArray
    trials: FloatArray

    @property
    def total(self) -> tuple[int, int]:
        return int(self.bad.sum()), int(self.trials.sum())


@dataclass(frozen=True, slots=True)
class _Split:
    """Rounds' bad trials, shared out between two groups of instances."""

    one: FloatArray  # shape (R,), those of the one group
    both: FloatArray  # shape (R,), those of both
    offset: FloatArray  # shape (R,), log of the quotient of their trials
    spread: float  # the sd of the difference of their effects, in sds of an instance effect


def bad_counts(longer: FloatArray, rounds: NDArray[np.intp]) -> BadCounts:
    """One side's trials by round and twin.

    `longer`: shape (B, m), transactions beyond the threshold in each block's trials on each of the side's twins;
    `rounds`: shape (B,), the round of each block.
    """
    numbers, at = np.unique(rounds, return_inverse=True)
    bad, trials = (np.zeros((len(numbers), longer.shape[1])) for _ in range(2))
    np.add.at(bad, at, longer > 0)
    np.add.at(trials, at, 1.0)
    return BadCounts(bad, trials)


def bad_trials(condition: BadCounts, baseline: BadCounts) -> BadTrials:
    """Both sides' counts, and the ratio of their rates with its 95% interval.

    Nothing bounds the ratio from above where the baseline has no bad trial, and from below where the condition has
    none; where most trials of both are bad there is no interval at all.
    """
    (here, of_here), (there, of_there) = condition.total, baseline.total
    found = BadTrials(here, of_here, there, of_there, condition.bad.shape[0])
    if not here + there or min(here / of_here, there / of_there) > MOST:
        return found
    split = _between(condition, baseline)
    weights = _instance_sd_weights(split, [*_within(condition), *_within(baseline)])
    low = _end(split, weights, at_least=True) if here else 0.0
    high = _end(split, weights, at_least=False) if there else None
    return BadTrials(here, of_here, there, of_there, condition.bad.shape[0], low, high)


def _between(condition: BadCounts, baseline: BadCounts) -> _Split:
    here, there = condition.bad.sum(axis=1), baseline.bad.sum(axis=1)
    offset = np.log(condition.trials.sum(axis=1) / baseline.trials.sum(axis=1))
    spread = np.sqrt(1.0 / condition.bad.shape[1] + 1.0 / baseline.bad.shape[1])
    return _Split(here, here + there, offset, float(spread))


def _within(side: BadCounts) -> list[_Split]:
    """Each twin of a side against all that come after it: they differ by instance effects only."""
    twins = side.bad.shape[1]
    return [
        _Split(
            side.bad[:, at],
            side.bad[:, at:].sum(axis=1),
            np.log(side.trials[:, at] / side.trials[:, at + 1 :].sum(axis=1)),
            float(np.sqrt(1.0 + 1.0 / (twins - at - 1))),
        )
        for at in range(twins - 1)
    ]


def _instance_sd_weights(split: _Split, within: list[_Split]) -> FloatArray:
    """How much each of `_INSTANCE_SDS` is worth once all instances are seen, shape (L,)."""
    by_rate = _log_likelihood(split, _GRID) - 0.5 * (_GRID / _PRIOR_SD) ** 2
    total = _log_sum(by_rate, axis=1)
    for one in within:
        total = total + _log_likelihood(one, np.zeros(1))[:, 0]
    weights = np.exp(total - total.max())
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _log_likelihood(split: _Split, log_rates: FloatArray) -> FloatArray:
    """Of the sd of instance effects and the log ratio of rates, over all rounds, shape (L, G)."""
    total = np.zeros((len(_INSTANCE_SDS), len(log_rates)))
    for one, both, offset in zip(split.one, split.both, split.offset, strict=True):
        shift = split.spread * _INSTANCE_SDS[:, None, None] * _NODES
        share = _share(log_rates[:, None] + offset + shift)
        logs = one * np.log(share) + (both - one) * np.log1p(-share)
        total += _log_sum(logs + np.log(_WEIGHTS), axis=2)
    return total


def _end(split: _Split, weights: FloatArray, *, at_least: bool) -> float:
    """The ratio at which so many bad trials of the condition or more (or fewer) would come in 2.5% of runs."""
    low, high = -_FARTHEST, _FARTHEST
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        chances = _chances(split, weights, middle)
        observed = round(float(split.one.sum()))
        chance = chances[observed:].sum() if at_least else 1.0 - chances[: observed + 1].sum()
        beyond = chance > _TAIL if at_least else chance > 1.0 - _TAIL
        low, high = (low, middle) if beyond else (middle, high)
    return float(np.exp(0.5 * (low + high)))


def _chances(split: _Split, weights: FloatArray, log_rate: float) -> FloatArray:
    """Of 0, 1, … bad trials of the condition in all rounds: a convolution, by its characteristic function."""
    size = round(float(split.both.sum())) + 1
    turn = np.exp(-2j * np.pi * np.arange(size) / size)
    product = np.ones((len(_INSTANCE_SDS), size), dtype=np.complex128)
    kinds, times = np.unique(np.stack([split.both, split.offset]), axis=1, return_counts=True)
    for (both, offset), count in zip(kinds.T, times, strict=True):
        share = _share(log_rate + offset + split.spread * _INSTANCE_SDS[:, None] * _NODES)[..., None]
        of_round = (_WEIGHTS[:, None] * (1.0 - share + share * turn) ** both).sum(axis=1)
        product *= of_round**count
    return np.asarray(np.clip(np.fft.ifft(weights @ product).real, 0.0, 1.0), dtype=np.float64)


def _share(log_odds: FloatArray) -> FloatArray:
    return np.asarray(np.clip(1.0 / (1.0 + np.exp(-np.clip(log_odds, -30.0, 30.0))), 1e-12, 1.0 - 1e-12))


def _log_sum(logs: FloatArray, axis: int) -> FloatArray:
    top = logs.max(axis=axis, keepdims=True)
    return np.asarray(np.log(np.exp(logs - top).sum(axis=axis)) + top.squeeze(axis), dtype=np.float64)

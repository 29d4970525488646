"""Tails of simulated runs whose twins change between two hosts, one of which is slower or stalls more often.

``beside`` is how `tdelta.inference.tails` compares there: with the plain twin that is on the condition's host in every
round (the A/A twin), so that hosts cancel. Without it the condition is held against both plain twins, as on one host:
after an odd number of rounds it was on one of the hosts more often than they were.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.simulation import THREE
from calibration.tails import (
    Array,
    Slow,
    Stalling,
    TailTally,
    bins_of,
    drawn_by,
    in_medians_ns,
    p99_ratio,
    share_ratio,
    tally,
    times_ns,
)
from tdelta.design.layout import hosts_of
from tdelta.inference.bad_trials import bad_counts, bad_trials
from tdelta.inference.histograms import bin_of
from tdelta.records import TailRatio

HOSTS = 2


@dataclass(frozen=True)
class Runs:
    """Runs of so many rounds of blocks; ``beside``: see above."""

    rounds: int
    blocks: int
    beside: bool = True

    @property
    def plain(self) -> slice:
        """The columns of the plain twins that the third column is held against."""
        return slice(1, 2) if self.beside else slice(0, 2)


def hosts(seed: int, rounds: int) -> NDArray[np.intp]:
    """The host of the baseline, the A/A twin and the treatment in each round, shape (R, 3)."""
    placed = (hosts_of(seed, number, THREE, HOSTS) for number in range(rounds))
    return np.array([[of[condition] for condition in THREE] for of in placed])


def _times(
    rng: np.random.Generator, machine: Stalling, effect: float, slower: float, seed: int, runs: Runs
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    times, at = times_ns(rng, machine, effect, rounds=runs.rounds, blocks=runs.blocks)
    factor = np.exp(slower * hosts(seed, runs.rounds))[at][..., None]
    return (times * factor).astype(np.int64), at


def percentiles(machine: Stalling, effect: float, slower: float, experiments: int, runs: Runs) -> TailTally:
    """Experiments on the ratio of 99th percentiles; ``slower`` is the log of what all takes longer on a host."""

    def answer(index: int) -> tuple[float, TailRatio | None]:
        rng = drawn_by(index, "p99 on hosts", machine, effect, slower, runs)
        times, at = _times(rng, machine, effect, slower, index, runs)
        return math.exp(effect), p99_ratio(times[:, 2], times[:, runs.plain], at, rng)

    return tally(map(answer, range(experiments)))


def exceeded(machine: Stalling, effect: float, slower: float, share: float, experiments: int, runs: Runs) -> TailTally:
    """Experiments on the ratio of shares beyond what ``share`` of the first host's plain transactions exceed."""
    log_time = machine.quantile(share)
    last = bin_of(in_medians_ns(log_time))

    def answer(index: int) -> tuple[float, TailRatio | None]:
        rng = drawn_by(index, "exceeded on hosts", machine, effect, slower, share, runs)
        times, at = _times(rng, machine, effect, slower, index, runs)
        longer = (bins_of(times) > last).sum(axis=2).astype(np.float64)
        # of the hosts that the condition was on, as often as it was
        on = slower * hosts(index, runs.rounds)[:, 2]
        rates = [sum(machine.beyond(log_time - host, of) for host in on) for of in (effect, 0.0)]
        return rates[0] / rates[1], share_ratio(longer, machine.transactions, at, runs.plain)

    return tally(map(answer, range(experiments)))


def called_apart(slow: Slow, more: float, experiments: int, runs: Runs) -> float:
    """The share of runs of identical twins whose interval of bad trials leaves 1 out.

    ``more`` is the log of how many times as often what is slow comes on the second host.
    """
    called = 0
    for index in range(experiments):
        rng = drawn_by(index, "bad on hosts", slow, more, runs)
        longer, at = _longer(rng, slow, more, index, runs)
        found = bad_trials(bad_counts(longer[:, 2:], at), bad_counts(longer[:, runs.plain], at))
        low, high = found.low or 0.0, math.inf if found.high is None else found.high
        called += not low <= 1.0 <= high
    return called / experiments


def _longer(rng: np.random.Generator, slow: Slow, more: float, seed: int, runs: Runs) -> tuple[Array, NDArray[np.intp]]:
    """Slow transactions by block and twin; those of the second host are of a process that has so many more events."""
    here, at = slow.longer(rng, 1.0, rounds=runs.rounds, blocks=runs.blocks)
    busier = replace(slow, share=slow.share * math.exp(more))
    there, _ = busier.longer(rng, 1.0, rounds=runs.rounds, blocks=runs.blocks)
    return np.where(hosts(seed, runs.rounds)[at] == 1, there, here), at

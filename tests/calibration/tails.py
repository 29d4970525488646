"""Response times with tails, drift, stalls and luck, and how often the intervals of a tail hold the truth.

A transaction's log time is normal around its trial's; trials drift (an AR process of 60 s) and scatter; instances have
luck of their own, in all times and, apart from that, in how many transactions run into a stall; some trials have a
stall, which many of their transactions run into together. All of that is stationary, so the share beyond a threshold
and the 99th percentile have a truth in closed form: a mixture of two normals.

Apart from that, `Slow` counts what is beyond a threshold trial by trial, without times: a slow path that transactions
take one by one, or stalls that hold up sixty of them together; instances have luck in how often.
"""

import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.simulation import drifting
from tdelta.inference.bad_trials import bad_counts, bad_trials
from tdelta.inference.histograms import Counts, bin_of
from tdelta.inference.observed.tails import observed_tails
from tdelta.inference.tails import Shares, exceedance_ratio, percentile_ratio, reason_for_none, side_of
from tdelta.records import Binned, Bins, Group, Origin, TailRatio

Array = NDArray[np.float64]

_MEDIAN_NS = 1e6


@dataclass(frozen=True)
class Stalling:
    """Effects on response times: a trial's own scatter, drift that its block shares, luck of instances, stalls.

    Standard deviations are of log times; ``stalled`` are shares of transactions, and of trials that have a stall.
    """

    spread: float = 0.5
    trial_sd: float = 0.03
    drift_sd: float = 0.03
    instance_sd: float = 0.003
    stall_luck_sd: float = 0.1
    stalled: float = 0.005
    stalled_trials: float = 0.3
    stall_factor: float = 8.0
    transactions: int = 400

    @property
    def name(self) -> str:
        instance_effect = f"luck {100 * self.instance_sd:g} %, of stalls {100 * self.stall_luck_sd:g} %"
        return f"{self.transactions} a trial, {100 * self.stalled:g} % stalled, {instance_effect}"

    def beyond(self, log_time: float, effect: float) -> float:
        """The true share of transactions that take longer than ``exp(log_time)`` medians."""
        sd = math.sqrt(self.spread**2 + self.trial_sd**2 + self.drift_sd**2 + self.instance_sd**2)
        held_up = (log_time - effect - math.log(self.stall_factor)) / sd
        return (1.0 - self.stalled) * _upper((log_time - effect) / sd) + self.stalled * _upper(held_up)

    def quantile(self, beyond: float, effect: float = 0.0) -> float:
        """The log time that so large a share takes longer than."""
        low, high = -10.0, 20.0
        for _ in range(80):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.beyond(middle, effect) > beyond else (low, middle)
        return low


@dataclass(frozen=True)
class TailTally:
    """The results of many experiments: shares of them, and the median factor between an interval's end and its ratio.

    ``given`` is how many had an interval at all, ``covered`` how many of these held the truth.
    """

    covered: float
    given: float
    factor: float
    above: float
    below: float


@dataclass(frozen=True)
class Slow:
    """Transactions beyond a threshold: ``clump`` come together (1: a slow path), lasting for ``lasting`` trials."""

    share: float
    clump: int = 1
    instance_sd: float = 0.2
    trial_sd: float = 0.0
    lasting: int = 1
    transactions: int = 2000

    @property
    def name(self) -> str:
        kind = f"clumps of {self.clump}" if self.clump > 1 else "a slow path"
        lasting = f" over {self.lasting} trials each" if self.lasting > 1 else ""
        return (
            f"{kind}{lasting}, {100 * self.share:.2g} % of {self.transactions:,} a trial,"
            f" luck {100 * self.instance_sd:g} %"
        )

    @property
    def events(self) -> float:
        return self.share * self.transactions / self.clump

    def bad_rate(self, times: float) -> float:
        """The true share of trials with any, where there are so many times as many events."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(40)
        sd = math.hypot(self.instance_sd, self.trial_sd)
        some = -np.expm1(-times * self.events * np.exp(sd * nodes - 0.5 * sd**2))
        return float((weights * some).sum() / weights.sum())

    def longer(
        self, rng: np.random.Generator, times: float, *, rounds: int, blocks: int
    ) -> tuple[Array, NDArray[np.intp]]:
        """Transactions beyond the threshold, shape (B, 3): two plain twins, and one with so many times as many."""
        at = np.repeat(np.arange(rounds), blocks)
        instance_effect = (self.instance_sd * rng.normal(size=(rounds, 3)) - 0.5 * self.instance_sd**2)[at]
        own = self.trial_sd * rng.normal(size=(len(at), 3)) - 0.5 * self.trial_sd**2
        rate = self.events / self.lasting * np.exp(instance_effect + own) * np.array([1.0, 1.0, times])
        begun = rng.poisson(rate).reshape(rounds, blocks, 3)
        # A stall that outlasts its round goes on at its begin, so every trial sees as many.
        events = sum(np.roll(begun, shift, axis=1) for shift in range(self.lasting)).reshape(-1, 3)
        return np.minimum(float(self.transactions), self.clump * events.astype(np.float64)), at


@dataclass(frozen=True)
class BadTally:
    """The results of experiments on trials with any beyond a threshold: bad trials on average, and shares.

    ``above`` and ``below`` say where the truth lies of the interval; ``more`` and ``less`` leave 1 out.
    """

    bad: float
    given: float
    above: float
    below: float
    more: float
    less: float

    @property
    def covered(self) -> float:
        return 1.0 - self.above - self.below


def _upper(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2.0))


def in_medians_ns(log_time: float) -> int:
    """A time, ns, given as the log of how many medians it is."""
    return round(_MEDIAN_NS * math.exp(log_time))


def drawn_by(index: int, *cell: object) -> np.random.Generator:
    # Draws stay those of benches/results/tails.md, which had the field's earlier name.
    words = repr(cell).replace("instance_sd=", "luck_sd=")
    return np.random.default_rng([zlib.crc32(words.encode()), index])


def times_ns(
    rng: np.random.Generator, machine: Stalling, effect: float, *, rounds: int, blocks: int
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """The times of every transaction, shape (B, 3, n): baseline, A/A twin, treatment; and each block's round."""
    count, size = rounds * blocks, machine.transactions
    at = np.repeat(np.arange(rounds), blocks)
    instance_effect = machine.instance_sd * rng.normal(size=(rounds, 3))[at]
    stall_luck = np.exp(machine.stall_luck_sd * rng.normal(size=(rounds, 3)) - 0.5 * machine.stall_luck_sd**2)[at]
    places = rng.permuted(np.tile(np.arange(3), (count, 1)), axis=1)
    drift = np.take_along_axis(drifting(rng, machine.drift_sd, 3 * count).reshape(count, 3), places, axis=1)
    level = (
        instance_effect + drift + machine.trial_sd * rng.normal(size=(count, 3)) + effect * np.array([0.0, 0.0, 1.0])
    )
    has_stall = rng.random((count, 3)) < machine.stalled_trials
    held_up = rng.poisson(has_stall * size * machine.stalled / machine.stalled_trials * stall_luck)
    is_held_up = np.arange(size) < held_up[..., None]
    logs = level[..., None] + machine.spread * rng.normal(size=(count, 3, size))
    logs = logs + math.log(machine.stall_factor) * is_held_up
    return (_MEDIAN_NS * np.exp(logs)).astype(np.int64), at


def bins_of(times: NDArray[np.int64]) -> NDArray[np.int64]:
    bucket = np.maximum(np.frexp(times.astype(np.float64))[1].astype(np.int64) - 11, 0)
    return np.asarray((bucket << 10) + (times >> bucket), dtype=np.int64)


def counts_of(bins: NDArray[np.int64]) -> Counts:
    found, counts = np.unique(bins, return_counts=True)
    return Counts(found.astype(np.int64), counts.astype(np.int64))


def tally(answers: Iterable[tuple[float, TailRatio | None]]) -> TailTally:
    pairs = list(answers)
    given = [(truth, found) for truth, found in pairs if found is not None]
    if not given:
        return TailTally(math.nan, 0.0, math.nan, math.nan, math.nan)
    above = float(np.mean([truth > found.interval95[1] for truth, found in given]))
    below = float(np.mean([truth < found.interval95[0] for truth, found in given]))
    factor = float(np.median([found.interval95[1] / found.ratio for _, found in given]))
    return TailTally(1.0 - above - below, len(given) / len(pairs), factor, above, below)


def exceeded(
    machine: Stalling, effect: float, share: float, experiments: int, *, rounds: Sequence[int], blocks: int = 6
) -> TailTally:
    """Experiments with a threshold that so large a share of the baseline's transactions takes longer than."""
    log_time = machine.quantile(share)
    truth = machine.beyond(log_time, effect) / share
    last = bin_of(in_medians_ns(log_time))

    def answer(index: int) -> tuple[float, TailRatio | None]:
        rng = drawn_by(index, "exceeded", machine, effect, share, tuple(rounds), blocks)
        times, at = times_ns(rng, machine, effect, rounds=rounds[index % len(rounds)], blocks=blocks)
        longer = (bins_of(times) > last).sum(axis=2).astype(np.float64)
        return truth, share_ratio(longer, machine.transactions, at)

    return tally(map(answer, range(experiments)))


def share_ratio(longer: Array, transactions: int, at: NDArray[np.intp], plain: slice = slice(2)) -> TailRatio | None:
    """The interval of the third column over some of the first two; None where the rules give none."""
    size, others = np.full(len(at), float(transactions)), longer[:, plain]
    condition, baseline = Shares(longer[:, 2], size), Shares(others.sum(axis=1), others.shape[1] * size)
    if reason_for_none(condition.counted, baseline.counted, len(at), len(np.unique(at))):
        return None
    return exceedance_ratio(condition, baseline, at)


def slow_shares(slow: Slow, times: float, experiments: int, *, rounds: int, blocks: int) -> TailTally:
    """Experiments on the ratio of shares, where the encrypted twin has so many times as many slow transactions."""

    def answer(index: int) -> tuple[float, TailRatio | None]:
        longer, at = slow.longer(drawn_by(index, slow, times, rounds, blocks), times, rounds=rounds, blocks=blocks)
        return times, share_ratio(longer, slow.transactions, at)

    return tally(map(answer, range(experiments)))


def slow_trials(slow: Slow, times: float, experiments: int, *, rounds: int, blocks: int) -> BadTally:
    """Experiments on the ratio of the rates of trials with any, of the same runs."""
    truth = slow.bad_rate(times) / slow.bad_rate(1.0)
    ends, bad = [], []
    for index in range(experiments):
        longer, at = slow.longer(drawn_by(index, slow, times, rounds, blocks), times, rounds=rounds, blocks=blocks)
        found = bad_trials(bad_counts(longer[:, 2:], at), bad_counts(longer[:, :2], at))
        bad.append(found.condition_bad)
        if found.low is not None:
            ends.append((found.low, math.inf if found.high is None else found.high))
    low, high = np.array(ends or [(math.nan, math.nan)]).T
    given = len(ends) / experiments
    more, less = given * float((low > 1.0).mean()), given * float((high < 1.0).mean())
    return BadTally(float(np.mean(bad)), given, float((truth > high).mean()), float((truth < low).mean()), more, less)


def p99_ratio(
    condition: NDArray[np.int64], plain: NDArray[np.int64], at: NDArray[np.intp], rng: np.random.Generator
) -> TailRatio | None:
    """The ratio of 99th percentiles of times by block; None where one is not known."""
    own, other = (side_of([counts_of(bins_of(block.ravel())) for block in of]) for of in (condition, plain))
    return None if own is None or other is None else percentile_ratio(own, other, at, rng).ratio


def percentiles(
    machine: Stalling, effect: float, experiments: int, *, rounds: Sequence[int], blocks: int = 6
) -> TailTally:
    truth = math.exp(machine.quantile(0.01, effect) - machine.quantile(0.01))

    def answer(index: int) -> tuple[float, TailRatio | None]:
        rng = drawn_by(index, "p99", machine, effect, tuple(rounds), blocks)
        times, at = times_ns(rng, machine, effect, rounds=rounds[index % len(rounds)], blocks=blocks)
        return truth, p99_ratio(times[:, 2], times[:, :2], at, rng)

    return tally(map(answer, range(experiments)))


def observed(
    machine: Stalling, effect: float, share: float, experiments: int, *, runs: int
) -> tuple[TailTally, TailTally]:
    """The exceedance and the 99th percentile of so many runs per side, as other tools make them."""
    edges = np.concatenate([[0.0], np.geomspace(1e-3, 1e5, 932)])
    threshold_ms = float(edges[np.searchsorted(edges, math.exp(machine.quantile(share)))])
    log_time = math.log(threshold_ms)
    shares_truth = machine.beyond(log_time, effect) / machine.beyond(log_time, 0.0)
    p99_truth = math.exp(machine.quantile(0.01, effect) - machine.quantile(0.01))

    def side(rng: np.random.Generator, name: str, shift: float) -> list[Binned]:
        made = []
        for run in range(runs):
            times, _ = times_ns(rng, machine, shift, rounds=1, blocks=40)
            counts, _ = np.histogram(times[:, 2].ravel() / 1e6, edges)
            bins = Bins(tuple(edges.tolist()), tuple(counts.tolist()))
            made.append(Binned(Group(name, run=str(run)), Origin("simulated", "simulated"), bins))
        return made

    def answers() -> Iterable[tuple[tuple[float, TailRatio | None], tuple[float, TailRatio | None]]]:
        for index in range(experiments):
            rng = drawn_by(index, "observed", machine, effect, share, runs)
            found = observed_tails(side(rng, "plain", 0.0), side(rng, "aes", effect), threshold_ms)
            yield (shares_truth, found.longer_ratio), (p99_truth, found.p99_ratio)

    both = list(answers())
    return tally(one for one, _ in both), tally(other for _, other in both)

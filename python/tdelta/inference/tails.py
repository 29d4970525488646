"""Tails of a run: how often the user's threshold was exceeded, and the 99th percentile, over the plain twins'.

Secondary by design: tails need far more data than means, so nothing is decided on them. All figures come from the
trials' histograms over complete blocks, the mix as a whole and each transaction type; the models are here and in
`bad_trials`, their simulated coverage in ``docs/validation.md``. Both plain twins together are the baseline, as
everywhere; the A/A twin is set beside the other one, and shows what chance does to a tail here.

Where twins change hosts, the baseline is the plain twin that was on the condition's host in every block: both sides
then have the same hosts equally often, also after an odd number of rounds, and a slower host cancels. A condition
without such a twin has no tails, nor has the A/A twin.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tdelta.design import stream
from tdelta.inference.bad_trials import bad_counts, bad_trials
from tdelta.inference.fits import PLAIN, Panel, panels
from tdelta.inference.histograms import RESOLUTION, Counts, IntArray, bin_of, decode, longest_ns, merged, shortest_ns
from tdelta.inference.posterior import FloatArray
from tdelta.inference.quantiles import t_reach
from tdelta.messages import Caution, Reason
from tdelta.records import (
    ALL,
    Condition,
    Exceedance,
    Exceeding,
    Percentile,
    Percentile99,
    Role,
    RunSettings,
    TailMeasure,
    TailRatio,
    TailUnit,
    Trial,
)

# The ratio of two 99th percentiles: a Bayesian bootstrap over rounds, merging weighted histograms.
#
# Each draw gives every round a weight, Dirichlet(1, …, 1) over all of them (Rubin, Ann. Statist. 9, 1981), adds the
# blocks' histograms up with these weights, the same on both sides, and reads either percentile. Rounds are weighted and
# not blocks, since blocks of a round share the effects of its instances; with fewer than three there is no interval.
# Percentiles of single blocks are never averaged: the mean of many p99s is not the p99 of all (their intervals hold the
# truth 0 times in 100).
#
# The interval is ``± t sd`` of the draws' log ratios. A Dirichlet's draws of a mean scatter by ``(n - 1)/(n + 1)`` of
# the variance that n units give it, which is put back. It is approximate: a percentile is no smooth function of the
# data, and fewer than `FEWEST_PAIRS` pairs are not enough. Seeded by the run, so the same trials give the same figures.

QUANTILE = 0.99
FEWEST_PAIRS = 80  # pairs below which the interval holds the truth too seldom
FEWEST_ROUNDS = 3  # rounds below which no interval is given
FEWEST_BEYOND = 10  # transactions beyond a percentile, on each side, below which it is a few points and not shown
DRAWS = 2000
_EXACT = 1e-9


@dataclass(frozen=True, slots=True)
class Side:
    """One side's histograms, block by block, as a percentile of any weighting needs them."""

    bins: IntArray  # shape (m,), increasing: those that hold anything in any block
    surplus: FloatArray
    """Shape (m, B): a block's transactions up to a bin, less the quantile's share of all its transactions. The weighted
    sum over blocks turns from negative to not negative at the percentile's bin."""

    def in_rounds(self, at: NDArray[np.intp]) -> Side:
        """The same with rounds in the place of blocks; ``at`` says which round, from 0, each block is of."""
        is_of = np.equal.outer(at, np.arange(at.max() + 1)).astype(np.float64)
        return Side(self.bins, self.surplus @ is_of)

    def percentile_bins(self, weights: FloatArray) -> IntArray:
        """The bin of the percentile under each weighting; ``weights`` has shape (D, B)."""
        low = np.zeros(len(weights), dtype=np.intp)
        high = np.full(len(weights), len(self.bins) - 1, dtype=np.intp)
        tolerance = _EXACT * np.abs(self.surplus[-1]).max()
        for _ in range(len(self.bins).bit_length()):
            middle = (low + high) // 2
            reached = np.einsum("db,db->d", weights, self.surplus[middle]) >= -tolerance
            high = np.where(reached, middle, high)
            low = np.where(reached, low, np.minimum(middle + 1, high))
        return np.asarray(self.bins[high], dtype=np.int64)


def side_of(blocks: Sequence[Counts], quantile: float = QUANTILE) -> Side | None:
    """Histograms of one side made ready; None where too few transactions lie beyond the quantile."""
    total = np.array([block.total for block in blocks], dtype=np.float64)
    if total.sum() * (1.0 - quantile) < FEWEST_BEYOND * (1.0 - _EXACT):
        return None
    bins = np.unique(np.concatenate([block.bins for block in blocks]))
    held = np.zeros((len(blocks), len(bins)))
    for at, block in enumerate(blocks):
        held[at, np.searchsorted(bins, block.bins)] = block.counts
    return Side(bins, np.ascontiguousarray(np.cumsum(held, axis=1).T) - quantile * total)


def percentile_ns(counts: Counts, quantile: float) -> int | None:
    """A percentile of one histogram, ns; None where fewer than `FEWEST_BEYOND` transactions lie beyond it."""
    side = side_of([counts], quantile)
    return None if side is None else int(_times_ns(side, np.ones((1, 1)))[0])


def percentile_ratio(
    condition: Side, baseline: Side, rounds: NDArray[np.intp], rng: np.random.Generator, draws: int = DRAWS
) -> Percentile99:
    """The 99th percentiles of both sides and their ratio, from `FEWEST_ROUNDS` on with an approximate 95% interval.

    `rounds`: shape (B,), the round of each block.
    """
    numbers, at = np.unique(rounds, return_inverse=True)
    units = len(numbers)
    sides = condition.in_rounds(at), baseline.in_rounds(at)
    here, there = (int(_times_ns(side, np.ones((1, units)))[0]) for side in sides)
    if units < FEWEST_ROUNDS:
        return Percentile99(there, here, None, Reason.of("percentile-few-rounds", fewest=FEWEST_ROUNDS))
    # The scale of weights does not matter, so exponentials serve as a Dirichlet.
    weights = rng.standard_exponential((draws, units))
    logs = [np.log(_times_ns(side, weights)) for side in sides]
    sd = float(np.std(logs[0] - logs[1], ddof=1)) * np.sqrt((units + 1.0) / (units - 1.0))
    half = t_reach(units - 1.0, _MASS) * sd + RESOLUTION
    return Percentile99(there, here, with_interval(here / there, half, TailUnit.ROUND, units))


def _times_ns(side: Side, weights: FloatArray) -> IntArray:
    return np.asarray(np.maximum(longest_ns(side.percentile_bins(weights)), 1), dtype=np.int64)


# How much more often a threshold is exceeded: a ratio of shares, linearised over rounds, with Student's t.
#
# The share over all blocks is a ratio of sums, and the log of the quotient of two such shares is a smooth function of
# means, so its error is a sum of one small term for each block (its influence; Cochran, Sampling Techniques, 1977, sec.
# 2.11 and 6.5). What drifts over a block cancels in its term, transactions of one trial are never taken as independent,
# and clumps (a stall that many transactions run into) widen the interval as they should. Terms of a round share the
# effects of its instances, so the round is the unit. Of one round there is no interval, since nothing in it
# distinguishes instance effects from the condition; of two there is Student's t with one degree of freedom, never
# narrower than what blocks alone would give.
#
# Limits: nothing is known where nothing was exceeded, and little where it happened in few blocks: `FEWEST` and
# `FEWEST_BLOCKS` were chosen before the simulations of ``benches/results/tails.md``; others were not tried.

FEWEST = 10  # transactions beyond the threshold, on each side, below which no interval is given
FEWEST_BLOCKS = 8  # blocks that have any, on each side, below which no interval is given
FEWEST_FOR_RATIO = 2  # rounds below which no interval is given
_ENOUGH_ROUNDS = 3  # rounds from which on their scatter alone gives the interval: two may agree by chance
_MASS = 0.95


@dataclass(frozen=True, slots=True)
class Shares:
    """One side's transactions, block by block; of what other tools measured, run by run."""

    longer: FloatArray  # shape (B,), those that took longer than the threshold
    of: FloatArray  # shape (B,), all

    @property
    def counted(self) -> Exceeding:
        return Exceeding(int(self.longer.sum()), int(self.of.sum()), int((self.longer > 0).sum()))

    @property
    def share(self) -> float:
        return float(self.longer.sum() / self.of.sum())

    @property
    def influence(self) -> FloatArray:
        """The part that each block, or run, adds to the error of the log share; sums to 0."""
        return np.asarray((self.longer - self.share * self.of) / self.longer.sum(), dtype=np.float64)


def exceedance_ratio(condition: Shares, baseline: Shares, rounds: NDArray[np.intp]) -> TailRatio:
    """The quotient of two shares with its 95% interval; both sides must have some, and there be `FEWEST_FOR_RATIO`.

    `rounds`: shape (B,), the round of each block.
    """
    influence = condition.influence - baseline.influence
    by_round = in_rounds(influence, rounds)
    half = _reach(by_round)
    if len(by_round) < _ENOUGH_ROUNDS:
        half = max(half, _reach(influence))
    return with_interval(condition.counted.share / baseline.counted.share, half, TailUnit.ROUND, len(by_round))


def with_interval(ratio: float, half: float, unit: TailUnit, units: int) -> TailRatio:
    """A ratio with an interval that reaches as far to either side on the log scale."""
    return TailRatio(ratio, (float(ratio * np.exp(-half)), float(ratio * np.exp(half))), unit, units)


def in_rounds(values: FloatArray, rounds: NDArray[np.intp]) -> FloatArray:
    _, at = np.unique(rounds, return_inverse=True)
    return np.asarray(np.bincount(at, values), dtype=np.float64)


def reason_for_none(condition: Exceeding, baseline: Exceeding, blocks: int, rounds: int) -> Reason | None:
    none = [
        name
        for name, side in (("the configuration", condition), ("the unencrypted copies", baseline))
        if not side.longer
    ]
    if none:
        # P(no block of B has any) = (1 - p)^B; the p at which that is 5% bounds the share of blocks that would.
        bound = 1.0 - 0.05 ** (1.0 / max(1, blocks))
        return Reason.of("tail-none", sides=" nor on ".join(none), bound=bound)
    if rounds < FEWEST_FOR_RATIO:
        return Reason.of("tail-one-round")
    fewest = min(condition.longer, baseline.longer), min(condition.blocks_with, baseline.blocks_with)
    if fewest[0] < FEWEST or fewest[1] < FEWEST_BLOCKS:
        return Reason.of("tail-too-few", found=fewest[0], fewest=FEWEST)
    return None


def variance_of(terms: FloatArray) -> float:
    """Of the sum of so many small terms, one for each unit."""
    return len(terms) / (len(terms) - 1) * float(((terms - terms.mean()) ** 2).sum())


def _reach(terms: FloatArray) -> float:
    return t_reach(len(terms) - 1.0, _MASS) * float(np.sqrt(variance_of(terms)))


LATENCY_LIMIT = "latency_limit_seconds"  # the option of a run that holds the threshold
SHOWN_QUANTILES = (0.95, 0.99)  # the percentiles that every run has
_TRANSACTIONS = "tx:"

Gathered: TypeAlias = Mapping[tuple[int, str], Mapping[str, Counts]]
"""The response times of a trial by transaction type, `ALL` among them; by block and condition's key."""
_Side: TypeAlias = Sequence[Sequence[Counts]]  # for each block the histograms of a side's twins


def threshold_ns(settings: RunSettings) -> int | None:
    seconds = settings.options.get(LATENCY_LIMIT)
    return round(1e9 * seconds) if isinstance(seconds, int | float) else None


def tail_measures(
    trials: Sequence[Trial], settings: RunSettings, read: Callable[[], Iterable[Trial]]
) -> tuple[TailMeasure, ...]:
    """The tails of every judged condition and A/A twin, stratum by stratum, the mix before the transaction types.

    `settings`: the run's; the threshold is in its options; `read`: gives the same trials with their histograms, one by
    one; not called where there is nothing to ask. Without a threshold and with fewer than `FEWEST_PAIRS` blocks there
    are only the mix's percentiles; nothing where no histograms are kept. Raises `TdeltaError`: if a stratum has not
    exactly one baseline, or a histogram is damaged.
    """
    latency_limit_ns = threshold_ns(settings)
    found = [panel for panel in panels(trials, settings) if panel.trials]
    if not found:
        return ()
    used = {(t.block, t.condition.key) for panel in found for row in panel.trials for t in row}
    kept = (trial for trial in read() if (trial.block, trial.condition.key) in used)
    gathered = {(trial.block, trial.condition.key): _by_transaction(trial) for trial in kept}
    return tuple(measure for panel in found for measure in _of_panel(panel, gathered, latency_limit_ns, settings.seed))


def tail_cautions(trials: Sequence[Trial], measures: Sequence[TailMeasure], settings: RunSettings) -> Iterator[Caution]:
    """Whose tails are left out, and what a run that was given a threshold could not say of it."""
    apart = [condition for panel in panels(trials, settings) for condition in _apart(panel)]
    yield from (Caution.of("tails-without-plain-twin", condition=condition.key) for condition in apart)
    if threshold_ns(settings) is not None and not apart and not any(one.exceedance for one in measures):
        yield Caution.of("latency-limit-no-times")


def _apart(panel: Panel) -> Iterator[Condition]:
    plain = np.flatnonzero(panel.where(*PLAIN)).tolist()
    for at, condition in enumerate(panel.conditions):
        if panel.trials and condition.role.is_judged and not _beside(panel, at, plain):
            yield condition


def _beside(panel: Panel, at: int, plain: Sequence[int]) -> list[int]:
    if len(panel.host_names) == 1:
        return list(plain)
    hosts = panel.hosts
    return [column for column in plain if bool((hosts[:, column] == hosts[:, at]).all())]


def _by_transaction(trial: Trial) -> dict[str, Counts]:
    types = {
        name.removeprefix(_TRANSACTIONS): decode(payload)
        for name, payload in trial.measurement.histograms.items()
        if name.startswith(_TRANSACTIONS)
    }
    return {**types, ALL: merged(list(types.values()))}


def _of_panel(panel: Panel, gathered: Gathered, latency_limit_ns: int | None, seed: int) -> Iterator[TailMeasure]:
    has_tails = latency_limit_ns is not None or len(panel.trials) >= FEWEST_PAIRS
    transactions = _transactions(panel, gathered) if has_tails else [ALL]
    for at, condition in enumerate(panel.conditions):
        if condition.role is not Role.BASELINE:
            plain = panel.where(Role.BASELINE) if condition.role is Role.AA else panel.where(*PLAIN)
            beside = _beside(panel, at, np.flatnonzero(plain).tolist())
            for transaction in transactions if beside else ():
                sides, kept = _compared(panel, gathered, transaction, [at], beside)
                measure = _measure(kept, condition, transaction, sides, latency_limit_ns, seed)
                if measure.exceedance is not None or measure.p99 is not None or measure.percentiles:
                    yield measure


def _transactions(panel: Panel, gathered: Gathered) -> list[str]:
    """The mix and the types that ran in any trial; of a single type only the mix, which is the same."""
    names = {name for row in panel.trials for t in row for name in gathered.get((t.block, t.condition.key), {})}
    types = sorted(names - {ALL})
    return [*([ALL] if types else []), *(types if len(types) > 1 else [])]


def _compared(
    panel: Panel, gathered: Gathered, transaction: str, twins: Sequence[int], plain: Sequence[int]
) -> tuple[tuple[_Side, _Side], Panel]:
    """The histograms of condition and baseline in blocks in which the transaction ran on both, and their panel."""

    def counts(block: int, columns: Sequence[int]) -> list[Counts]:
        trials = (panel.trials[block][column] for column in columns)
        return [gathered.get((t.block, t.condition.key), {}).get(transaction, merged([])) for t in trials]

    pairs = [(counts(block, twins), counts(block, plain)) for block in range(len(panel.trials))]
    blocks = [block for block, sides in enumerate(pairs) if all(any(t.total for t in side) for side in sides)]
    kept = dataclasses.replace(panel, trials=tuple(panel.trials[b] for b in blocks), rounds=panel.rounds[blocks])
    return ([pairs[b][0] for b in blocks], [pairs[b][1] for b in blocks]), kept


def _measure(
    panel: Panel,
    condition: Condition,
    transaction: str,
    sides: tuple[_Side, _Side],
    latency_limit_ns: int | None,
    seed: int,
) -> TailMeasure:
    has_limit = latency_limit_ns is not None and panel.trials
    return TailMeasure(
        condition=condition,
        baseline=panel.baseline,
        transaction=transaction,
        blocks=len(panel.trials),
        rounds=panel.round_count,
        exceedance=_exceedance(panel, *sides, latency_limit_ns or 0) if has_limit else None,
        p99=_p99(panel, sides, seed),
        percentiles=tuple(_percentiles(sides)) if condition.role.is_judged and transaction == ALL else (),
    )


def _percentiles(sides: tuple[_Side, _Side]) -> Iterator[Percentile]:
    here, there = (merged([twin for block in side for twin in block]) for side in sides)
    for quantile in SHOWN_QUANTILES:
        plain_ns, own_ns = percentile_ns(there, quantile), percentile_ns(here, quantile)
        if plain_ns is not None and own_ns is not None:
            yield Percentile(quantile, plain_ns, own_ns)


def _exceedance(panel: Panel, own: _Side, plain: _Side, latency_limit_ns: int) -> Exceedance:
    last = bin_of(latency_limit_ns)
    condition, baseline = _shares(own, last), _shares(plain, last)
    here, there = condition.counted, baseline.counted
    reason = reason_for_none(here, there, len(panel.trials), panel.round_count)
    bad = [bad_counts(_longer(side, last), panel.rounds) for side in (own, plain)]
    return Exceedance(
        threshold_ns=latency_limit_ns,
        counted_from_ns=int(shortest_ns(np.array([last + 1]))[0]),
        baseline=there,
        condition=here,
        quotient=here.share / there.share if here.longer and there.longer else None,
        ratio=None if reason else exceedance_ratio(condition, baseline, panel.rounds),
        reason=reason,
        bad_trials=bad_trials(*bad),
    )


def _longer(blocks: _Side, last: int) -> FloatArray:
    return np.array([[twin.beyond(last) for twin in block] for block in blocks], dtype=np.float64)


def _shares(blocks: _Side, last: int) -> Shares:
    of = np.array([sum(twin.total for twin in block) for block in blocks], dtype=np.float64)
    return Shares(_longer(blocks, last).sum(axis=1), of)


def _p99(panel: Panel, sides: tuple[_Side, _Side], seed: int) -> Percentile99 | None:
    if len(panel.trials) < FEWEST_PAIRS:
        return None
    condition, baseline = (side_of([merged(twins) for twins in side]) for side in sides)
    if condition is None or baseline is None:
        return None
    # One stream for all: conditions of a run are held against the same draws, which costs nothing and scatters less.
    return percentile_ratio(condition, baseline, panel.rounds, stream(seed, "tails"))

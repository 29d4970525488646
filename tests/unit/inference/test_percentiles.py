import math

import numpy as np
import pytest

from support.refused import has
from tdelta.inference.histograms import Counts, bin_of, longest_ns, merged
from tdelta.inference.tails import FEWEST_BEYOND, percentile_ratio, side_of
from tdelta.records import TailUnit


def counts_of(times_ns: np.ndarray) -> Counts:
    bins, counts = np.unique([bin_of(int(time)) for time in times_ns], return_counts=True)
    return Counts(bins.astype(np.int64), counts.astype(np.int64))


def blocks(seed: int, count: int = 30, factor: float = 1.0, size: int = 60) -> list[Counts]:
    rng = np.random.default_rng(seed)
    levels = factor * np.exp(0.05 * rng.normal(size=count))
    return [counts_of(1e6 * level * rng.lognormal(0.0, 0.5, size)) for level in levels]


ROUNDS = np.repeat(np.arange(5), 6)
TWO_ROUNDS = np.repeat(np.arange(2), 15)


def by_hand(parts: list[Counts], weights: np.ndarray) -> int:
    bins = np.unique(np.concatenate([part.bins for part in parts]))
    held = np.zeros(len(bins))
    for part, weight in zip(parts, weights, strict=True):
        held[np.searchsorted(bins, part.bins)] += weight * part.counts
    return int(bins[np.argmax(np.cumsum(held) >= 0.99 * held.sum() * (1 - 1e-12))])


def test_the_percentile_of_any_weighting_is_that_of_the_weighted_histograms() -> None:
    parts = blocks(1)
    side = side_of(parts)
    weights = np.random.default_rng(2).standard_exponential((200, len(parts)))
    assert side.percentile_bins(weights).tolist() == [by_hand(parts, row) for row in weights]


def test_whole_rounds_weighted_alike_are_the_same_percentile() -> None:
    side = side_of(blocks(1))
    weights = np.random.default_rng(3).standard_exponential((50, 5))
    assert side.in_rounds(ROUNDS).percentile_bins(weights).tolist() == side.percentile_bins(weights[:, ROUNDS]).tolist()


def test_too_few_transactions_beyond_the_percentile_are_no_percentile() -> None:
    fewest = round(FEWEST_BEYOND / 0.01)
    assert side_of([counts_of(np.arange(1, fewest))]) is None
    assert side_of([counts_of(np.arange(1, fewest + 1))]) is not None


def found(condition: list[Counts], baseline: list[Counts], rounds: np.ndarray, seed: int = 1):
    here, there = side_of(condition), side_of(baseline)
    assert here is not None
    assert there is not None
    return percentile_ratio(here, there, rounds, np.random.default_rng(seed))


def test_the_percentiles_are_those_of_all_blocks_together() -> None:
    condition, baseline = blocks(1, factor=1.3), blocks(2)
    answer = found(condition, baseline, ROUNDS)
    ends = [int(longest_ns(np.array([by_hand(parts, np.ones(30))]))[0]) for parts in (baseline, condition)]
    assert [answer.baseline_ns, answer.condition_ns] == ends
    assert answer.ratio.ratio == ends[1] / ends[0]
    assert answer.ratio.interval95[0] < 1.3 < answer.ratio.interval95[1]
    assert (answer.ratio.unit, answer.ratio.units) == (TailUnit.ROUND, 5)


def test_fewer_than_three_rounds_have_percentiles_and_no_interval() -> None:
    answer = found(blocks(1, factor=1.3), blocks(2), TWO_ROUNDS)
    assert answer.ratio is None
    assert answer.quotient == answer.condition_ns / answer.baseline_ns
    assert has([answer.reason], "percentile-few-rounds", fewest=3)


def test_the_same_seed_gives_the_same_figures_and_another_nearly_so() -> None:
    condition, baseline = blocks(1), blocks(2)
    one, again, other = (found(condition, baseline, ROUNDS, seed) for seed in (1, 1, 2))
    assert one == again
    assert other.ratio.interval95 == pytest.approx(one.ratio.interval95, rel=0.02)
    assert other.ratio.interval95 != one.ratio.interval95


def test_an_interval_is_never_narrower_than_the_bins() -> None:
    same = [counts_of(np.full(60, 5_000_000))] * 30
    low, high = found(same, same, ROUNDS).ratio.interval95
    assert math.log(high / low) == pytest.approx(2**-9)


def test_more_transactions_of_the_same_blocks_are_no_more_evidence() -> None:
    condition, baseline = blocks(1), blocks(2)
    more = [[Counts(part.bins, 50 * part.counts) for part in parts] for parts in (condition, baseline)]
    few, many = found(condition, baseline, ROUNDS), found(*more, ROUNDS)
    assert many.ratio.interval95 == pytest.approx(few.ratio.interval95, rel=0.02)


def test_a_block_s_histogram_may_be_of_two_twins() -> None:
    plain, twin = blocks(3), blocks(4)
    both = [merged(pair) for pair in zip(plain, twin, strict=True)]
    assert found(blocks(1), both, ROUNDS).baseline_ns > 0

"""Tails of what other tools measured: what a design can bear, and both ends of what bins leave open."""

import math
from dataclasses import replace

import numpy as np
import pytest

from support.refused import has
from tdelta.inference.observed.tails import observed_tails
from tdelta.records import Binned, Bins, Group, Origin, Samples, TailUnit

ORIGIN = Origin("a.csv", "csv")
EDGES = tuple(float(edge) for edge in np.geomspace(0.1, 1000.0, 466))


def binned(condition: str, run: int, times_ms: object, edges: tuple[float, ...] = EDGES) -> Binned:
    counts, _ = np.histogram(np.asarray(times_ms, dtype=np.float64), edges)
    return Binned(Group(condition, run=str(run)), ORIGIN, Bins(edges, tuple(counts.tolist())))


def samples(condition: str, run: int, times_ms: object, zeros: int = 0) -> Samples:
    times = np.asarray(times_ms, dtype=np.float64)
    sums = float(times.sum()), float(np.log(times).sum()), float((times**2).sum())
    ends = float(times.min()), float(times.max())
    of = binned(condition, run, times)
    bins = Bins((0.0, *of.bins.edges), (zeros, *of.bins.counts)) if zeros else of.bins
    return Samples(of.group, ORIGIN, len(times) + zeros, *sums, *ends, bins, zeros=zeros)


def run(condition: str, number: int, seed: int, factor: float = 1.0, size: int = 4000) -> Binned:
    return binned(condition, number, factor * 5.0 * np.random.default_rng(seed).lognormal(0.0, 0.5, size))


def runs(condition: str, count: int, seed: int, factor: float = 1.0) -> list[Binned]:
    return [run(condition, number, seed + number, factor) for number in range(count)]


def test_of_one_run_a_side_only_quotients_are_told_and_why() -> None:
    found = observed_tails([run("plain", 1, 1)], [run("aes", 1, 2, 1.2)], 12.0)
    assert (found.longer_ratio, found.p99_ratio) == (None, None)
    assert has([found.longer_reason], "tail-too-few-runs", fewest=3)
    assert found.p99_reason == found.longer_reason
    assert found.longer_quotient is not None
    assert found.longer_quotient > 1.5
    assert found.p99_quotient == pytest.approx(1.2, rel=0.1)
    assert (found.baseline.condition, found.baseline.runs, found.baseline.count) == ("plain", 1, 4000)


def test_two_runs_of_a_side_are_still_too_few() -> None:
    found = observed_tails(runs("plain", 2, 1), runs("aes", 5, 50, 1.2), 12.0)
    assert found.longer_ratio is None
    assert has([found.longer_reason], "tail-too-few-runs", runs="2 runs", fewest=3)


def test_from_three_runs_a_side_on_the_run_is_the_unit() -> None:
    found = observed_tails(runs("plain", 3, 1), runs("aes", 4, 50, 1.2), 12.0)
    assert (found.longer_reason, found.p99_reason) == (None, None)
    for ratio, quotient in ((found.longer_ratio, found.longer_quotient), (found.p99_ratio, found.p99_quotient)):
        assert (ratio.ratio, ratio.unit, ratio.units) == (pytest.approx(quotient), TailUnit.RUN, 7)
        assert ratio.interval95[0] < ratio.ratio < ratio.interval95[1]


def test_more_transactions_of_the_same_runs_are_no_more_evidence() -> None:
    def more(side: list[Binned]) -> list[Binned]:
        return [replace(of, bins=Bins(of.bins.edges, tuple(50 * n for n in of.bins.counts))) for of in side]

    plain = [run("plain", number, 1 + number, factor) for number, factor in enumerate((0.8, 1.0, 1.2))]
    aes = [run("aes", number, 50 + number, factor) for number, factor in enumerate((1.0, 1.2, 1.4))]
    few, many = observed_tails(plain, aes, 12.0), observed_tails(more(plain), more(aes), 12.0)
    assert many.longer_ratio.interval95 == pytest.approx(few.longer_ratio.interval95)


def test_runs_that_agree_by_chance_leave_what_counting_alone_leaves() -> None:
    def alike(name: str, longer: int) -> list[Binned]:
        return [binned(name, number, [5.0] * (1000 - longer) + [30.0] * longer) for number in range(3)]

    found = observed_tails(alike("plain", 10), alike("aes", 20), 12.0)
    half = 1.96 * math.sqrt(0.99 / 30 + 0.98 / 60)
    ends = 2.0 * math.exp(-half), 2.0 * math.exp(half)
    assert found.longer_ratio.interval95 == pytest.approx(ends)


def test_percentiles_that_agree_by_chance_leave_what_counting_alone_leaves() -> None:
    times = [*(float(t) for t in range(1, 101))] * 10
    edges = tuple(float(edge) + 0.5 for edge in range(101))
    side = [binned("p", number, times, edges) for number in range(3)]
    found = observed_tails(side, side, None)
    # Of 3000 values the binomial sd is 0.18 %: one sd below the percentile is in its own bin, one above in the next.
    half = 1.96 * math.sqrt(2.0) * 0.5 * math.log(100.5 / 99.5) + math.log(99.5 / 98.5)
    assert found.p99_ratio.interval95 == pytest.approx((math.exp(-half), math.exp(half)))


def test_runs_that_differ_widen_the_interval() -> None:
    def width(factors: list[float]) -> float:
        aes = [run("aes", number, 50 + number, factor) for number, factor in enumerate(factors)]
        ratio = observed_tails(runs("plain", 4, 1), aes, 12.0).longer_ratio
        return math.log(ratio.interval95[1] / ratio.interval95[0])

    assert width([1.0, 1.4, 0.9, 1.5]) > 4 * width([1.2, 1.2, 1.2, 1.2])


def test_files_of_one_run_are_one_run() -> None:
    parts = [run("plain", 1, seed) for seed in (1, 2, 3)]
    found = observed_tails(parts, runs("aes", 3, 50), 12.0)
    assert (found.baseline.runs, found.baseline.count) == (1, 12_000)
    assert found.longer_ratio is None


def test_the_bin_that_the_threshold_lies_in_is_told_from_those_beyond() -> None:
    edges = (0.0, 10.0, 20.0, 40.0)
    plain, aes = (binned(name, 1, [5.0] * 90 + [15.0] * few + [30.0] * 4, edges) for name, few in (("p", 3), ("a", 6)))
    found = observed_tails([plain], [aes], 12.0)
    assert (found.baseline.longer_at_least, found.baseline.longer_at_most) == (4, 7)
    assert (found.condition.longer_at_least, found.condition.longer_at_most) == (4, 10)
    at_edge = observed_tails([plain], [aes], 10.0)
    assert (at_edge.condition.longer_at_least, at_edge.condition.longer_at_most) == (10, 10)


def test_both_sides_are_counted_from_an_edge_that_they_have_in_common() -> None:
    times = [5.0] * 90 + [13.0, 15.0, 18.0, 25.0, 30.0, 50.0] * 5
    fine = binned("p", 1, times, (0.0, 10.0, 14.0, 16.0, 20.0, 40.0, 80.0))
    coarse = binned("a", 1, times, (0.0, 10.0, 20.0, 40.0, 80.0))
    found = observed_tails([fine], [coarse], 12.0)
    assert found.counted_from_ms == 20.0
    assert (found.baseline.longer_at_least, found.condition.longer_at_least) == (15, 15)
    assert (found.baseline.longer_at_most, found.condition.longer_at_most) == (30, 30)
    assert found.longer_quotient == 1.0
    assert found.baseline.share == pytest.approx(15 / 120)


def test_edges_that_differ_by_what_printing_left_of_them_are_one() -> None:
    times = [5.0] * 90 + [11.0] * 30
    first = binned("p", 1, times, (1.0, 10.0, 12.0, 40.0))
    second = binned("a", 1, times, (1.0, 10.002, 12.003, 40.0))
    found = observed_tails([first], [second], 10.0)
    assert found.counted_from_ms == 10.002
    assert (found.baseline.longer_at_least, found.condition.longer_at_least) == (30, 30)


def test_a_threshold_in_a_bin_that_is_empty_everywhere_is_counted_from_itself() -> None:
    sides = [binned(name, 1, [5.0] * 90 + [30.0] * 10, (0.0, 10.0, 20.0, 40.0)) for name in ("p", "a")]
    assert observed_tails(sides[:1], sides[1:], 12.0).counted_from_ms == 12.0


def test_the_percentile_lies_between_the_edges_of_its_bin() -> None:
    times = 5.0 * np.random.default_rng(1).lognormal(0.0, 0.5, 4000)
    found = observed_tails([binned("p", 1, times)], [binned("a", 1, times)], None)
    assert found.baseline.p99_within_ms is not None
    low, high = found.baseline.p99_within_ms
    assert low <= np.quantile(times, 0.99, method="inverted_cdf") <= high
    assert high / low < 1.03
    assert (found.threshold_ms, found.longer_quotient, found.baseline.longer_at_least) == (None, None, None)


def test_a_percentile_with_fewer_than_ten_values_beyond_is_not_told() -> None:
    few, many = run("p", 1, 1, size=999), run("a", 1, 2, size=1000)
    found = observed_tails([few], [many], None)
    assert (found.baseline.p99_within_ms, found.p99_quotient) == (None, None)
    assert has([found.p99_reason], "no-percentile", needed=1000, found="p has 999")
    assert found.condition.p99_within_ms is not None


def test_a_percentile_in_a_bin_without_an_end_has_no_quotient() -> None:
    edges = (0.0, 10.0, math.inf)
    plain = binned("p", 1, [5.0] * 1950 + [15.0] * 50, edges)
    found = observed_tails([plain], [plain], 9.0)
    assert found.baseline.p99_within_ms == (10.0, math.inf)
    assert found.p99_quotient is None
    assert has([found.p99_reason], "percentile-without-end")
    within = observed_tails([plain], [plain], 12.0)
    assert within.counted_from_ms == math.inf
    assert (within.baseline.longer_at_least, within.baseline.longer_at_most) == (0, 50)


def test_nothing_longer_on_a_side_has_no_quotient() -> None:
    found = observed_tails(runs("plain", 3, 1), runs("aes", 3, 50), 900.0)
    assert (found.baseline.longer_at_least, found.longer_quotient, found.longer_ratio) == (0, None, None)
    assert has([found.longer_reason], "tail-without-ratio", names="plain and aes", conditions=2)


def test_fewer_than_ten_beyond_the_threshold_have_a_quotient_and_no_interval() -> None:
    def few(name: str, longer: int) -> list[Binned]:
        return [binned(name, number, [5.0] * 2000 + [30.0] * longer) for number in range(3)]

    found = observed_tails(few("plain", 3), few("aes", 8), 12.0)
    assert found.longer_quotient == pytest.approx((24 / 6024) / (9 / 6009))
    assert found.longer_ratio is None
    assert has([found.longer_reason], "tail-too-few", found=9, fewest=10)
    assert found.p99_ratio is not None


def test_times_that_a_coarse_clock_took_for_zero_count_as_short() -> None:
    found = observed_tails([samples("p", 1, [5.0] * 60 + [30.0] * 40, zeros=100)], [run("a", 1, 1)], 20.0)
    assert (found.baseline.count, found.baseline.longer_at_least) == (200, 40)


def test_no_observation_of_a_side_is_a_fault_of_the_caller() -> None:
    with pytest.raises(ValueError, match="none"):
        observed_tails([], [run("a", 1, 1)], 12.0)

"""Sums, bins and stretches of samples, against the same from all samples at once."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refused import refused
from tdelta.errors import ImportFault
from tdelta.importers.samples import (
    LEAST_MS,
    MOST_GROUPS,
    MOST_STRETCHES,
    Accumulator,
    ExactSum,
    Gathering,
    Stretches,
    side_by_side,
)
from tdelta.records.observed import Group, Origin, Samples

GROUP = Group("none")
ORIGIN = Origin("file", "format")

times = st.floats(min_value=LEAST_MS, max_value=1e9)


def reduced(values: list[float], *, at_once: int = 7) -> Samples:
    accumulator = Accumulator()
    for start in range(0, len(values), at_once):
        accumulator.extend(np.array(values[start : start + at_once]))
    samples = accumulator.samples(GROUP, ORIGIN)
    assert samples is not None
    return samples


@given(st.lists(times, min_size=1, max_size=200))
def test_sums_are_those_of_all_values(values: list[float]) -> None:
    samples = reduced(values)
    assert samples.count == len(values)
    assert samples.total == pytest.approx(math.fsum(values), rel=1e-12)
    assert samples.total_log == pytest.approx(math.fsum(map(math.log, values)), rel=1e-12, abs=1e-12)
    assert samples.total_squares == pytest.approx(math.fsum(value * value for value in values), rel=1e-12)
    assert (samples.minimum, samples.maximum) == (min(values), max(values))


@given(st.lists(times, min_size=1, max_size=200))
def test_every_value_lies_in_a_bin_of_at_most_two_per_cent(values: list[float]) -> None:
    bins = reduced(values).bins
    assert sum(bins.counts) == len(values)
    assert len(bins.edges) == len(bins.counts) + 1
    assert all(low < high for low, high in zip(bins.edges, bins.edges[1:], strict=False))
    for low, high, count in zip(bins.edges, bins.edges[1:], bins.counts, strict=False):
        assert count == sum(low <= value < high for value in values)
        assert count == 0 or high / low < 1.02


@given(st.lists(times, min_size=1, max_size=300), st.integers(min_value=1, max_value=50))
def test_single_values_and_chunks_add_up_to_the_same(values: list[float], at_once: int) -> None:
    one_by_one = Accumulator()
    for value in values:
        one_by_one.add(value)
    first, second = one_by_one.samples(GROUP, ORIGIN), reduced(values, at_once=at_once)
    assert (first.count, first.bins, len(first.clusters)) == (second.count, second.bins, len(second.clusters))
    assert first.total == pytest.approx(second.total, rel=1e-12)


@given(st.lists(st.integers(min_value=1, max_value=700), max_size=30), st.integers(min_value=2, max_value=9))
def test_stretches_are_equally_long_in_time_order_and_never_too_many(chunks: list[int], most: int) -> None:
    stretches = Stretches(most)
    stream = np.arange(1.0, sum(chunks) + 1)
    start = 0
    for size in chunks:
        stretches.extend(stream[start : start + size])
        start += size
        assert len(stretches.clusters()) <= most
    clusters = stretches.clusters()
    assert sum(count for count, _ in clusters) == stream.size
    assert sum(total for _, total in clusters) == pytest.approx(stream.sum())
    assert len({count for count, _ in clusters[:-1]}) <= 1
    means = [total / count for count, total in clusters]
    assert means == sorted(means)


def test_ten_million_samples_take_the_memory_of_few() -> None:
    accumulator = Accumulator()
    chunk = np.random.default_rng(1).gamma(2.0, 5.0, 1_000_000)
    for _ in range(10):
        accumulator.extend(chunk)
    samples = accumulator.samples(GROUP, ORIGIN)
    assert samples.count == 10_000_000
    assert len(samples.clusters) <= MOST_STRETCHES
    assert len(samples.bins.counts) < 2500
    assert samples.total == pytest.approx(10 * chunk.sum(), rel=1e-12)


def test_a_sum_keeps_what_floats_would_lose() -> None:
    total = ExactSum()
    for term in (1e16, 1.0, -1e16, 1.0):
        total.add(term)
    assert total.value == 2.0


def test_zeros_are_in_the_mean_and_in_the_bins() -> None:
    samples = reduced([0.0, 2.0, 0.0, 3.0])
    assert (samples.count, samples.zeros, samples.total, samples.minimum) == (4, 2, 5.0, 0.0)
    assert samples.total_log == pytest.approx(math.log(6.0))
    assert (samples.bins.edges[0], samples.bins.counts[0], sum(samples.bins.counts)) == (0.0, 2, 4)
    assert sum(count for count, _ in samples.clusters) == 4


def test_a_group_of_nothing_but_zeros_has_a_mean_of_0() -> None:
    gathering: Gathering[str] = Gathering("file")
    for key, value in (("a", 1.0), ("b", 0.0), ("b", 0.0)):
        gathering.add(key, value)
    _, zeros = gathering.samples(lambda key: Group("none", key), ORIGIN)
    assert (zeros.count, zeros.zeros, zeros.total) == (2, 2, 0.0)


def ticks(mean: float, how: str, seed: int = 1) -> list[float]:
    """Gamma times in whole steps of 1 ms."""
    values = np.random.default_rng(seed).gamma(2.0, mean / 2.0, 4000)
    return [float(value) for value in (np.floor(values) if how == "cut" else np.rint(values))]


@pytest.mark.parametrize("mean", [0.4, 1.0, 3.0, 10.0, 100.0])
def test_the_error_of_a_clock_holds_what_rounding_does_to_a_mean(mean: float) -> None:
    samples = reduced(ticks(mean, "rounded"))
    assert abs(samples.total / samples.count - mean) < samples.rounding + 4.0 * mean / math.sqrt(2 * 4000)


def test_the_error_of_a_clock_is_half_a_step_where_one_step_holds_all_and_vanishes_where_many_do() -> None:
    assert reduced([3.0] * 50).rounding == pytest.approx(0.5)
    errors = [reduced(ticks(mean, "cut")).rounding for mean in (0.4, 3.0, 30.0)]
    assert errors[0] > 0.1
    assert errors == sorted(errors, reverse=True)
    assert errors[2] < 0.001
    assert reduced([float(it) for it in np.random.default_rng(2).gamma(2.0, 5.0, 4000)]).rounding < 1e-6


def test_a_clock_that_leaves_values_out_has_the_steps_of_those_gaps() -> None:
    coarse = reduced([0.0] * 900 + [15.0] * 50 + [16.0] * 40 + [31.0] * 10)
    assert coarse.rounding > 2.0


def test_threads_whose_times_are_partly_0_are_put_together() -> None:
    both = side_by_side([reduced([0.0, 1.0, 2.0]), reduced([1.0, 1.0, 3.0])])
    assert (both.count, both.zeros, sum(both.bins.counts), both.bins.counts[0]) == (6, 1, 6, 1)


def test_a_file_of_nothing_but_zeros_is_refused() -> None:
    gathering: Gathering[str] = Gathering("file")
    gathering.add("a", 0.0)
    with refused(ImportFault, "all-times-zero", where="file"):
        list(gathering.samples(lambda key: Group("none", key), ORIGIN))


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, 1e13])
def test_what_is_no_response_time_is_named_by_its_line(value: float) -> None:
    gathering: Gathering[str] = Gathering("file")
    with refused(ImportFault, "out-of-range", found=value, where="file:3", what="a response time"):
        gathering.add("a", value, 3)
    with refused(ImportFault, "out-of-range", found=value, where="file:3", what="a response time"):
        gathering.extend("a", np.array([1.0, value]), 3)


def test_the_number_of_groups_is_bounded() -> None:
    gathering: Gathering[int] = Gathering("file", "scripts")
    for key in range(MOST_GROUPS):
        gathering.add(key, 1.0)
    with refused(ImportFault, "groups-too-many", most=1000, kind="scripts", where="file:9"):
        gathering.add(-1, 1.0, 9)


def test_threads_of_one_run_are_put_together() -> None:
    first, second = [float(value) for value in range(1, 101)], [float(value) for value in range(201, 251)]
    both = side_by_side([reduced(first), reduced(second)])
    whole = reduced(first + second)
    assert (both.count, both.bins, both.minimum, both.maximum) == (150, whole.bins, 1.0, 250.0)
    assert both.total == pytest.approx(whole.total)
    assert both.total_log == pytest.approx(whole.total_log)
    assert len(both.clusters) == 50
    assert both.clusters[0] == (3, pytest.approx(1 + 2 + 201))
    assert sum(count for count, _ in both.clusters) == 150

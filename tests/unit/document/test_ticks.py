import math
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tdelta.document.plot import (
    clock_ticks,
    linear_steps,
    log_steps,
    nanosecond_ticks,
    overhead_ticks,
    plain_ticks,
    quantile_ticks,
)

ends = st.floats(min_value=-1e4, max_value=1e4)
spans = st.floats(min_value=1e-3, max_value=1e4)
counts = st.integers(min_value=2, max_value=12)


@given(ends, spans, counts)
def test_linear_steps_are_round_even_within_the_range_and_no_more_than_asked_for(
    low: float, span: float, about: int
) -> None:
    steps = linear_steps(low, low + span, about)
    slack = 1e-6 * max(1.0, abs(low), span)
    assert all(low - slack <= s <= low + span + slack for s in steps)
    assert 1 <= len(steps) <= about + 1
    if about >= 5:
        assert len(steps) >= 2
    assume(span > 1e-4 * abs(low))
    gaps = {
        round((second - first) / 10 ** math.floor(math.log10(second - first)), 2) for first, second in pairwise(steps)
    }
    assert gaps <= {1.0, 2.0, 5.0, 10.0}


@given(st.floats(min_value=1e-3, max_value=1e9), st.floats(min_value=1.05, max_value=1e9), counts)
def test_logarithmic_steps_rise_within_the_range_and_are_no_more_than_asked_for(
    low: float, factor: float, about: int
) -> None:
    steps = log_steps(low, low * factor, about)
    assert all(low * (1 - 1e-6) <= s <= low * factor * (1 + 1e-6) for s in steps)
    assert list(steps) == sorted(set(steps))
    assert len(steps) <= about + 1


@given(st.floats(min_value=0.05, max_value=0.999), st.floats(min_value=1.001, max_value=50.0))
def test_labels_of_an_axis_of_ratios_are_distinct_and_no_difference_is_among_them(low: float, high: float) -> None:
    ticks = overhead_ticks(low, high, 7, in_multiples=high >= 2)
    labels = [t.label for t in ticks]
    assert len(labels) == len(set(labels))
    assert any(t.value == pytest.approx(1.0) for t in ticks)


def test_ratios_near_one_are_marked_in_per_cent_and_wide_ones_in_multiples() -> None:
    assert [t.label for t in overhead_ticks(0.96, 1.11, 5, in_multiples=False)] == ["0%", "+5%", "+10%"]
    assert [t.label for t in overhead_ticks(0.9, 3.3, 4, in_multiples=True)] == ["1×", "1.5×", "2×", "3×"]
    far = overhead_ticks(0.4, 60.0, 7, in_multiples=True)
    assert [t.label for t in far] == ["0.5×", "1×", "2×", "5×", "10×", "20×", "50×"]


def test_far_apart_multiples_end_in_powers_of_ten() -> None:
    assert len(overhead_ticks(0.01, 9000.0, 7, in_multiples=True)) <= 8


@given(ends, spans)
def test_labels_of_a_plain_axis_are_distinct(low: float, span: float) -> None:
    assume(span > 1e-6 * abs(low))
    labels = [t.label for t in plain_ticks(low, low + span, 5, "µs")]
    assert len(labels) == len(set(labels))


@pytest.mark.parametrize(
    ("seconds", "labels"),
    [
        (71.0, ["0 s", "10 s", "20 s", "30 s", "40 s", "50 s", "60 s", "70 s"]),
        (900.0, ["0 min", "2 min", "4 min", "6 min", "8 min", "10 min", "12 min", "14 min"]),
        (20_000.0, ["0 h", "1 h", "2 h", "3 h", "4 h", "5 h"]),
    ],
)
def test_the_clock_is_marked_in_one_unit_that_suits_it(seconds: float, labels: list[str]) -> None:
    assert [t.label for t in clock_ticks(seconds, 8)] == labels


@given(st.floats(min_value=0.5, max_value=1e7), counts)
def test_the_clock_never_has_more_marks_than_asked_for(seconds: float, about: int) -> None:
    assert len(clock_ticks(seconds, about)) <= about + 1


def test_times_are_marked_with_their_unit() -> None:
    assert [t.label for t in nanosecond_ticks(4e3, 2e7, 6)] == ["10 µs", "100 µs", "1 ms", "10 ms"]


def test_quantiles_are_marked_as_far_as_they_are_drawn() -> None:
    assert [t.label for t in quantile_ticks(0.9995)] == ["p50", "p90", "p99", "p99.9"]
    assert [t.value for t in quantile_ticks(0.99)] == pytest.approx([2, 10, 100])

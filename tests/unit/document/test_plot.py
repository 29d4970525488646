import math
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from markupsafe import Markup

from tdelta.document.plot import (
    SMALL,
    Frame,
    Scale,
    Tick,
    bottom_axis,
    clock_ticks,
    element,
    fitted,
    left_axis,
    linear_steps,
    log_steps,
    nanosecond_ticks,
    overhead_ticks,
    plain_ticks,
    quantile_ticks,
    ratio_scale,
    roomy,
    scale_over,
    text_width,
    wrapped,
)
from tdelta.document.plot.marks import number, polyline
from tdelta.errors import TdeltaError
from tdelta.report.page.file import DARK, LIGHT

words = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cn", "Co")), max_size=30)


@given(words, words)
def test_whatever_text_is_drawn_comes_back_as_text_and_makes_no_element(content: str, value: str) -> None:
    parsed = ElementTree.fromstring(element("text", content, class_=value))
    assert (parsed.text or "", parsed.get("class")) == (content, value)
    assert len(parsed) == 0


def test_elements_within_elements_are_not_escaped_again() -> None:
    assert element("g", element("text", "a < b")) == Markup("<g><text>a &lt; b</text></g>")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_coordinate_that_is_no_number_is_a_defect_and_not_a_blank_figure(value: float) -> None:
    with pytest.raises(TdeltaError, match="finite"):
        element("line", x1=value)
    with pytest.raises(TdeltaError, match="finite"):
        polyline([(0.0, value)])


@given(st.floats(min_value=-1e5, max_value=1e5))
def test_coordinates_are_short_and_right_to_a_twentieth_of_a_pixel(value: float) -> None:
    assert abs(float(number(value)) - value) <= 0.0501
    assert number(value) != "-0"


@given(st.text("abc de<é-", min_size=1, max_size=80), st.floats(min_value=30.0, max_value=300.0), st.integers(1, 3))
def test_folded_labels_are_no_wider_than_their_room_and_lose_nothing_without_saying_so(
    label: str, width: float, most: int
) -> None:
    lines = wrapped(label, width, most=most)
    assert len(lines) <= most
    assert all(text_width(line) <= width for line in lines)
    if not any("…" in line for line in lines):
        assert " ".join(lines) == " ".join(label.split())


@given(
    st.lists(st.floats(min_value=0.2, max_value=40.0), min_size=1, max_size=12, unique=True),
    st.booleans(),
    st.floats(min_value=60.0, max_value=700.0),
)
def test_labels_of_an_axis_never_touch_nor_leave_the_drawing(values: list[float], is_log: bool, width: float) -> None:
    scale = scale_over([0.2, 40.0], 10.0, width - 10.0, is_log=is_log)
    ticks = [Tick(v, f"{v:.2f} x") for v in sorted(values)]
    kept = fitted(ticks, scale, low=0.0, high=width)
    spans = [
        (scale(t.value) - text_width(t.label, SMALL) / 2, scale(t.value) + text_width(t.label, SMALL) / 2) for t in kept
    ]
    assert all(low >= 0 and high <= width for low, high in spans)
    assert all(a[1] < b[0] for a, b in pairwise(spans))


@given(st.floats(min_value=0.3, max_value=0.99), st.floats(min_value=1.01, max_value=30.0), st.floats(120.0, 500.0))
def test_marks_are_thinned_by_taking_coarser_steps_so_that_they_stay_even(
    low: float, high: float, width: float
) -> None:
    scale = scale_over([low, high], 30.0, width - 30.0)
    kept = roomy(lambda n: overhead_ticks(scale.low, scale.high, n, in_multiples=False), scale, 8, high=width)
    spans = [
        (scale(t.value) - text_width(t.label, SMALL) / 2, scale(t.value) + text_width(t.label, SMALL) / 2) for t in kept
    ]
    assert all(a[1] < b[0] for a, b in pairwise(spans))
    gaps = [b.value - a.value for a, b in pairwise(kept)]
    assert all(gap == pytest.approx(gaps[0]) for gap in gaps)


def test_no_difference_keeps_its_mark_however_little_room_there_is() -> None:
    scale = scale_over([0.9, 1.1], 20.0, 120.0)
    ticks = [Tick(v, f"{v:.2f} longish") for v in (0.95, 1.0, 1.05)]
    assert [t.value for t in fitted(ticks, scale, high=140.0)] == [1.0]


def test_axes_draw_a_line_and_a_label_for_each_mark() -> None:
    frame = Frame(40.0, 10.0, 340.0, 110.0)
    across, up = scale_over([0.0, 10.0], 40.0, 340.0), scale_over([0.0, 10.0], 110.0, 10.0)
    ticks = [Tick(v, f"{v:g}") for v in (0.0, 5.0, 10.0)]
    bottom = "".join(bottom_axis(frame, across, ticks, "seconds", width=360.0))
    left = "".join(left_axis(frame, up, ticks))
    assert (bottom.count("<line"), bottom.count('class="tick"'), bottom.count("seconds")) == (3, 3, 1)
    assert (left.count("<line"), left.count('class="tick"')) == (3, 3)


TEXT_PAIRS = (
    ("ink", "paper"),
    ("ink", "panel"),
    ("ink", "tolerance"),
    ("ink", "alarm-wash"),
    ("muted", "paper"),
    ("muted", "panel"),
    ("accent", "paper"),
    ("accent", "panel"),
    ("alarm", "paper"),
    ("alarm", "panel"),
    ("alarm", "alarm-wash"),
)
"""Text and the ground it stands on."""

MARK_PAIRS = (
    ("accent", "paper"),
    ("plain", "paper"),
    ("accent", "tolerance"),
    ("plain", "tolerance"),
    ("accent", "wash"),
)
"""Marks of figures and the ground they are drawn on."""


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two colours, 1 to 21 (WCAG 2.2, "contrast ratio")."""
    lighter, darker = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2), of sRGB as ``#rrggbb``."""
    red, green, blue = (_linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return float(channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("pair", TEXT_PAIRS, ids=" on ".join)
def test_text_stands_out_from_its_ground_in_both_themes(theme: dict[str, str], pair: tuple[str, str]) -> None:
    assert contrast(theme[pair[0]], theme[pair[1]]) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("pair", MARK_PAIRS, ids=" on ".join)
def test_marks_stand_out_from_their_ground_in_both_themes(theme: dict[str, str], pair: tuple[str, str]) -> None:
    assert contrast(theme[pair[0]], theme[pair[1]]) >= 3.0


def test_both_themes_have_the_same_colours() -> None:
    assert set(LIGHT) == set(DARK)


values = st.floats(min_value=-1e6, max_value=1e6)
positive = st.floats(min_value=1e-6, max_value=1e6)


@given(st.lists(values, min_size=1, max_size=8), values)
def test_whatever_is_drawn_stays_between_the_ends(shown: list[float], value: float) -> None:
    scale = scale_over(shown, 20.0, 300.0)
    assert 20.0 <= scale(value) <= 300.0
    assert all(scale.holds(v) for v in shown)


@given(st.lists(positive, min_size=1, max_size=8), positive, positive)
def test_more_is_further_along_also_on_a_logarithmic_axis_and_upside_down(
    shown: list[float], first: float, second: float
) -> None:
    low, high = sorted((first, second))
    for is_log in (False, True):
        assert scale_over(shown, 0.0, 100.0, is_log=is_log)(low) <= scale_over(shown, 0.0, 100.0, is_log=is_log)(high)
        upwards = scale_over(shown, 100.0, 0.0, is_log=is_log)
        assert upwards(low) >= upwards(high)


def test_equal_ratios_are_equally_far_apart_on_a_logarithmic_axis() -> None:
    scale = Scale(1.0, 100.0, 0.0, 200.0, is_log=True)
    assert [scale(v) for v in (1.0, 10.0, 100.0)] == pytest.approx([0.0, 100.0, 200.0])


def test_a_single_value_and_none_at_all_still_make_a_scale() -> None:
    for shown in ([5.0], [0.0], [math.nan], []):
        scale = scale_over(shown, 0.0, 100.0)
        assert scale.low < scale.high
    assert scale_over([2.0], 0.0, 1.0, is_log=True).low > 0


@pytest.mark.parametrize(
    ("low", "high", "is_log"), [(1.0, 1.0, False), (2.0, 1.0, False), (0.0, 1.0, True), (1.0, math.inf, False)]
)
def test_a_range_that_cannot_be_drawn_is_refused(low: float, high: float, is_log: bool) -> None:
    with pytest.raises(TdeltaError, match="scale needs"):
        Scale(low, high, 0.0, 1.0, is_log)


@pytest.mark.parametrize(
    ("shown", "is_log"),
    [
        ([1.03], False),
        ([2.5], True),
        ([0.4], True),
        ([3.0, 0.0], False),
        ([math.nan, 1.2, math.inf], False),
        ([], False),
    ],
)
def test_ratios_that_are_far_from_one_stand_on_a_logarithmic_scale_with_one(shown: list[float], is_log: bool) -> None:
    scale = ratio_scale(shown, 0.0, 100.0)
    assert scale.is_log is is_log
    assert scale.holds(1.0)


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

import math
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from tdelta.document.plot import (
    SMALL,
    Frame,
    Tick,
    bottom_axis,
    element,
    fitted,
    left_axis,
    overhead_ticks,
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


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


def test_both_themes_have_the_same_colours() -> None:
    assert set(LIGHT) == set(DARK)

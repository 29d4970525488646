import math
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.samples import estimate
from tdelta.document import quantities as q


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1.031, "+3.1%"), (0.998, "−0.2%"), (1.0, "0.0%"), (0.9999, "0.0%"), (6.62, "+562.0%"), (math.nan, "–")],
)
def test_a_ratio_reads_as_a_signed_overhead(ratio: float, text: str) -> None:
    assert q.percent(ratio) == text


def test_decimals_are_added_until_a_figure_stands_on_its_own_side_of_the_limit() -> None:
    assert q.decimals((1.031, 1.024, 1.038), (1.02,)) == 1
    assert q.decimals((1.031, 1.0203, 1.0417), (1.02,)) == 2
    assert q.decimals((1.031, 1.02004, 1.0417), (1.02,)) == 3


@given(ratio=st.floats(0.9, 1.3), limit=st.sampled_from([0.95, 0.98, 1.0, 1.02, 1.05, 1.1]))
def test_a_shown_figure_never_crosses_the_limit_it_is_compared_with(ratio: float, limit: float) -> None:
    places = q.decimals((ratio,), (limit,))
    shown, bound = round(100 * (ratio - 1), places), round(100 * (limit - 1), places)
    assert (shown - bound) * (ratio - limit) >= 0


def test_wide_intervals_of_large_overheads_lose_their_decimals_and_narrow_ones_gain_some() -> None:
    assert q.decimals((6.6, 6.4, 6.8)) == 0
    assert q.decimals((1.0, 0.9999, 1.0001)) == 2


@pytest.mark.parametrize(
    ("ratio", "text"), [(6.6, "6.6×"), (2.0, "2.0×"), (1.99, None), (0.5, None), (math.inf, None), (0.0, None)]
)
def test_multiples_are_shown_from_a_factor_of_two(ratio: float, text: str | None) -> None:
    assert q.multiple(ratio) == text


@pytest.mark.parametrize(
    ("values", "unit", "texts"),
    [
        ((84.213, 86.82), "µs", ("84.21 µs", "86.82 µs")),
        ((0.412, 0.43), "µs", ("412.0 ns", "430.0 ns")),
        ((412.4, 2986.0), "µs", ("412.4 µs", "2,986 µs")),
        ((1_312_900.0, 2e6), "µs", ("1.313 s", "2.000 s")),
        ((2048.0, 4096.0), "bytes", ("2.000 KiB", "4.000 KiB")),
        ((0.0, 0.0), "bytes", ("0 B", "0 B")),
        ((0.0, 3_145_728.0), "bytes", ("0 MiB", "3.000 MiB")),
        ((math.nan, 2.0), "µs", ("–", "2.000 µs")),
        ((3.0,), "pages", ("3.000 pages",)),
    ],
)
def test_amounts_share_a_unit_that_suits_them(values: tuple[float, ...], unit: str, texts: tuple[str, ...]) -> None:
    assert q.amounts(values, unit) == texts


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.25, "0.25 s"), (9.4, "9.4 s"), (42.4, "42 s"), (85.2, "1 min 25 s"), (7500.0, "2 h 05 min"), (0.0, "0 s")],
)
def test_durations_are_read_at_a_glance(seconds: float, text: str) -> None:
    assert q.duration(seconds) == text


def test_a_tiny_share_is_not_shown_as_nothing() -> None:
    assert q.small_share(0.0000031) == "0.00031%"
    assert q.small_share(0.0) == "0%"


def test_an_estimate_names_its_interval() -> None:
    assert q.estimate_text(estimate(1.031, 0.007)) == "+3.1% (95% interval +2.4% to +3.8%)"
    assert q.estimate_text(estimate(6.6, 0.2)) == "6.6× (95% interval 6.4× to 6.8×)"


@given(width=st.integers(40, 90), lead=st.text("abc ", max_size=60))
def test_folding_keeps_numbers_with_their_units_and_loses_no_word(width: int, lead: str) -> None:
    text = f"{lead} costs +3.1% time (95% interval +2.4% to +3.8%) of 12 µs"
    lines = q.wrap(text, width)
    assert " ".join(" ".join(lines).split()) == " ".join(text.split())
    for kept in ("+3.1%", "+2.4% to +3.8%", "12 µs"):
        assert any(kept in line for line in lines)


_ARGUMENTS = st.lists(st.text("abc-=:,'9 ", min_size=1, max_size=30), min_size=1, max_size=12)


@given(arguments=_ARGUMENTS, comment=st.sampled_from(["", "charts in one HTML file"]), width=st.integers(20, 70))
def test_a_folded_command_is_still_the_same_command_to_a_shell(arguments: list[str], comment: str, width: int) -> None:
    command = shlex.join(["tdelta", *arguments])
    lines = q.wrap_command(f"{command}  # {comment}" if comment else command, width)
    pasted = "\n".join(f"    {line}" for line in lines).replace("\\\n", "")
    assert shlex.split(pasted, comments=True) == ["tdelta", *arguments]


def test_folded_texts_and_commands_move_no_cursor() -> None:
    assert q.wrap("a\x1b[2Jb", 30) == ["a?[2Jb"]
    assert q.wrap_command("tdelta show 'a\x1b[2Jb'", 30) == ["tdelta show 'a?[2Jb'"]

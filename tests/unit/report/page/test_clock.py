from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdelta.report.page.figures.differences import clock

moments = st.lists(st.floats(min_value=1e9, max_value=2e9), min_size=1, max_size=20)


def test_a_run_without_pauses_keeps_its_clock() -> None:
    time = clock([100.0, 103.0, 101.5])
    assert [time.at(m) for m in (100.0, 101.5, 103.0)] == [0.0, 1.5, 3.0]
    assert (time.pauses, time.title) == (0, "since the first block")


def test_a_night_between_two_sittings_is_cut_short_and_said() -> None:
    first = [10.0 * k for k in range(6)]
    second = [30_000.0 + 10.0 * k for k in range(6)]
    time = clock(first + second)
    assert time.at(second[0]) - time.at(first[-1]) == pytest.approx(50.0)
    assert time.at(second[-1]) - time.at(second[0]) == pytest.approx(50.0)
    assert time.title == "since the first block, 1 pause cut short"


def test_slow_blocks_are_no_pauses() -> None:
    assert clock([600.0 * k for k in range(5)]).pauses == 0


@given(moments)
def test_what_came_later_is_drawn_no_earlier(given_: list[float]) -> None:
    time = clock(given_)
    drawn = [time.at(moment) for moment in sorted(given_)]
    assert drawn[0] == 0.0
    assert all(first <= second for first, second in pairwise(drawn))

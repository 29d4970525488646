import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdelta.document.plot import Scale, ratio_scale, scale_over
from tdelta.errors import TdeltaError

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

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refused import Part, has
from tdelta.importers.accumulating import Printed, is_possible, sd_limits
from tdelta.importers.intervals import longest_stretch


def test_partial_ends_and_idle_time_are_left_out():
    stretch = longest_stretch([0, 10, 20, 30, 40, 50, 60], [0, 5, 90, 100, 110, 7, 0])
    assert (stretch.interval_seconds, stretch.starts_at_seconds) == (10, 20)
    assert stretch.values == (90, 100, 110)
    assert len(stretch.notes) == 2


@pytest.mark.parametrize(
    ("seconds", "values", "kept"),
    [
        (range(6), [1, 9, 0, 0, 9, 1], (9, 0, 0, 9)),  # zeros under load stay
        ([0, 1, 2, 3, 10, 11, 12, 13, 14, 15], range(1, 11), (5, 6, 7, 8, 9)),  # the longest without a gap
        ([0, 1, 2, 3, 4, 2, 3, 4, 5, 6, 7, 8], [1] * 12, (1,) * 6),  # time that runs backwards ends it
    ],
)
def test_the_longest_stretch_under_load_is_taken(seconds, values, kept):
    assert longest_stretch(seconds, values).values == kept


def test_readings_beside_a_gap_are_told():
    stretch = longest_stretch([0, 1, 2, 3, 10, 11, 12, 13, 14, 15], range(1, 11))
    assert stretch.starts_at_seconds == 10
    assert has([stretch.notes[-1]], "left-out", what=Part("3"))


@pytest.mark.parametrize(
    ("seconds", "values"),
    [([], []), (range(4), [1] * 4), (range(9), [0] * 9), ([3] * 9, [1] * 9), ([0, 1e9, 2e9, 3e9, 4e9], [1] * 5)],
)
def test_too_few_or_impossible_readings_are_no_series(seconds, values):
    assert longest_stretch(seconds, values) is None


# Bounds of a standard deviation hold for every set of values, and are near enough to tell clicks from ms.


def printed(values: list[float], rounding_ms: float = 1e-6) -> Printed:
    array = np.sort(np.array(values))
    quantiles = {share: float(array[round(len(array) * share) - 1]) for share in (0.5, 0.95, 0.99) if len(array) > 1}
    return Printed(len(array), float(array.mean()), float(array[0]), float(array[-1]), quantiles, rounding_ms)


@given(st.lists(st.floats(0.001, 1000), min_size=2, max_size=60))
def test_what_values_have_is_always_possible(values: list[float]):
    assert is_possible(float(np.std(values, ddof=1)), printed(values))


@pytest.mark.parametrize("shape", [0.5, 1, 4])
def test_a_thousandfold_and_a_thousandth_are_impossible(shape: float):
    values = np.random.default_rng(1).gamma(shape, 3.0, 5000)
    sd = float(np.std(values, ddof=1))
    given_figures = printed(values.tolist(), 0.001)
    assert is_possible(sd, given_figures)
    assert not is_possible(1000 * sd, given_figures)
    assert not is_possible(sd / 1000, given_figures)


def test_the_bounds_are_those_of_two_values():
    smallest, largest = sd_limits(Printed(2, 2.0, 1.0, 3.0, {}, 0.0))
    assert largest == pytest.approx(2**0.5)
    assert smallest == pytest.approx(1.0)  # of the population; a sample's is larger


def test_one_value_has_none():
    assert sd_limits(Printed(1, 2.0, 2.0, 2.0, {}, 0.0)) == (0.0, 0.0)

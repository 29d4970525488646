"""Bounds of a standard deviation hold for every set of values, and are near enough to tell clicks from ms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdelta.importers.accumulating import Printed, is_possible, sd_limits


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

import math
import sys

import pytest

from tdelta.errors import EnvironmentFault
from tdelta.inference.between import (
    MOST_PROBABLE,
    decided,
    difference,
    find_changes,
    is_usable,
    most_probable,
    posterior_of,
    standard_error,
)
from tdelta.records import Estimate
from tdelta.records.history import Change

TOLERANCE = 0.02


def estimate(median: float, half: float, heavy: float = 1.314) -> Estimate:
    ends = [(median - width * half, median + width * half) for width in (1.0, heavy)]
    return Estimate(median, ends[0], ends[1], 0.0, 0.0, 0.0)


@pytest.mark.parametrize("heavy", [1.314, 1.5, 2.0])
def test_a_posterior_made_again_has_the_intervals_that_the_result_kept(heavy: float) -> None:
    kept = estimate(1.1, 0.01, heavy)
    made = posterior_of(kept)
    assert made.ratio_hdi(0.95) == pytest.approx(kept.hdi95, abs=3e-4)
    assert made.ratio_hdi(0.99) == pytest.approx(kept.hdi99, abs=1e-3)
    assert math.exp(made.quantile(0.5)) == pytest.approx(1.1)


def test_the_difference_is_of_the_ratios_and_as_wide_as_both_together() -> None:
    found = difference(estimate(1.2, 0.03), estimate(1.1, 0.04), TOLERANCE)
    assert found.median == pytest.approx(0.1, abs=1e-3)
    assert found.hdi95[1] - found.hdi95[0] == pytest.approx(2 * math.hypot(0.03, 0.04), rel=0.02)
    assert found.change is Change.LARGER


def test_the_order_of_the_two_turns_the_sign() -> None:
    one, other = estimate(1.2, 0.02), estimate(1.1, 0.01)
    there, back = difference(one, other, TOLERANCE), difference(other, one, TOLERANCE)
    assert there.median == pytest.approx(-back.median, abs=1e-4)
    assert there.mass_above_zero == pytest.approx(1.0 - back.mass_above_zero, abs=1e-4)


@pytest.mark.parametrize(
    ("ends", "change"),
    [
        ((0.021, 0.04), Change.LARGER),
        ((-0.04, -0.021), Change.SMALLER),
        ((-0.02, 0.02), Change.UNCHANGED),
        ((0.01, 0.03), Change.UNDECIDED),
        ((-0.03, 0.03), Change.UNDECIDED),
    ],
)
def test_the_interval_decides_against_the_tolerance(ends: tuple[float, float], change: Change) -> None:
    assert decided(*ends, TOLERANCE) is change


def test_an_invalid_run_decides_nothing() -> None:
    assert difference(estimate(1.2, 0.01), estimate(1.1, 0.01), TOLERANCE, is_valid=False).change is Change.INVALID


@pytest.mark.parametrize("median", [float("nan"), 0.0, -1.0, float("inf")])
def test_what_has_no_posterior_gives_no_difference(median: float) -> None:
    broken = estimate(median, 0.01)
    assert not is_usable(broken)
    found = difference(broken, estimate(1.1, 0.01), TOLERANCE)
    assert found.change is Change.UNDECIDED
    assert math.isnan(found.median)


def test_a_run_of_encrypted_software_aes_is_compared_as_well() -> None:
    found = difference(estimate(6.6, 0.4), estimate(1.1, 0.01), TOLERANCE)
    assert found.median == pytest.approx(5.5, abs=0.02)
    assert found.hdi95[0] < 5.5 < found.hdi95[1]


def test_the_standard_error_has_tails_no_thinner_than_the_estimate() -> None:
    assert standard_error(estimate(1.0, 0.0196)) == pytest.approx(0.01, rel=0.01)
    assert standard_error(estimate(1.0, 0.0196, 2.0)) == pytest.approx(0.0152, rel=0.01)


def series(*medians: float, half: float = 0.01) -> list[Estimate]:
    return [estimate(median, half) for median in medians]


@pytest.mark.parametrize(("medians", "at"), [((1.1, 1.1, 1.2), 2), ((1.1, 1.2, 1.2), 1), ((1.1, 1.105, 1.2, 1.195), 2)])
def test_ten_points_more_are_found_in_three_runs(medians: tuple[float, ...], at: int) -> None:
    (found,) = find_changes(series(*medians), TOLERANCE).found
    assert (found.at, found.difference.change) == (at, Change.LARGER)
    assert found.difference.median == pytest.approx(0.1, abs=0.01)
    assert found.probability <= MOST_PROBABLE


def test_runs_that_scatter_within_their_intervals_show_no_change() -> None:
    assert find_changes(series(1.1, 1.108, 1.095, 1.103, 1.11, 1.097), TOLERANCE).found == ()


def test_every_change_is_found_also_one_back() -> None:
    found = find_changes(series(*[1.1] * 6, *[1.2] * 6, *[1.1] * 6), TOLERANCE).found
    assert [one.at for one in found] == [6, 12]
    assert [one.difference.change for one in found] == [Change.LARGER, Change.SMALLER]
    assert [(round(one.before, 3), round(one.after, 3)) for one in found] == [(1.1, 1.2), (1.2, 1.1)]


def test_runs_that_differ_more_than_their_intervals_say_so_and_hide_small_changes() -> None:
    scattered = [1.05, 1.12, 1.07, 1.14, 1.06, 1.13, 1.08, 1.11, 1.05, 1.14, 1.09, 1.15]
    found = find_changes(series(*scattered, half=0.004), TOLERANCE)
    assert found.found == ()
    assert found.between_runs_sd is not None
    assert found.between_runs_sd > 0.02


@pytest.mark.parametrize("medians", [(), (1.1,)])
def test_too_few_runs_show_nothing(medians: tuple[float, ...]) -> None:
    found = find_changes(series(*medians), TOLERANCE)
    assert (found.found, found.between_runs_sd) == ((), None)


def test_the_longer_a_series_the_surer_a_change_has_to_be() -> None:
    assert most_probable(3) == MOST_PROBABLE
    assert most_probable(41) == pytest.approx(0.01 / 40)


def test_without_otava_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "otava.change_point_divisive.detector", None)
    with pytest.raises(EnvironmentFault) as told:
        find_changes(series(1.1, 1.2), TOLERANCE)
    (said,) = told.value.refusals
    assert (said.code, said.parameters["extra"]) == ("library-missing", "history")

import sys

import pytest

from tdelta.errors import EnvironmentFault
from tdelta.inference.between import MOST_PROBABLE, find_changes, most_probable
from tdelta.records import Estimate
from tdelta.records.history import Change

from .test_between import estimate

TOLERANCE = 0.02


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

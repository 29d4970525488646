import itertools
from dataclasses import replace

import pytest

from tdelta.inference.assurance import Draws, RoundsDesign, predict
from tdelta.inference.planning.targets import first_reaching, primary_of, rounds_to_look_at, targets_of
from tdelta.messages import Reason
from tdelta.records import Decision
from tdelta.records.prospects import Attainability, Layout, Target

LAYOUT = Layout(3, 3, 2, 0.25, 6, set_up_seconds=10.0, round_seconds=2.0, block_seconds=1.0)
PREDICTION = predict(Draws.known(4e-4, 0.003, 60), RoundsDesign(3, 2, 6), (3, 6, 12, 24))


def targets(effects: tuple[float, ...] = (), tolerances: tuple[float, ...] = ()) -> tuple[Target, ...]:
    return targets_of(effects, tolerances, PREDICTION, LAYOUT, 0.8, is_budget=False)


def test_without_a_limit_runs_grow_by_about_two_fifths_from_three_rounds_on() -> None:
    found = rounds_to_look_at(LAYOUT, None)
    assert found[0] == 3
    assert all(1.2 < after / before <= 1.5 for before, after in itertools.pairwise(found))


def test_without_a_limit_runs_of_an_hour_are_looked_at_or_of_120_rounds() -> None:
    assert rounds_to_look_at(LAYOUT, None)[-1] == (3600 - 10) // 8
    slow = replace(LAYOUT, round_seconds=100 * LAYOUT.round_seconds)
    assert rounds_to_look_at(slow, None)[-1] == 120


def test_beyond_480_rounds_nothing_is_simulated() -> None:
    assert rounds_to_look_at(LAYOUT, 1e6)[-1] == 480


@pytest.mark.parametrize(("seconds", "last"), [(10.0 + 8 * 20, 20), (10.0 + 8 * 9.5, 9), (10.0 + 8 * 2, 2)])
def test_a_limit_ends_them_at_the_rounds_that_it_holds(seconds: float, last: int) -> None:
    assert rounds_to_look_at(LAYOUT, seconds)[-1] == last


def test_less_than_a_round_is_nothing_to_look_at() -> None:
    assert rounds_to_look_at(LAYOUT, 15.0) == ()


def test_the_rounds_lie_between_the_looks_around_the_chance() -> None:
    assert first_reaching((3, 6, 12), (0.2, 0.6, 1.0), 0.8) == 9
    assert first_reaching((3, 6, 12), (0.9, 0.95, 1.0), 0.8) == 3
    assert first_reaching((3, 6, 12), (0.2, 0.6, 0.7), 0.8) is None
    assert first_reaching((3, 6, 12), (0.85, 0.6, 1.0), 0.8) == 9, "an early lucky look is no promise"


def test_an_aim_on_the_edge_says_that_it_cannot_be_reached() -> None:
    (target,) = targets((0.02,), (0.02,))
    assert (target.attainability, target.rounds, target.decision) == (Attainability.EDGE, None, None)
    assert target.reason == Reason.of("effect-on-edge")


def test_an_aim_too_near_the_edge_says_how_far_one_would_get() -> None:
    (target,) = targets((0.021,), (0.02,))
    assert (target.attainability, target.rounds) == (Attainability.TOO_LONG, None)
    assert target.reason is not None
    assert "after 24 rounds" in target.reason.text


def test_an_aim_that_is_reached_takes_its_rounds_time() -> None:
    (target,) = targets((0.10,), (0.02,))
    assert (target.attainability, target.rounds, target.decision) == (Attainability.REACHED, 3, Decision.SLOWER)
    assert target.seconds == 10.0 + 3 * 8.0


def test_where_nothing_is_asked_the_headline_is_no_overhead_and_the_first_one_above_1_per_cent() -> None:
    assert list(primary_of((), ())) == [(0.0, 0.01), (0.02, 0.01)]


def test_what_is_asked_is_the_headline() -> None:
    assert list(primary_of((0.03,), (0.005,))) == [(0.03, 0.005)]
    assert list(primary_of((), (0.02,))) == [(0.0, 0.02), (0.03, 0.02)]

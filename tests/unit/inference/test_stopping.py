import pytest

from tdelta.inference.stopping import gate_decided, is_gate_look, precise_enough, should_stop, target_width
from tdelta.records import Condition, Estimate

from .builders import AES


def look(median: float, half_width: float) -> tuple[Condition, Estimate, float]:
    hdi = (median - half_width, median + half_width)
    estimate = Estimate(median, hdi, hdi, 0.0, 1.0, 0.0)
    return AES, estimate, target_width(estimate)


def test_the_target_is_two_points_or_a_tenth_of_the_overhead() -> None:
    assert look(1.03, 0.0)[2] == 0.02
    assert look(2.0, 0.0)[2] == pytest.approx(0.10)
    assert look(0.5, 0.0)[2] == pytest.approx(0.05)


def test_every_interval_must_be_narrow_enough() -> None:
    assert precise_enough([look(1.03, 0.009), look(2.0, 0.04)])
    assert not precise_enough([look(1.03, 0.009), look(1.03, 0.011)])
    assert not precise_enough([])


def test_up_to_20_percent_precision_does_not_look_at_where_the_answer_lies() -> None:
    for median in (0.98, 1.0, 1.02, 1.1, 1.2):
        assert precise_enough([look(median, 0.0099)])
        assert not precise_enough([look(median, 0.0101)])


def test_beyond_20_percent_a_higher_estimate_is_narrow_enough_sooner() -> None:
    assert precise_enough([look(1.5, 0.0249)])
    assert not precise_enough([look(1.48, 0.0249)])


def test_a_gate_is_decided_when_all_are_within_or_one_is_over() -> None:
    assert gate_decided([look(1.0, 0.01), look(1.02, 0.01)], 0.05)
    assert gate_decided([look(1.05, 0.01), look(1.2, 0.01)], 0.05)
    assert not gate_decided([look(1.05, 0.01), look(1.0, 0.01)], 0.05)
    assert not gate_decided([], 0.05)


def test_looks_of_a_gate_grow_geometrically_from_the_first() -> None:
    assert [n for n in range(1, 40) if is_gate_look(n, 3)] == [3, 4, 6, 9, 14, 21, 32]
    assert [n for n in range(1, 12) if is_gate_look(n, 1)] == [1, 2, 3, 4, 6, 9]


def test_no_rule_stops_before_the_fewest_rounds() -> None:
    sure = [look(1.0, 1e-4)]
    assert not should_stop(sure, budget=None, rounds_done=2, first_look=3)
    assert not should_stop(sure, budget=0.05, rounds_done=2, first_look=3)
    assert should_stop(sure, budget=None, rounds_done=3, first_look=3)


def test_a_budget_replaces_precision_and_looks_more_rarely() -> None:
    wide_but_within = [look(1.0, 0.04)]
    assert not should_stop(wide_but_within, budget=None, rounds_done=6, first_look=3)
    assert should_stop(wide_but_within, budget=0.05, rounds_done=6, first_look=3)
    assert not should_stop(wide_but_within, budget=0.05, rounds_done=5, first_look=3)

from dataclasses import replace

import pytest

from tdelta.inference.planning.prospects import run_times, time_costs
from tdelta.inference.planning.runs import MeasuredRun, extract_noise
from tdelta.records import Metric, Role

from ..builders import condition
from .machines import ROUND_SECONDS, SET_UP_SECONDS, SWITCH_SECONDS, TWINS, run, with_other_twin, without_rounds

SEARCH_AND_SET_UP = SET_UP_SECONDS + 3.0


def strata(*runs: MeasuredRun) -> list:
    return extract_noise(runs, Metric.RESPONSE_TIME)


def test_wall_clock_is_taken_apart_into_set_up_rounds_and_trials() -> None:
    found = run_times(run())
    assert found.slot_seconds == pytest.approx(0.25 + SWITCH_SECONDS)
    assert found.round_seconds == pytest.approx(ROUND_SECONDS)
    assert found.set_up_seconds == pytest.approx(SEARCH_AND_SET_UP)


def test_the_search_behind_the_first_round_is_no_part_of_a_round() -> None:
    two = without_rounds(run(), 2)
    assert run_times(two).round_seconds == pytest.approx(ROUND_SECONDS + 3.0), "one gap is all there is"
    assert run_times(without_rounds(run(), 3)).round_seconds == pytest.approx(ROUND_SECONDS)


def test_a_single_round_counts_all_that_is_not_blocks_as_the_rounds_own() -> None:
    one = replace(without_rounds(run(), 1), elapsed_seconds=10.0)
    found = run_times(one)
    assert not found.has_rounds
    assert found.set_up_seconds == 0.0
    assert found.round_seconds == pytest.approx(10.0 - 6 * 3 * 0.27)


def test_several_lengths_tell_what_a_switch_costs() -> None:
    costs = time_costs(strata(run(), run(trial_seconds=1.0, run_id="b")), 3)
    assert (costs.switch_seconds, costs.stretch) == pytest.approx((SWITCH_SECONDS, 1.0), abs=1e-6)
    assert costs.slot_seconds(2.0) == pytest.approx(2.02)


def test_of_one_length_all_that_is_not_the_trial_is_the_switch() -> None:
    costs = time_costs(strata(run()), 3)
    assert (costs.switch_seconds, costs.stretch) == pytest.approx((SWITCH_SECONDS, 1.0), abs=1e-6)


def test_a_round_of_more_twins_takes_longer_to_make() -> None:
    assert time_costs(strata(run()), 6).round_seconds == pytest.approx(2 * ROUND_SECONDS)


def test_blocks_that_seem_to_take_no_time_take_their_trials_time() -> None:
    measured = run()
    still = replace(measured, trials=tuple(replace(t, started_unix_seconds=0.0) for t in measured.trials))
    assert run_times(still).slot_seconds == pytest.approx(0.9 * 0.25)


def test_of_several_bb_twins_one_at_a_time_takes_time() -> None:
    twin, other = (condition(cipher, Role.BB) for cipher in ("aes-256", "aes-128"))
    measured = with_other_twin(run(conditions=(*TWINS, condition("aes-128", Role.TREATMENT), twin)), twin, other)
    assert len(measured.settings.conditions) == 6
    assert run_times(measured).slot_seconds == pytest.approx(0.25 + SWITCH_SECONDS)
    assert time_costs(strata(measured), 5).round_seconds == pytest.approx(ROUND_SECONDS)

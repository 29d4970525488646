import math

import pytest

from tdelta.inference.fits import fit_metrics, panels
from tdelta.inference.run_analysis import stall_measures
from tdelta.records import Condition, Metric, StallMeasure

from .builders import AA, AES, BASELINE, BB, TWINS, noisy, run, settings


def measured(
    stalled: dict[tuple[Condition, int], float], conditions: tuple[Condition, ...] = TWINS, rounds: int = 4
) -> list[StallMeasure]:
    """Some trials, by condition and block, take so many times as long."""
    costs = noisy(0.1, sd=2e-3)
    trials = run(lambda c, r, b: costs(c, r, b) + math.log(stalled.get((c, b), 1.0)), conditions, rounds=rounds)
    metric = Metric.RESPONSE_TIME
    return list(stall_measures(fit_metrics(panels(trials, settings(conditions)), (metric,))[metric]))


def test_plain_twins_come_first_both_together_then_every_condition() -> None:
    plain, treated = measured({})
    assert (plain.condition, treated.condition) == (BASELINE, AES)
    assert (plain.trials, treated.trials) == (48, 24)
    assert (plain.stalls, treated.stalls, plain.stalled_trials, treated.stall_cost) == (0, 0, 0, 0.0)


def test_the_trials_of_a_bb_twin_are_its_treatments() -> None:
    plain, treated = measured({(BB, 3): 3.0, (AES, 9): 3.0}, (*TWINS, BB))
    assert (treated.condition, treated.trials, treated.stalls) == (AES, 48, 2)
    assert plain.stalls == 0


def test_stalls_are_counted_on_their_own_side_with_their_time() -> None:
    plain, treated = measured({(AA, 3): 3.0, (AA, 15): 3.0, (AES, 9): 2.0})
    assert (plain.stalls, plain.stalled_trials, treated.stalls) == (2, 2, 1)
    assert plain.stall_cost == pytest.approx(2 * 2.0 / 48, rel=0.03)
    assert treated.stall_cost == pytest.approx(1.0 / 24, rel=0.03)
    assert plain.down_weighted >= 2
    # Two of 48 trials took three times as long, so they are 6 of 52; blocks differ by a tenth.
    assert plain.down_weighted_time == pytest.approx(6.0 / 52.0, rel=0.15)


def test_a_stall_over_two_blocks_is_one_of_two_trials() -> None:
    _, treated = measured({(AES, 8): 3.0, (AES, 9): 3.0})
    assert (treated.stalls, treated.stalled_trials) == (1, 2)


def test_what_may_be_missed_falls_with_the_trials() -> None:
    (few, _), (many, _) = measured({}), measured({}, rounds=40)
    assert few.missed_share == pytest.approx(0.0605, abs=5e-4)
    assert many.missed_share == pytest.approx(few.missed_share / 10.0, rel=0.05)

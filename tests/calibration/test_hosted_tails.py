import math

import pytest

from calibration.hosted_tails import Runs, called_apart, exceeded, percentiles
from calibration.tails import Slow, Stalling

EXPERIMENTS = 40
LEAST_COVERED = 33 / 40
"""Of 40 intervals that hold the truth in 95 %, fewer do so once in 1,000 times."""

LOG_HOST = math.log(1.2)
QUIET = Stalling()


@pytest.mark.parametrize(("rounds", "blocks"), [(3, 27), (4, 20)])
def test_a_host_that_is_slower_by_20_percent_is_not_in_the_ratio_of_99th_percentiles(rounds: int, blocks: int) -> None:
    found = percentiles(QUIET, 0.1, LOG_HOST, EXPERIMENTS, Runs(rounds, blocks))
    assert found.given == 1.0
    assert found.covered >= LEAST_COVERED


def test_held_against_the_plain_twin_on_its_host_a_condition_has_a_narrower_interval_than_against_both() -> None:
    beside, both = (percentiles(QUIET, 0.1, LOG_HOST, 10, Runs(3, 27, beside)) for beside in (True, False))
    assert math.log(beside.factor) < 0.8 * math.log(both.factor)


@pytest.mark.parametrize(("rounds", "blocks"), [(3, 20), (4, 15)])
def test_it_is_not_in_the_ratio_of_shares(rounds: int, blocks: int) -> None:
    found = exceeded(QUIET, 0.1, LOG_HOST, 0.01, EXPERIMENTS, Runs(rounds, blocks))
    assert found.given > 0.9
    assert found.covered >= LEAST_COVERED


def test_a_host_that_stalls_four_times_as_often_makes_identical_twins_no_different() -> None:
    assert called_apart(Slow(0.002, clump=60), math.log(4.0), EXPERIMENTS, Runs(3, 20)) <= 4 / EXPERIMENTS

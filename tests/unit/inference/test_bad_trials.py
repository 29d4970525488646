import numpy as np
import pytest
from scipy import stats

from tdelta.inference import bad_trials as module
from tdelta.inference.bad_trials import BadCounts, bad_counts, bad_trials


def side(bad: list[list[int]], trials: int) -> BadCounts:
    counted = np.array(bad, dtype=np.float64)
    return BadCounts(counted, np.full(counted.shape, float(trials)))


def test_a_trial_counts_once_however_many_of_its_transactions_took_too_long() -> None:
    longer = np.array([[0, 60], [1, 0], [500, 0], [0, 0]], dtype=np.float64)
    found = bad_counts(longer, np.array([4, 4, 9, 9]))
    assert found.bad.tolist() == [[1, 1], [1, 0]]
    assert found.trials.tolist() == [[2, 2], [2, 2]]


def test_without_instance_effects_the_ends_are_those_of_the_conditional_binomial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_INSTANCE_SDS", np.full(12, 1e-6))
    found = bad_trials(side([[9], [7]], 30), side([[1, 3], [2, 2]], 30))
    low, high = stats.beta.ppf(0.025, 16, 9), stats.beta.ppf(0.975, 17, 8)
    odds = [2 * share / (1 - share) for share in (low, high)]
    assert (found.low, found.high) == pytest.approx(odds, rel=1e-4)


def test_instance_effects_widens_the_interval_and_more_so_where_instances_are_seen_to_differ() -> None:
    alike = bad_trials(side([[5]] * 4, 20), side([[2, 2]] * 4, 20))
    differing = bad_trials(side([[17], [1], [1], [1]], 20), side([[8, 0], [0, 0], [0, 8], [0, 0]], 20))
    assert alike.quotient == differing.quotient == pytest.approx(2.5)
    assert alike.low is not None
    assert alike.high is not None
    assert differing.low is not None
    assert differing.high is not None
    assert differing.low < alike.low < 2.5 < alike.high < differing.high


def test_a_second_encrypted_twin_counts_by_its_exposure() -> None:
    one = bad_trials(side([[5]] * 4, 20), side([[2, 2]] * 4, 20))
    both = bad_trials(side([[5, 5]] * 4, 20), side([[2, 2]] * 4, 20))
    assert both.quotient == one.quotient
    assert one.low is not None
    assert both.low is not None
    assert both.low > one.low


def test_nothing_bounds_the_ratio_on_the_side_where_there_is_none() -> None:
    only_condition = bad_trials(side([[3]] * 4, 15), side([[0, 0]] * 4, 15))
    assert only_condition.low is not None
    assert only_condition.low > 1
    assert (only_condition.high, only_condition.quotient) == (None, None)
    only_plain = bad_trials(side([[0]] * 4, 15), side([[2, 1]] * 4, 15))
    assert only_plain.low == 0.0
    assert only_plain.high is not None
    assert only_plain.high < 2


@pytest.mark.parametrize(("here", "there"), [(0, 0), (11, 11)])
def test_no_bad_trial_and_mostly_bad_ones_have_no_interval(here: int, there: int) -> None:
    found = bad_trials(side([[here]] * 3, 20), side([[there, there]] * 3, 20))
    assert (found.low, found.high) == (None, None)
    assert found.condition_trials == 60
    assert found.baseline_bad == 6 * there

import pytest

from tdelta.inference.planning.runs import MeasuredRun, carry_over, extract_noise
from tdelta.records import Metric
from tdelta.records.prospects import CarryOver

from .machines import TWINS, run


def found(measured: MeasuredRun) -> CarryOver:
    return carry_over(extract_noise([measured], Metric.RESPONSE_TIME))


def test_what_an_encrypted_trial_leaves_behind_is_found_with_its_sign() -> None:
    carried = found(run(conditions=TWINS, after_encrypted=0.03, noise=0.01, rounds=20))
    median, (low, high) = carried.after_encrypted.share, carried.after_encrypted.interval95
    assert low < 0.0305 < high
    assert median == pytest.approx(0.0305, abs=0.006)


def test_an_overhead_is_without_what_encrypted_trials_leave_to_the_next_ones() -> None:
    clean = run(conditions=TWINS, noise=0.02, instance_effect=0.0, rounds=60)
    carried = run(conditions=TWINS, noise=0.02, instance_effect=0.0, rounds=60, after_encrypted=0.03)
    assert theta(carried) - theta(clean) == pytest.approx(0.0, abs=0.001)


def theta(measured: MeasuredRun) -> float:
    (one,) = extract_noise([measured], Metric.RESPONSE_TIME)
    means = one.means.means.mean(axis=0)
    return float(means[2] - means[:2].mean())


def test_where_nothing_is_carried_over_the_interval_holds_zero() -> None:
    held = 0
    for seed in range(60):
        after = found(run(conditions=TWINS, rounds=4, seed=seed)).after_encrypted
        held += after.interval95[0] <= 0.0 <= after.interval95[1]
    assert held >= 52


def test_plain_twins_cannot_show_what_encrypted_ones_leave_behind() -> None:
    carried = found(run())
    assert carried.after_encrypted is None
    assert carried.unknown[0].code == "carry-over-only-plain"


def test_too_few_trials_are_said_to_be_too_few() -> None:
    carried = found(run(conditions=TWINS, noise=0.2, rounds=1, blocks=2))
    assert carried.after_encrypted is None
    assert carried.unknown[0].code == "carry-over-few-trials"

from dataclasses import replace

import pytest

from support.refused import Part, has
from tdelta.inference.carry_over import carry_over
from tdelta.inference.instrument.measured import MeasuredRun, extract_noise
from tdelta.inference.run_analysis import analyze_run
from tdelta.records import Decision, Metric
from tdelta.records.instrument import CarryOver

from .instrument.machines import TWINS, run


def found(measured: MeasuredRun) -> CarryOver:
    strata = [one.means for one in extract_noise([measured], Metric.RESPONSE_TIME)]
    return carry_over(strata, measured.settings.conditions)


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


@pytest.mark.parametrize("after", [0.06, -0.06])
def test_where_an_encrypted_trial_changes_the_next_one_by_more_than_the_tolerance_nothing_is_negligible(
    after: float,
) -> None:
    """The overhead of a trial by itself is 0 here, and of encrypted work after encrypted work 6 %."""
    measured = run(conditions=TWINS, after_encrypted=after, noise=0.01, instance_effect=0.0, rounds=20)
    wide = replace(measured.settings, tolerance=0.04)
    judgement = analyze_run(measured.trials, wide)
    assert judgement.verdicts[0].ratio.hdi95[0] > 0.96
    assert judgement.verdicts[0].ratio.hdi95[1] < 1.04
    assert judgement.decision is Decision.UNDECIDED
    sign = Part("+" if after > 0 else "\N{MINUS SIGN}")
    assert has(judgement.verdicts[0].reasons[-1:], "carried-over", effect=sign, interval=sign)
    assert has(judgement.cautions, "carried-over", effect=sign, interval=sign)
    assert analyze_run(measured.trials, replace(wide, budget=0.04)).decision is Decision.UNDECIDED
    assert analyze_run(measured.trials, replace(wide, budget=0.2)).decision is Decision.WITHIN


@pytest.mark.parametrize("after", [0.0, 0.005])
def test_what_is_carried_over_within_the_tolerance_leaves_the_verdict(after: float) -> None:
    measured = run(conditions=TWINS, after_encrypted=after, noise=0.01, instance_effect=0.0, rounds=20)
    judgement = analyze_run(measured.trials, measured.settings)
    assert judgement.decision is Decision.NEGLIGIBLE
    assert not has(judgement.cautions, "carried-over")

from dataclasses import replace

import pytest

from support.refused import Part, has
from tdelta.inference.run_analysis import analyze_run
from tdelta.records import Decision

from .planning.machines import TWINS, run


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

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import fisher_exact  # type: ignore[import-untyped]

from support.flat import changed
from support.refused import has
from tdelta.inference.lost_trials import one_sided_losses
from tdelta.inference.run_analysis import analyze_run, gate_answered
from tdelta.records import Condition, Decision, Role, Trial

from .builders import AA, AES, BASELINE, BB, TWINS, noisy, run, settings

FOUR = (*TWINS, BB)
ENCRYPTED = (AES, BB)


def trials_of(effect: float, rounds: int = 20) -> list[Trial]:
    return run(noisy(effect, sd=0.005), FOUR, rounds=rounds)


def without(trials: list[Trial], lost: set[tuple[int, Condition]]) -> list[Trial]:
    """Blocks and conditions whose trials failed."""
    return [one for one in trials if (one.block, one.condition) not in lost]


def test_where_only_encrypted_trials_fail_nothing_is_negligible_and_the_reason_is_said() -> None:
    """One in twenty encrypted trials stalls and is cut off: by the others, encryption seems to make no difference."""
    random = np.random.default_rng(5)
    trials = trials_of(0.0)
    assert analyze_run(trials, settings(FOUR)).decision is Decision.NEGLIGIBLE
    lost = {(block, c) for block in range(120) for c in ENCRYPTED if random.random() < 0.05}
    judgement = analyze_run(without(trials, lost), settings(FOUR))
    assert judgement.decision is Decision.UNDECIDED
    assert all(v.decision is not Decision.NEGLIGIBLE for v in judgement.verdicts)
    figures = {"lost": len(lost), "trials": 240, "plain_lost": 0, "plain_trials": 240}
    assert has(judgement.verdicts[0].reasons[-1:], "one-sided-failures", **figures)
    assert has(judgement.cautions, "one-sided-failures", condition=AES.key, **figures)


def test_a_trial_that_finished_no_operation_is_lost() -> None:
    trials = [
        replace(one, measurement=changed(one.measurement, operations=0))
        if one.condition == AES and one.block % 12 == 0
        else one
        for one in trials_of(0.0)
    ]
    (found,) = one_sided_losses(trials, settings(FOUR))
    assert (found.lost, found.trials, found.plain_lost) == (10, 240, 0)


def test_losses_on_both_sides_leave_every_verdict_as_it_is() -> None:
    trials = trials_of(0.0)
    lost = {(3, BASELINE), (17, AES), (40, AA), (41, BB), (77, AES), (80, AES), (90, AA)}
    judgement = analyze_run(without(trials, lost), settings(FOUR))
    assert judgement.decision is Decision.NEGLIGIBLE
    assert has(judgement.cautions, "incomplete-blocks")
    assert not has(judgement.cautions, "one-sided-failures")


def test_an_interrupted_run_has_lost_nothing_by_that() -> None:
    assert one_sided_losses(trials_of(0.0)[:-2], settings(FOUR)) == ()


def test_a_cost_that_lost_trials_could_only_raise_is_still_a_cost() -> None:
    trials, lost = trials_of(0.2, rounds=8), {(block, AES) for block in range(8)}
    judgement = analyze_run(without(trials, lost), settings(FOUR))
    assert judgement.decision is Decision.SLOWER
    assert has(judgement.cautions, "one-sided-failures")
    plain = {(block, c) for block in range(8) for c in (BASELINE, AA)}
    assert analyze_run(without(trials, plain), settings(FOUR)).decision is Decision.UNDECIDED


def test_a_gate_does_not_let_pass_a_condition_whose_trials_fail() -> None:
    trials, lost = trials_of(0.0, rounds=8), {(block, AES) for block in range(8)}
    of = settings(FOUR, budget=0.05)
    assert gate_answered(trials, of)
    assert not gate_answered(without(trials, lost), of)
    assert analyze_run(without(trials, lost), of).decision is Decision.UNDECIDED


@pytest.mark.parametrize("lost", [(4, 0), (5, 0), (0, 5), (7, 1), (8, 1), (12, 3), (12, 5)])
def test_chance_is_what_fishers_exact_test_says(lost: tuple[int, int]) -> None:
    trials = trials_of(0.0, rounds=4)
    missing = {(block, AES) for block in range(lost[0])} | {(block, BASELINE) for block in range(lost[1])}
    found = one_sided_losses(without(trials, missing), settings(FOUR))
    table = [[side, 48 - side] for side in lost]
    chances = [float(fisher_exact(table, alternative=way).pvalue) for way in ("greater", "less")]
    assert bool(found) is (min(chances) <= 0.05)
    assert [(one.lost, one.plain_lost) for one in found] in ([], [lost])


def test_a_twin_that_took_no_part_in_a_round_has_lost_nothing_there() -> None:
    trials = [one for one in trials_of(0.0) if one.condition.role is not Role.BB or one.round < 2]
    assert one_sided_losses(trials, settings(FOUR)) == ()

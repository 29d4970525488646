"""The second encrypted twin as a check of its own condition's verdict, and of no other's."""

import math

import pytest

from support.refused import has
from tdelta.inference.run_analysis import Judgement, analyze_run
from tdelta.messages.checks import BB_CHECK, CHECKS
from tdelta.records import CheckState, Condition, Decision, Role, Validity

from .builders import AES, BASELINE, BB, TWINS, LogCost, condition, noisy, run, settings, taking_turns

AES_128, BB_128 = condition("aes-128", Role.TREATMENT), condition("aes-128", Role.BB)
BOTH = (*TWINS, AES_128, BB, BB_128)


def dearer(twin: Condition, by: float, *, sd: float = 5e-3, effect: float = 0.1) -> LogCost:
    costs = noisy(effect, sd=sd)
    return lambda c, r, b: costs(c, r, b) + (by if c == twin else 0.0)


def judged(costs: LogCost, conditions: tuple[Condition, ...] = BOTH, *, rounds: int = 6) -> Judgement:
    return analyze_run(run(costs, conditions, rounds=rounds), settings(conditions))


def checks(judgement: Judgement) -> dict[tuple[str, str | None], Validity]:
    ciphers = [floor.condition and str(floor.condition.level("cipher")) for floor in judgement.noise_floor]
    return {(c.code, cipher): c for c, cipher in zip(judgement.validity, ciphers, strict=True)}


def decisions(judgement: Judgement) -> dict[Condition, Decision]:
    return {v.condition: v.decision for v in judgement.verdicts if v.primary}


def test_twins_that_are_alike_pass_and_every_condition_with_a_second_twin_has_its_check() -> None:
    found = judged(dearer(BB, 0.0))
    assert set(checks(found)) == {("aa-twins", None), ("bb-twins", "aes-256"), ("bb-twins", "aes-128")}
    assert {check.state for check in found.validity} == {CheckState.OK}
    assert decisions(found) == {AES: Decision.SLOWER, AES_128: Decision.SLOWER}


def test_bb_twins_that_differ_make_their_own_conditions_verdict_invalid_and_no_other() -> None:
    found = judged(dearer(BB_128, 0.2))
    states = {at: check.state for at, check in checks(found).items()}
    assert states.pop(("bb-twins", "aes-128")) is CheckState.FAILED
    # One odd pair makes it less sure of all that instances are alike, but belies none.
    assert CheckState.FAILED not in states.values()
    assert decisions(found) == {AES: Decision.SLOWER, AES_128: Decision.INVALID}
    assert found.decision is Decision.INVALID
    (invalid,) = (v for v in found.verdicts if v.decision is Decision.INVALID)
    assert invalid.reasons[0].code == "check-failed"
    assert has([invalid.reasons[0]], "check-failed", check=CHECKS[BB_CHECK])


def test_bb_twins_of_one_stratum_say_nothing_of_another() -> None:
    second = tuple(condition(str(c.level("cipher")), c.role, 1) for c in (*TWINS, BB))
    found = judged(dearer(BB, 0.2), (*TWINS, BB, *second))
    assert decisions(found) == {AES: Decision.INVALID, second[2]: Decision.SLOWER}


def test_aa_twins_that_differ_make_every_verdict_invalid_though_bb_twins_agree() -> None:
    found = analyze_run(run(noisy(0.1, sd=5e-3, aa=0.2), BOTH, rounds=6), settings(BOTH))
    assert set(decisions(found).values()) == {Decision.INVALID}


def test_the_distance_of_bb_twins_is_of_the_second_over_the_first() -> None:
    found = judged(dearer(BB, 0.015, sd=1e-3))
    (floor,) = (f for f in found.noise_floor if f.condition == AES)
    assert floor.ratio.median == pytest.approx(math.exp(0.015), abs=0.002)
    assert floor.ratio.hdi95[0] < math.exp(0.015) < floor.ratio.hdi95[1]
    assert (floor.rounds, floor.blocks) == (6, 36)
    assert checks(found)["bb-twins", "aes-256"].state is CheckState.OK


def test_a_large_cost_needs_its_twins_less_alike_than_a_small_one() -> None:
    """Two noisy twins: far above the tolerance their distance is small enough, near the tolerance it is not."""
    large, small = (judged(dearer(BB, 0.0, sd=0.06, effect=effect), rounds=4) for effect in (0.6, 0.0))
    assert checks(large)["bb-twins", "aes-256"].state is CheckState.OK
    assert checks(small)["bb-twins", "aes-256"].state is CheckState.NOT_SHOWN


def test_twins_that_take_turns_are_checked_by_the_rounds_they_were_in() -> None:
    trials = taking_turns(run(dearer(BB_128, 0.2), BOTH, rounds=8))
    found = analyze_run(trials, settings(BOTH))
    of_twins = {f.condition: (f.rounds, f.blocks) for f in found.noise_floor if f.condition}
    assert of_twins == {AES: (4, 24), AES_128: (4, 24)}
    assert decisions(found) == {AES: Decision.SLOWER, AES_128: Decision.INVALID}


def test_a_run_without_an_aa_twin_is_still_checked_by_its_bb_twin() -> None:
    conditions = (BASELINE, AES, BB)
    found = analyze_run(run(dearer(BB, 0.2), conditions, rounds=6), settings(conditions))
    assert [check.code for check in found.validity] == ["bb-twins"]
    assert found.decision is Decision.INVALID

import math
from dataclasses import replace

import pytest

from tdelta.inference.planning.carryover import carry_over
from tdelta.inference.planning.runs import MeasuredRun, extract_noise
from tdelta.records import Metric, Role
from tdelta.records.prospects import CarryOver

from ..builders import condition
from .machines import TWINS, run, with_other_twin


def found(measured: MeasuredRun) -> CarryOver:
    return carry_over(extract_noise([measured], Metric.RESPONSE_TIME))


def test_what_an_encrypted_trial_leaves_behind_is_found_with_its_sign() -> None:
    carried = found(run(conditions=TWINS, after_encrypted=0.03, noise=0.01, rounds=20))
    assert carried.after_encrypted is not None
    median, (low, high) = carried.after_encrypted.share, carried.after_encrypted.interval95
    assert low < 0.0305 < high
    assert median == pytest.approx(0.0305, abs=0.006)
    assert carried.bias is not None
    assert carried.bias.share == pytest.approx(-median / 3)
    assert carried.bias.interval95[0] < carried.bias.share < carried.bias.interval95[1]


def test_the_bias_is_what_an_overhead_really_moves_by() -> None:
    clean = run(conditions=TWINS, noise=0.02, instance_effect=0.0, rounds=60)
    carried = run(conditions=TWINS, noise=0.02, instance_effect=0.0, rounds=60, after_encrypted=0.03)
    moved = theta(carried) - theta(clean)
    assert moved == pytest.approx(-0.03 / 3, abs=0.0008)
    bias = found(carried).bias
    assert bias is not None
    assert bias.interval95[0] < moved < bias.interval95[1]


def theta(measured: MeasuredRun) -> float:
    (one,) = extract_noise([measured], Metric.RESPONSE_TIME)
    means = one.means.means.mean(axis=0)
    return float(means[2] - means[:2].mean())


def test_where_nothing_is_carried_over_the_interval_holds_zero() -> None:
    held = 0
    for seed in range(60):
        after = found(run(conditions=TWINS, rounds=4, seed=seed)).after_encrypted
        assert after is not None
        held += after.interval95[0] <= 0.0 <= after.interval95[1]
    assert held >= 52


def test_places_in_a_block_are_told_apart() -> None:
    carried = found(run(later=0.02, noise=0.005, rounds=10))
    assert [round(one.share, 2) for one in carried.positions] == [0.02, 0.04]


def test_places_among_what_is_compared_are_told_apart_where_strata_follow_one_another() -> None:
    one = run(later=0.02, noise=0.005, rounds=10, conditions=TWINS)
    others = {c: condition(str(c.level("cipher")), c.role, 1) for c in TWINS}
    behind = [replace(t, condition=others[t.condition], position=t.position + len(TWINS)) for t in one.trials]
    both = replace(one.settings, conditions=(*TWINS, *others.values()))
    carried = found(replace(one, settings=both, trials=(*one.trials, *behind)))
    assert [round(one.share, 2) for one in carried.positions] == [0.02, 0.04]
    assert carried.after_encrypted is not None
    assert carried.bias is not None
    assert carried.bias.share == pytest.approx(-carried.after_encrypted.share / 3)


def test_a_block_of_strata_in_a_mixed_order_has_as_many_places_as_trials_though_bb_twins_take_turns() -> None:
    second = [condition(str(c.level("cipher")), c.role, 1) for c in TWINS]
    twins = [condition("aes-256", Role.BB, stratum) for stratum in (0, 1)]
    mixed = with_other_twin(run(later=0.02, noise=0.005, rounds=20, conditions=(*TWINS, *second, twins[0])), *twins)
    carried = found(mixed)
    later = [math.expm1(0.02 * place) for place in range(1, 7)]
    assert [one.share for one in carried.positions] == pytest.approx(later, abs=0.01)
    assert carried.after_encrypted is not None
    assert carried.bias is not None
    assert carried.bias.share == pytest.approx(-carried.after_encrypted.share / 7)


def test_plain_twins_cannot_show_what_encrypted_ones_leave_behind() -> None:
    carried = found(run())
    assert (carried.after_encrypted, carried.bias) == (None, None)
    assert carried.unknown_codes[0].code == "carry-over-only-plain"
    assert len(carried.positions) == 2


def test_too_few_trials_are_said_to_be_too_few() -> None:
    carried = found(run(rounds=1, blocks=2))
    assert carried.positions == ()
    assert carried.unknown_codes[0].code == "carry-over-few-trials"

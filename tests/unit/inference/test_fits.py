import math
from dataclasses import replace

import numpy as np
import pytest

from support.flat import changed
from tdelta.errors import TdeltaError
from tdelta.inference.fits import (
    PLAIN,
    CostFit,
    Fitted,
    actual_ratio,
    complete_blocks,
    cost,
    fit_metrics,
    metric_costs,
    paired_ratios,
    panels,
    step_sd,
    transaction_cost,
    transactions,
    treatment_of,
)
from tdelta.inference.verdicts import primary_verdicts
from tdelta.records import Condition, Decision, Metric, Role, Trial, Verdict

from .builders import (
    AA,
    AES,
    BASELINE,
    BB,
    TWINS,
    LogCost,
    condition,
    measurement,
    noisy,
    run,
    settings,
    taking_turns,
    trial,
)

AES_128, BB_128 = condition("aes-128", Role.TREATMENT), condition("aes-128", Role.BB)
BOTH = (*TWINS, AES_128, BB, BB_128)


def fit(trials: list[Trial], conditions: tuple[Condition, ...]) -> CostFit:
    metric = Metric.RESPONSE_TIME
    return fit_metrics(panels(trials, settings(conditions)), (metric,))[metric]


def fitted(trials: list[Trial], conditions: tuple[Condition, ...]) -> Fitted:
    ((found, _),) = fit(trials, conditions).parts
    return found


def in_order(trials: list[Trial], seed: int = 1) -> list[Trial]:
    """The same trials, those of each block in an order that is drawn."""
    rng = np.random.default_rng(seed)
    by_block: dict[int, list[Trial]] = {}
    for t in trials:
        by_block.setdefault(t.block, []).append(t)
    return [
        replace(t, position=int(place))
        for block in by_block.values()
        for t, place in zip(block, rng.permutation(len(block)), strict=True)
    ]


def test_a_bb_twin_is_a_column_with_the_theta_and_the_kind_of_its_treatment() -> None:
    found = fitted(run(noisy(0.1), BOTH), BOTH)
    assert found.columns == BOTH
    assert found.conditions == (*TWINS, AES_128)
    assert found.thetas(*PLAIN).tolist() == [0, 0, 1, 2, 1, 2]
    assert found.means.kinds.tolist() == [0, 0, 1, 2, 1, 2]
    assert treatment_of(BB) == AES
    assert treatment_of(BASELINE) == BASELINE


def test_a_bb_twin_is_part_of_no_answer_of_its_own_and_makes_its_treatments_surer() -> None:
    with_twin, without = (fit(run(noisy(0.1, instance_effect=0.01), c, rounds=8), c) for c in ((*TWINS, BB), TWINS))
    ((condition_, answer),) = [(a.condition, a) for a in with_twin.answers()]
    assert condition_ == AES
    (alone,) = without.answers()
    assert answer.mixture.variance < 0.85 * alone.mixture.variance


def test_bb_twins_that_take_turns_count_in_the_rounds_they_were_in() -> None:
    found = fitted(taking_turns(run(noisy(0.1), BOTH)), BOTH)
    assert found.means.blocks.tolist() == [[6, 6, 6, 6, 6, 0], [6, 6, 6, 6, 0, 6]] * 2
    assert found.means.there.sum(axis=0).tolist() == [24, 24, 24, 24, 12, 12]
    assert np.isfinite(found.means.means).all()
    for answer in fit(taking_turns(run(noisy(0.1), BOTH)), BOTH).answers():
        assert answer.posterior.ratio_hdi(0.95)[0] < math.exp(0.1) < answer.posterior.ratio_hdi(0.95)[1]


def test_a_round_without_a_twin_does_not_shift_the_places_of_the_others() -> None:
    """A place costs 5 % more than the one before: as many effects as there are places, each found as put in."""
    trials = in_order(taking_turns(run(noisy(0.1, sd=1e-3), BOTH, rounds=6)))
    later = {(t.condition.key, t.block): 0.05 * t.position for t in trials}
    costs = noisy(0.1, sd=1e-3)
    placed = run(lambda c, r, b: costs(c, r, b) + later.get((c.key, b), 0.0), BOTH, rounds=6)
    at = {(t.condition.key, t.block): t.position for t in trials}
    kept = [replace(t, position=at[t.condition.key, t.block]) for t in placed if (t.condition.key, t.block) in at]
    places = fitted(kept, BOTH).means.places
    assert np.diff(places) == pytest.approx([0.05] * 4, abs=2e-3)


def test_a_bb_twin_of_one_block_alone_is_no_fault() -> None:
    conditions = (*TWINS, BB)
    trials = [t for t in run(noisy(0.1), conditions) if t.condition != BB or t.block == 0]
    (answer,) = fit(trials, conditions).answers()
    assert answer.mixture.mean == pytest.approx(0.1, abs=0.01)
    assert answer.mixture.variance < 1e-3


def test_a_bb_twin_that_cost_nothing_is_left_out_and_its_treatment_stays() -> None:
    conditions = (*TWINS, BB)
    trials = [
        replace(t, measurement=changed(t.measurement, syscall_written_bytes=0)) if t.condition == BB else t
        for t in run(noisy(0.1), conditions)
    ]
    metric = Metric.WRITTEN_BYTES_PER_OPERATION
    ((found, _),) = fit_metrics(panels(trials, settings(conditions)), (metric,))[metric].parts
    assert found.columns == TWINS


def test_without_a_round_the_trials_of_that_round_are_gone_and_no_others() -> None:
    whole = fit(run(noisy(0.1), (*TWINS, BB), rounds=4), (*TWINS, BB))
    ((less, _),) = whole.without_round(1).parts
    ((found, _),) = whole.parts
    assert (less.means.means == found.means.means[[0, 2, 3]]).all()
    assert less.means.there.sum() == 3 * 6 * 4
    assert np.bincount(less.means.rounds).tolist() == [6, 6, 6]


def test_the_mean_lies_above_the_typical_trial_where_stalls_do() -> None:
    """Every eighth encrypted trial takes twice as long: typically nothing, on average an eighth more."""
    costs = noisy(0.0, sd=2e-3)
    stalled = run(lambda c, r, b: costs(c, r, b) + (math.log(2.0) if c == AES and b % 8 == 3 else 0.0), rounds=20)
    (answer,) = fit(stalled, TWINS).answers()
    assert answer.typical_posterior.quantile(0.5) == pytest.approx(0.0, abs=4e-3)
    assert math.exp(answer.posterior.quantile(0.5)) == pytest.approx(1.125, abs=0.02)
    assert len(answer.events.above) == 15
    assert len(answer.plain_events.above) == 0


def test_costs_are_an_operation_in_the_unit_of_the_metric() -> None:
    measured = measurement(1.5, read=3_000_000, types=(1.0, 3.0))
    assert cost(measured, Metric.RESPONSE_TIME) == pytest.approx(300.0)
    assert cost(measured, Metric.CPU_PER_OPERATION) == pytest.approx(120.0)
    assert cost(measured, Metric.READ_BYTES_PER_OPERATION) == pytest.approx(3000.0)
    assert cost(measured, Metric.WRITTEN_BYTES_PER_OPERATION) == pytest.approx(4096.0)
    assert transaction_cost(measured, "type1") == pytest.approx(450.0)
    assert transaction_cost(measured, "absent") == 0.0


def test_blocks_that_lack_a_condition_are_left_out_and_counted() -> None:
    trials = [t for t in run(noisy(0.0), rounds=2) if not (t.block == 7 and t.condition == AES)]
    (panel,) = panels(trials, settings())
    assert len(panel.trials) == 11
    assert panel.incomplete == 1
    assert panel.rounds.tolist() == [0] * 6 + [1] * 5


def test_a_trial_that_finished_no_operation_makes_its_block_incomplete() -> None:
    trials = run(noisy(0.0), rounds=1)
    trials[4] = replace(trials[4], measurement=replace(trials[4].measurement, operations=0))
    (panel,) = panels(trials, settings())
    assert panel.incomplete == 1


def test_trials_may_come_in_any_order() -> None:
    trials = run(noisy(0.1), rounds=3)
    (straight,), (backwards,) = panels(trials, settings()), panels(trials[::-1], settings())
    assert straight.trials == backwards.trials
    assert straight.conditions == TWINS


def test_a_block_incomplete_in_one_stratum_still_counts_in_the_other() -> None:
    other = (condition("none", Role.BASELINE, 1), condition("aes-256", Role.TREATMENT, 1))
    both = (BASELINE, AES, *other)
    trials = [t for t in run(noisy(0.0), both, rounds=1) if not (t.block == 2 and t.condition == other[1])]
    first, second = panels(trials, settings(both))
    assert (first.incomplete, second.incomplete) == (0, 1)
    assert second.baseline == other[0]


def test_a_stratum_without_a_baseline_is_a_defect_that_is_named() -> None:
    with pytest.raises(TdeltaError, match="stratum 0"):
        panels([], settings([AES]))


def test_no_trial_gives_empty_tables_of_the_right_shape() -> None:
    (panel,) = panels([], settings())
    assert metric_costs(panel, Metric.RESPONSE_TIME).shape == (0, 3)


def test_a_single_transaction_type_is_the_mix_itself() -> None:
    assert transactions(panels(run(noisy(0.0), rounds=1), settings())) == ()
    assert transactions(panels(run(noisy(0.0), rounds=1, types=(1.0, 2.0)), settings())) == ("type0", "type1")


def test_the_actual_cost_of_an_injected_twin_comes_from_what_it_spun() -> None:
    injected = condition("none", Role.INJECTED, injected=0.05)
    trials = [trial(injected, 0, b, measurement(1.0 + b, injected=0.05)) for b in range(3)]
    assert actual_ratio(trials, Metric.CPU_PER_OPERATION) == pytest.approx(1.05)
    assert actual_ratio(trials, Metric.RESPONSE_TIME) == pytest.approx(1.05)
    assert actual_ratio(trials, Metric.READ_BYTES_PER_OPERATION) is None
    assert actual_ratio([], Metric.RESPONSE_TIME) is None


def test_what_a_servers_client_spins_is_no_cpu_of_the_servers() -> None:
    injected = condition("none", Role.INJECTED, injected=0.05)
    measured = changed(measurement(1.0, injected=0.05), client_cpu_user_seconds=0.1)
    trials = [trial(injected, 0, block, measured) for block in range(3)]
    assert actual_ratio(trials, Metric.CPU_PER_OPERATION) is None
    assert actual_ratio(trials, Metric.RESPONSE_TIME) == pytest.approx(1.05)


def test_without_a_complete_block_there_is_nothing_to_draw() -> None:
    alone = [t for t in run(noisy(0.05)) if t.condition != AES]
    for found in (alone, []):
        assert paired_ratios(found, settings()) == ()
        assert complete_blocks(found, settings()) == frozenset()


def test_a_paired_ratio_is_over_the_geometric_mean_of_both_plain_twins() -> None:
    costs = {BASELINE.key: 0.10, AA.key: 0.30, AES.key: 0.50}
    trials = run(lambda c, _r, block: costs[c.key] + 0.01 * block, rounds=2, blocks=3)
    aes, twin = paired_ratios(trials, settings())
    assert (aes.condition, twin.condition) == (AES, AA)
    assert np.log(aes.ratio) == pytest.approx([0.5 - 0.2] * 6, abs=1e-6)
    assert np.log(twin.ratio) == pytest.approx([0.3 - 0.1] * 6, abs=1e-6)
    assert aes.rounds.tolist() == [0, 0, 0, 1, 1, 1]
    assert aes.blocks.tolist() == [0, 1, 2, 3, 4, 5]


def test_judged_conditions_come_in_the_designs_order_before_the_twins() -> None:
    conditions = (AA, condition("aes-128", Role.TREATMENT), BASELINE, AES)
    trials = run(noisy(0.05), conditions)
    wanted = ["aes-128", "aes-256", "none"]
    assert [p.condition.level("cipher") for p in paired_ratios(trials, settings(conditions))] == wanted


def test_a_condition_that_cost_nothing_has_no_paired_ratio() -> None:
    given = settings(metric=Metric.READ_BYTES_PER_OPERATION)
    assert paired_ratios(run(noisy(0.0)), given) == ()
    read = run(noisy(0.0), read=4096)
    assert [math.log(r) for p in paired_ratios(read, given) for r in p.ratio] == pytest.approx([0.0] * 48)


def test_a_trial_of_an_incomplete_block_is_not_among_the_used_ones() -> None:
    trials = run(noisy(0.05), rounds=1, blocks=3)[:-1]
    used = complete_blocks(trials, settings())
    assert used == {(block, c.key) for block in (0, 1) for c in TWINS}


# Costs in steps: what they leave open is in the interval, and what is only alike by chance is not.

ALL = (*TWINS, BB)


def stepped(cost: LogCost, step: float) -> LogCost:
    """The same read off a clock with steps; without the machine's drift, which would spread costs over them."""

    def of(condition: Condition, round_: int, block: int) -> float:
        without_drift = cost(condition, round_, block) - 0.1 * np.sin(block)
        return float(np.round(without_drift / step) * step)

    return of


def verdict(cost: LogCost) -> Verdict:
    found = panels(run(cost, ALL, rounds=5), settings(ALL))
    fit = fit_metrics(found, (Metric.RESPONSE_TIME,))[Metric.RESPONSE_TIME]
    return next(v for v in primary_verdicts(found, fit, settings(ALL)) if v.condition == AES)


@pytest.mark.parametrize("truth", [0.01, 0.03])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_times_in_steps_of_five_per_cent_decide_nothing_about_a_smaller_effect(truth: float, seed: int) -> None:
    """All trials alike, the interval was 0.01 points wide, a point away from the truth: negligible."""
    found = verdict(stepped(noisy(truth, 0.003, seed=seed), 0.05))
    assert found.decision is Decision.UNDECIDED
    assert found.ratio.hdi95[0] <= np.exp(truth) <= found.ratio.hdi95[1]
    assert "costs-in-steps" in [reason.code for reason in found.reasons]


def test_an_effect_of_many_steps_is_found() -> None:
    assert verdict(stepped(noisy(0.5, 0.03), 0.02)).decision is Decision.SLOWER


def test_times_without_steps_are_judged_as_they_are() -> None:
    found = verdict(noisy(0.05, 0.003))
    assert found.decision is Decision.SLOWER
    assert "costs-in-steps" not in [reason.code for reason in found.reasons]


def test_what_steps_leave_open_is_half_of_one_where_it_holds_all_and_vanishes_over_many() -> None:
    rng = np.random.default_rng(1)
    coarse, fine = (np.exp(np.round(rng.normal(0.0, 0.03, (60, 4)) / step) * step) for step in (0.5, 0.02))
    coarse[:, 1] = np.exp(0.5)
    assert step_sd(coarse) == pytest.approx(0.25 / np.sqrt(3.0))
    assert 0.0 < step_sd(fine) < 0.002
    assert step_sd(np.exp(rng.normal(0.0, 0.03, (60, 4)))) == 0.0
    assert step_sd(np.full((10, 2), 7.0)) > 0.2

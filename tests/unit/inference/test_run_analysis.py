import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from support.flat import changed
from support.refused import Part, check_messages, has
from tdelta.inference.run_analysis import analyze_run, interim_estimates
from tdelta.records import CheckState, Decision, Metric, Role, SpanTotals, Trial, Verdict

from .builders import AA, AES, BASELINE, TWINS, condition, measurement, noisy, run, settings, trial


def primary(found: tuple[Verdict, ...]) -> Verdict:
    (verdict,) = (v for v in found if v.primary)
    return verdict


def test_a_clear_cost_is_slower_and_its_interval_holds_it() -> None:
    judgement = analyze_run(run(noisy(math.log(1.10))), settings())
    verdict = primary(judgement.verdicts)
    assert judgement.decision is verdict.decision is Decision.SLOWER
    assert verdict.ratio.hdi95[0] < 1.10 < verdict.ratio.hdi95[1]
    assert verdict.condition == AES
    assert verdict.baseline == BASELINE
    assert verdict.metric is Metric.RESPONSE_TIME
    assert verdict.transaction == "all"


def test_a_gain_is_faster_nothing_is_negligible_and_the_edge_of_the_tolerance_undecided() -> None:
    assert analyze_run(run(noisy(-0.2)), settings()).decision is Decision.FASTER
    assert analyze_run(run(noisy(0.0), rounds=12), settings()).decision is Decision.NEGLIGIBLE
    assert analyze_run(run(noisy(math.log(1.02))), settings()).decision is Decision.UNDECIDED


def test_absolute_values_agree_with_the_ratio_and_carry_the_unit() -> None:
    verdict = primary(analyze_run(run(noisy(0.1, sd=1e-3)), settings()).verdicts)
    assert verdict.unit == "µs"
    assert 80.0 < verdict.baseline_value < 125.0
    assert verdict.condition_value == pytest.approx(verdict.baseline_value * verdict.ratio.median)


def test_a_budget_replaces_the_tolerance_for_primary_verdicts_only() -> None:
    trials = run(noisy(math.log(1.10)))
    over, within = (analyze_run(trials, settings(budget=budget)) for budget in (0.05, 0.20))
    assert over.decision is Decision.OVER
    assert within.decision is Decision.WITHIN
    assert any("leans" in caution for caution in map(str, over.cautions))
    assert {v.decision for v in over.verdicts if not v.primary} <= {Decision.SLOWER, Decision.NEGLIGIBLE}


def test_aa_twins_that_differ_beyond_the_tolerance_make_the_run_invalid() -> None:
    judgement = analyze_run(run(noisy(0.1, aa=0.2), rounds=6), settings())
    (check,) = judgement.validity
    assert not check.ok
    assert check.code == "aa-twins"
    assert check.state is CheckState.FAILED
    assert has(check.details, "twins-outside", limit=0.02, called="the tolerance", interval=Part("+"))
    assert judgement.decision is Decision.INVALID
    reason = primary(judgement.verdicts).reasons[0]
    assert has([reason], "check-failed", check=check.check, detail=check.detail)


@pytest.mark.parametrize(
    ("budget", "valid"), [(None, True), (0.05, True), (0.03, True), (0.015, True), (0.01, False), (0.0, False)]
)
def test_a_budget_smaller_than_the_tolerance_is_the_limit_of_the_aa_twins(budget: float | None, valid: bool) -> None:
    trials = run(noisy(0.1, aa=0.013, sd=1e-3), rounds=12)
    judgement = analyze_run(trials, settings(budget=budget))
    low, high = judgement.noise_floor[0].ratio.hdi95
    assert 1.01 < low < high < 1.015
    (check,) = judgement.validity
    assert check.state is (CheckState.OK if valid else CheckState.FAILED)
    assert (judgement.decision is Decision.INVALID) is not valid
    check_messages(check.details, "twins-within" if valid else "twins-outside")


def test_aa_twins_that_are_known_too_poorly_for_the_verdict_are_not_shown_to_be_alike() -> None:
    trials = run(noisy(0.0, sd=0.06), rounds=4)
    (check,) = analyze_run(trials, settings()).validity
    assert check.state is CheckState.NOT_SHOWN
    assert has(check.details, "twins-too-wide", needed=pytest.approx(0.02, abs=0.0005))


def test_aa_twins_that_clearly_differ_within_the_limit_are_a_caution() -> None:
    judgement = analyze_run(run(noisy(0.1, aa=0.013, sd=1e-3), rounds=12), settings())
    assert judgement.validity[0].ok
    assert has(judgement.cautions, "twins-differ", twins="A/A", difference="+1.4", interval=Part("+"))


@pytest.mark.parametrize("aa", [0.0, 1e-4, 0.2])
def test_aa_twins_that_agree_or_fail_their_check_are_no_such_caution(aa: float) -> None:
    judgement = analyze_run(run(noisy(0.1, aa=aa, sd=1e-6), rounds=12), settings())
    assert not any("A/A twins differ" in caution for caution in map(str, judgement.cautions))


def test_the_noise_floor_is_the_aa_twin_as_a_condition_of_its_own() -> None:
    judgement = analyze_run(run(noisy(0.1, aa=0.01, sd=2e-3), rounds=6), settings())
    (floor,) = judgement.noise_floor
    assert floor.ratio.hdi95[0] < math.exp(0.01) < floor.ratio.hdi95[1]
    assert floor.ratio.median == pytest.approx(1.01, abs=0.004)
    assert (floor.rounds, floor.blocks, floor.metric) == (6, 36, Metric.RESPONSE_TIME)
    assert judgement.validity[0].ok


def test_the_posterior_without_a_speedup_is_cut_at_one() -> None:
    verdict = primary(analyze_run(run(noisy(-0.01)), settings()).verdicts)
    assert verdict.no_speedup.hdi95[0] >= 1.0
    assert verdict.ratio.hdi95[0] < 1.0


def test_of_two_builds_a_speedup_is_not_ruled_out() -> None:
    other = replace(AES, levels=(*AES.levels, ("library", "other")))
    conditions = [replace(BASELINE, levels=(*BASELINE.levels, ("library", "one"))), other]
    builds = replace(settings(conditions), options={"contrast": "library"})
    assert primary(analyze_run(run(noisy(0.1), conditions), builds).verdicts).no_speedup is None


def test_another_metric_may_be_the_primary_one() -> None:
    judgement = analyze_run(run(noisy(0.1)), settings(metric=Metric.CPU_PER_OPERATION))
    assert primary(judgement.verdicts).metric is Metric.CPU_PER_OPERATION
    assert Metric.RESPONSE_TIME in {v.metric for v in judgement.verdicts if not v.primary}


def test_without_a_trial_every_judged_condition_is_undecided() -> None:
    judgement = analyze_run([], settings())
    verdict = primary(judgement.verdicts)
    assert judgement.decision is verdict.decision is Decision.UNDECIDED
    assert verdict.ratio.hdi95[1] - verdict.ratio.hdi95[0] > 1.0
    assert verdict.reasons[0].code == "no-data"


@pytest.mark.parametrize(("rounds", "blocks"), [(1, 1), (1, 2), (1, 4), (2, 1), (4, 1)])
def test_few_blocks_give_a_finite_wide_answer(rounds: int, blocks: int) -> None:
    verdict = primary(analyze_run(run(noisy(0.05), rounds=rounds, blocks=blocks), settings()).verdicts)
    low, high = verdict.ratio.hdi95
    assert 0.0 < low < math.exp(0.05) < high < 3.0
    assert high - low > 0.02


def test_one_round_says_that_instance_effects_was_not_measured_and_claims_no_less_than_it() -> None:
    judgement = analyze_run(run(noisy(0.0, sd=1e-4), rounds=1, blocks=60), settings())
    low, high = primary(judgement.verdicts).ratio.hdi95
    assert high - low > 0.01
    assert has(judgement.cautions, "one-round")


def test_without_an_aa_twin_there_is_no_noise_floor_but_a_caution() -> None:
    judgement = analyze_run(run(noisy(0.1), (BASELINE, AES)), settings((BASELINE, AES)))
    assert judgement.noise_floor == ()
    assert judgement.validity == ()
    assert has(judgement.cautions, "no-aa-control")
    assert judgement.decision is Decision.SLOWER


def test_incomplete_blocks_are_counted_in_a_caution() -> None:
    judgement = analyze_run(run(noisy(0.1))[:-1], settings())
    assert has(judgement.cautions, "incomplete-blocks", blocks=1)


def test_a_cost_of_nothing_has_no_ratio_and_says_so() -> None:
    judgement = analyze_run(run(noisy(0.1)), settings())
    assert Metric.READ_BYTES_PER_OPERATION not in {v.metric for v in judgement.verdicts}
    assert has(judgement.cautions, "no-ratio", metric="read_bytes_per_operation")


def test_a_primary_cost_of_nothing_is_undecided_with_its_reason() -> None:
    judgement = analyze_run(run(noisy(0.1)), settings(metric=Metric.READ_BYTES_PER_OPERATION))
    assert judgement.decision is Decision.UNDECIDED
    assert [reason.code for reason in primary(judgement.verdicts).reasons] == ["no-data"]


def test_a_twin_that_read_nothing_loses_its_own_ratio_only() -> None:
    third = condition("chacha20", Role.TREATMENT)
    trials = [
        replace(t, measurement=changed(t.measurement, syscall_read_bytes=0)) if t.condition == AES else t
        for t in run(noisy(0.1), (*TWINS, third), read=5_000_000)
    ]
    judgement = analyze_run(trials, settings((*TWINS, third)))
    assert [v.condition for v in judgement.verdicts if v.metric is Metric.READ_BYTES_PER_OPERATION] == [third]


def test_costs_that_never_vary_are_negligible_to_the_byte() -> None:
    written = [
        v for v in analyze_run(run(noisy(0.1)), settings()).verdicts if v.metric is Metric.WRITTEN_BYTES_PER_OPERATION
    ]
    assert [v.decision for v in written] == [Decision.NEGLIGIBLE]
    assert written[0].ratio.median == pytest.approx(1.0, abs=1e-5)
    assert written[0].unit == "bytes"


def test_missing_the_wanted_precision_is_a_caution() -> None:
    trials = run(noisy(0.0, sd=0.05), rounds=3)
    assert has(analyze_run(trials, settings()).cautions, "precision-missed", condition="cipher=aes-256,threads=1")
    assert not has(
        analyze_run(trials, settings(), precision=0.5).cautions,
        "precision-missed",
        condition="cipher=aes-256,threads=1",
    )


def test_instances_unlike_each_other_beyond_the_prior_are_a_caution() -> None:
    judgement = analyze_run(run(noisy(0.0, sd=1e-3, instance_effect=0.2), rounds=8), settings())
    assert has(judgement.cautions, "large-instance-effect", metric="response_time")
    assert any(str(it).startswith("response time: copies differ") for it in judgement.cautions)


def test_an_injected_twin_shows_its_actual_cost() -> None:
    injected = condition("none", Role.INJECTED, injected=0.05)
    shift = noisy(math.log(1.05), sd=5e-3)
    trials = [
        trial(c, r, 6 * r + b, measurement(np.exp(shift(c, r, 6 * r + b)), injected=0.05 if c is injected else 0.0), p)
        for r in range(6)
        for b in range(6)
        for p, c in enumerate((BASELINE, AA, injected))
    ]
    verdicts = analyze_run(trials, settings((BASELINE, AA, injected))).verdicts
    by_metric = {v.metric: v.actual for v in verdicts}
    assert by_metric[Metric.RESPONSE_TIME] == pytest.approx(1.05)
    assert by_metric[Metric.CPU_PER_OPERATION] == pytest.approx(1.05)
    assert by_metric[Metric.WRITTEN_BYTES_PER_OPERATION] is None
    low, high = primary(verdicts).ratio.hdi95
    assert low < 1.05 < high


def test_an_identical_twin_is_judged_like_any_other() -> None:
    identical = condition("none", Role.IDENTICAL)
    judgement = analyze_run(run(noisy(0.0), (BASELINE, AA, identical)), settings((BASELINE, AA, identical)))
    assert primary(judgement.verdicts).condition == identical


def test_strata_are_compared_with_their_own_baselines() -> None:
    slow = tuple(condition(c.as_json()["cipher"], c.role, 1) for c in TWINS)  # type: ignore[arg-type]
    costs = noisy(0.1, sd=5e-3)
    trials = run(lambda c, r, b: costs(c, r, b) + (1.0 if c.stratum else 0.0), (*TWINS, *slow))
    judgement = analyze_run(trials, settings((*TWINS, *slow)))
    found = [v for v in judgement.verdicts if v.primary]
    assert [v.baseline.stratum for v in found] == [0, 1]
    assert [floor.stratum for floor in judgement.noise_floor] == [0, 1]
    assert [check.detail.split(":")[0] for check in judgement.validity] == ["threads 1", "threads 2"]
    cautions = analyze_run(trials[:-1], settings((*TWINS, *slow))).cautions
    assert has(cautions, "incomplete-blocks", where="threads 2", blocks=1)
    assert all(v.ratio.hdi95[0] < math.exp(0.1) < v.ratio.hdi95[1] for v in found)
    assert found[1].baseline_value > 2.0 * found[0].baseline_value


def test_transaction_types_are_judged_one_by_one_and_decide_nothing() -> None:
    judgement = analyze_run(run(noisy(0.1), types=(1.0, 5.0, 0.2)), settings())
    typed = [v for v in judgement.verdicts if v.transaction != "all"]
    assert [v.transaction for v in typed] == ["type0", "type1", "type2"]
    assert not any(v.primary for v in typed)
    assert all(v.ratio.hdi95[0] < math.exp(0.1) < v.ratio.hdi95[1] for v in typed)
    assert typed[1].baseline_value > 4.0 * typed[0].baseline_value


def without_type(t: Trial, name: str) -> Trial:
    spans = {**t.measurement.transactions, name: SpanTotals(0, 0)}
    return replace(t, measurement=replace(t.measurement, transactions=spans))


def test_a_type_that_ran_in_some_blocks_only_is_judged_by_those() -> None:
    trials = [without_type(t, "type1") if t.block % 2 else t for t in run(noisy(0.1), types=(1.0, 1.0))]
    by_name = {v.transaction: v for v in analyze_run(trials, settings()).verdicts if v.transaction != "all"}
    assert set(by_name) == {"type0", "type1"}
    assert by_name["type1"].ratio.hdi95[0] < math.exp(0.1) < by_name["type1"].ratio.hdi95[1]


def test_a_type_that_never_ran_in_a_whole_block_is_left_out() -> None:
    trials = [without_type(t, "type1") if t.condition == AA else t for t in run(noisy(0.1), types=(1.0, 1.0, 1.0))]
    assert {v.transaction for v in analyze_run(trials, settings()).verdicts} == {"all", "type0", "type2"}


def test_a_look_sees_what_the_judgement_says() -> None:
    trials = run(noisy(0.1))
    ((of, estimate, target),) = interim_estimates(trials, settings())
    assert of == AES
    judged = primary(analyze_run(trials, settings()).verdicts).ratio
    assert estimate.hdi95 == pytest.approx(judged.hdi95, abs=1e-5)
    assert estimate.median == pytest.approx(judged.median, abs=1e-5)
    assert target == pytest.approx(max(0.02, 0.1 * (estimate.median - 1.0)))


def test_a_look_before_any_block_is_wide_open() -> None:
    ((_, estimate, _),) = interim_estimates([], settings())
    assert estimate.hdi95[1] - estimate.hdi95[0] > 1.0


@hypothesis_settings(max_examples=15, deadline=None)
@given(st.floats(0.01, 100.0), st.integers(0, 1000))
def test_the_unit_of_a_cost_does_not_change_its_ratio(scale: float, seed: int) -> None:
    costs = noisy(0.05, seed=seed)
    rescaled = noisy(0.05, seed=seed)
    ((_, before, _),) = interim_estimates(run(costs, rounds=2), settings())
    ((_, after, _),) = interim_estimates(run(lambda c, r, b: rescaled(c, r, b) + math.log(scale), rounds=2), settings())
    assert after.median == pytest.approx(before.median, abs=1e-5)
    assert after.hdi95 == pytest.approx(before.hdi95, abs=1e-4)


@hypothesis_settings(max_examples=15, deadline=None)
@given(st.permutations(range(18)), st.integers(0, 1000))
def test_neither_the_order_of_trials_nor_the_drift_of_blocks_changes_the_answer(order: list[int], seed: int) -> None:
    trials = run(noisy(0.05, seed=seed), rounds=1)
    assert interim_estimates([trials[i] for i in order], settings()) == interim_estimates(trials, settings())


def test_swapping_baseline_and_condition_inverts_the_ratio() -> None:
    pairs = [(c, b) for c in TWINS for b in range(24)]
    costs = {(c.key, b): 0.01 * math.sin(7 * b + len(c.key)) + (0.1 if c == AES else 0.0) for c, b in pairs}
    pair = (BASELINE, AES)
    ((_, forward, _),) = interim_estimates(run(lambda c, _, b: costs[c.key, b], pair), settings(pair))
    other = {BASELINE.key: AES.key, AES.key: BASELINE.key}
    ((_, backward, _),) = interim_estimates(run(lambda c, _, b: costs[other[c.key], b], pair), settings(pair))
    assert backward.median == pytest.approx(1.0 / forward.median, rel=1e-3)


def test_trials_without_a_checkpoint_have_no_time_with_one_and_no_caution_for_it() -> None:
    judgement = analyze_run(run(noisy(0.1)), settings())
    assert Metric.TIME_WITH_CHECKPOINT not in {v.metric for v in judgement.verdicts}
    assert not [caution for caution in map(str, judgement.cautions) if "time_with_checkpoint" in caution]

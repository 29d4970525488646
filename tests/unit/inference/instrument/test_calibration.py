import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from support.refused import Part, check_messages, has
from tdelta.inference.instrument import calibration as module
from tdelta.inference.instrument.calibration import (
    MINUTES,
    MOST_ROUNDS,
    InstrumentNoise,
    critical_log_ratio,
    detectable_effects,
    faults,
    identical_tally,
    injected_tallies,
    mean_interval,
    tally_cautions,
    trustworthy,
    usual_layout,
)
from tdelta.inference.instrument.measured import strata_of
from tdelta.inference.rounds import RoundsFit
from tdelta.messages import Detail, Reason
from tdelta.messages.checks import AA_CHECK
from tdelta.records import (
    CheckState,
    Condition,
    Counts,
    Decision,
    DetectableEffect,
    Estimate,
    InjectedTally,
    LoopFacts,
    Metric,
    Role,
    RunResult,
    RunSettings,
    Validity,
    Verdict,
)
from tdelta.records.instrument import Layout

from ..builders import BASELINE, condition, settings
from .machines import IDENTICAL, ROUND_SECONDS, SEARCH_SECONDS, SET_UP_SECONDS, SWITCH_SECONDS, TWINS, run

INJECTED = condition("none", Role.INJECTED, injected=0.05)
TOLERANCE = 0.02


def verdict(
    of: Condition,
    median: float,
    *,
    half: float = 0.02,
    decision: Decision = Decision.UNDECIDED,
    metric: Metric = Metric.RESPONSE_TIME,
    actual: float | None = None,
) -> Verdict:
    ratio = Estimate(median, (median - half, median + half), (median - 2 * half, median + 2 * half), 0.3, 0.4, 0.3)
    primary = metric is Metric.RESPONSE_TIME
    values = (100.0, 100.0 * median)
    return Verdict(primary, of, BASELINE, metric, "all", "µs", *values, ratio, decision, actual=actual)


def result(*verdicts: Verdict, validity: tuple[Validity, ...] = ()) -> RunResult:
    asked: RunSettings = settings((BASELINE, IDENTICAL, INJECTED))
    counts, loop = Counts(3, 18, 72, 100, 0.25, 40.0), LoopFacts(90.0, 0.001)
    return RunResult(asked, Decision.UNDECIDED, verdicts, (), validity, (), counts, loop)


def identical(median: float, decision: Decision = Decision.UNDECIDED, **changes: float) -> RunResult:
    return result(verdict(IDENTICAL, median, decision=decision, **changes))  # type: ignore[arg-type]


def injected(read: float, truth: float = 1.05, half: float = 0.02) -> RunResult:
    return result(verdict(INJECTED, read, half=half, actual=truth))


@pytest.mark.parametrize("values", [[0.1, 0.3], [0.01, 0.02, -0.01, 0.03], list(range(30))])
def test_the_interval_of_a_mean_is_students(values: list[float]) -> None:
    found = mean_interval(values)
    expected = stats.t.interval(0.95, len(values) - 1, sum(values) / len(values), stats.sem(values))
    assert found == pytest.approx(expected, rel=1e-9)


def test_one_value_has_no_interval() -> None:
    assert mean_interval([0.1]) is None


def test_identical_twins_are_counted_by_their_calls_and_by_whether_the_hdi_holds_0() -> None:
    runs = [
        identical(1.0, Decision.NEGLIGIBLE),
        identical(1.01),
        identical(1.03, Decision.SLOWER, half=0.005),
        identical(0.96, Decision.FASTER, half=0.005),
        identical(1.06, Decision.INVALID),
    ]
    found = identical_tally(runs)
    assert (found.false_calls.count, found.false_calls.of) == (3, 5)
    assert (found.held.count, found.held.of) == (2, 5)
    assert found.apart == pytest.approx(0.035, abs=0.002)


def test_an_injected_cost_is_held_against_what_was_actual_in_its_own_run() -> None:
    runs = [injected(1.05, 1.045), injected(1.08, 1.05), injected(1.04, 1.06)]
    (found,) = injected_tallies(runs, is_truth=True)
    assert found.actual == pytest.approx((1.045 + 1.05 + 1.06) / 3)
    assert found.bias == pytest.approx((0.005 + 0.03 - 0.02) / 3)
    assert (found.held.count, found.held.of, found.found.count) == (2, 3, 3)
    assert found.width == pytest.approx(0.04)


def test_response_time_comes_before_cpu_and_cpu_keeps_its_truth() -> None:
    both = result(
        verdict(INJECTED, 1.05, metric=Metric.CPU_PER_OPERATION, actual=1.05), verdict(INJECTED, 1.05, actual=1.04)
    )
    found = injected_tallies([both], is_truth=False)
    judged = {tally.metric: tally.is_truth for tally in found}
    assert list(judged.items()) == [("response_time", False), ("cpu_per_operation", True)]


def found_faults(runs: list[RunResult], *, is_truth: bool = True) -> list[Reason]:
    valid = trustworthy(runs)
    return list(faults(runs, identical_tally(valid), injected_tallies(valid, is_truth=is_truth), TOLERANCE))


def test_a_sound_series_has_no_faults() -> None:
    assert found_faults([identical(1.0)] * 14 + [injected(1.055)] * 14) == []


def test_one_false_call_among_a_dozen_is_no_fault_but_four_are() -> None:
    fine, wrong = identical(1.0), identical(1.01, Decision.SLOWER)
    assert found_faults([wrong] + [fine] * 11) == []
    (fault,) = found_faults([wrong] * 4 + [fine] * 8)
    assert has([fault], "false-calls", count=4, of=12)


def test_intervals_that_miss_too_often_are_a_fault_and_a_few_are_not() -> None:
    missed, held = injected(1.065, half=0.01), injected(1.055, half=0.01)
    assert found_faults([missed] * 2 + [held] * 12) == []
    (fault,) = found_faults([missed] * 7 + [held] * 7)
    assert has([fault], "cost-not-held", held=7, of=14, where=Part("injected 5%"))


def test_a_bias_that_is_surely_larger_than_the_tolerance_is_a_fault_and_a_smaller_one_a_caution() -> None:
    large = [injected(1.05 + bias, half=0.1) for bias in (0.03, 0.031, 0.032)]
    (fault,) = found_faults(large)
    assert has([fault], "bias-beyond-tolerance", bias=pytest.approx(3.1), where=Part("injected 5%"))
    small = [injected(1.05 + bias, half=0.1) for bias in (0.01, 0.011, 0.012)]
    assert found_faults(small) == []
    cautions = list(tally_cautions(12, injected_tallies(small, is_truth=True)))
    assert has(cautions, "bias", points=pytest.approx(1.1), where=Part("injected 5%"))


def test_where_threads_wait_nothing_is_held_against_response_time_and_that_is_said() -> None:
    far = [injected(1.5)] * 14
    assert found_faults(far, is_truth=False) == []
    cautions = tally_cautions(14, injected_tallies(far, is_truth=False))
    check_messages(cautions, "injected-is-no-truth", where=Part("injected 5%"))


def test_a_run_that_failed_a_check_is_a_fault_and_counts_for_nothing_else() -> None:
    broken = result(
        verdict(IDENTICAL, 1.5, decision=Decision.INVALID),
        validity=(Validity("rows", CheckState.FAILED, (Detail.verbatim("differ"),)),),
    )
    (fault,) = found_faults([identical(1.0), broken])
    assert has([fault], "check-failed-in-runs", failed=1, runs=2, check="rows", detail="differ")


def test_a_failed_aa_check_is_a_false_call_and_not_a_broken_run() -> None:
    failed = result(
        verdict(IDENTICAL, 1.0, decision=Decision.INVALID),
        validity=(Validity(AA_CHECK, CheckState.FAILED, (Detail.verbatim("apart"),)),),
    )
    assert trustworthy([failed]) == (failed,)
    assert identical_tally([failed]).false_calls.count == 1


def test_a_run_without_a_complete_block_counts_for_nothing() -> None:
    empty = result(replace(verdict(IDENTICAL, 1.0), baseline_value=0.0))
    assert trustworthy([empty]) == ()


def test_few_runs_say_how_little_they_can_rule_out() -> None:
    check_messages(tally_cautions(4, ()), "few-calibration-runs", runs=4, false=pytest.approx(0.602, abs=0.001))
    assert not list(tally_cautions(14, ()))


def test_a_single_run_has_no_bias_interval_and_no_fault_from_it() -> None:
    (tally,) = injected_tallies([injected(1.5, half=0.6)], is_truth=True)
    assert isinstance(tally, InjectedTally)
    assert tally.bias_interval is None
    assert found_faults([injected(1.5, half=0.6)]) == []


@pytest.fixture(autouse=True)
def few_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_EXPERIMENTS", 60)


def noise(trial_sd: float = 0.03, instance_effect: float = 0.003) -> InstrumentNoise:
    effects = RoundsFit((), np.array([instance_effect]), np.array([1.0]))
    return InstrumentNoise(Metric.RESPONSE_TIME, trial_sd, 1.0, effects, 100)


def layout(set_up_seconds: float, round_seconds: float) -> Layout:
    """A round of six blocks, as long in all."""
    return Layout(3, 3, 2, 0.25, 6, set_up_seconds, round_seconds / 4, round_seconds / 8)


def test_a_longer_run_reaches_further_and_noise_and_instance_effects_take_it_back() -> None:
    usual = critical_log_ratio(noise(), rounds=10, blocks=6)
    assert critical_log_ratio(noise(), rounds=40, blocks=6) < 0.7 * usual
    assert critical_log_ratio(noise(trial_sd=0.06), rounds=10, blocks=6) > 1.4 * usual
    assert critical_log_ratio(noise(instance_effect=0.02), rounds=10, blocks=6) > 1.4 * usual


def test_the_reach_is_what_normal_theory_says_where_everything_is_known() -> None:
    found = critical_log_ratio(noise(trial_sd=0.02, instance_effect=0.01), rounds=60, blocks=6)
    sd = math.sqrt((0.01**2 + 0.02**2 / 6) / 60 * 1.5)
    assert found == pytest.approx((1.96 + 1.28) * sd, rel=0.15)


def test_a_single_block_a_round_has_no_noise_of_its_own_and_still_an_answer() -> None:
    assert 0.0 < critical_log_ratio(noise(), rounds=4, blocks=1) < 1.0


def test_one_reach_serves_every_limit() -> None:
    shown = DetectableEffect(5.0, 30, 0.01)
    assert shown.overhead(0.0) == pytest.approx(math.exp(0.01) - 1.0)
    assert shown.overhead(0.05) == pytest.approx(1.05 * math.exp(0.01) - 1.0)
    assert DetectableEffect(5.0, 0, None).overhead(0.02) is None


def test_every_length_is_told_and_one_that_holds_no_round_shows_nothing() -> None:
    found = detectable_effects(noise(), layout(400.0, 60.0))
    assert tuple(one.minutes for one in found) == MINUTES
    assert [one.rounds for one in found] == [0, 13, 53]
    assert found[0].critical_log_ratio is None
    assert found[1].critical_log_ratio is not None
    assert found[2].critical_log_ratio is not None
    assert found[2].critical_log_ratio < found[1].critical_log_ratio


def test_beyond_400_rounds_nothing_is_simulated() -> None:
    assert {one.rounds for one in detectable_effects(noise(), layout(0.0, 0.1))} == {MOST_ROUNDS}


def test_a_usual_run_has_three_twins_whatever_the_series_had() -> None:
    strata = [one for number in (1, 2) for one in strata_of(run(conditions=TWINS, seed=number), Metric.RESPONSE_TIME)]
    four = strata_of(run(conditions=(*TWINS, IDENTICAL)), Metric.RESPONSE_TIME)
    usual = usual_layout(strata, 6)
    assert usual.set_up_seconds == pytest.approx(SET_UP_SECONDS + SEARCH_SECONDS)
    assert usual.whole_round_seconds == pytest.approx(ROUND_SECONDS + 6 * 3 * (0.25 + SWITCH_SECONDS), rel=1e-3)
    assert usual_layout(four, 6).round_seconds == pytest.approx(0.75 * usual.round_seconds)
    assert usual_layout(four, 6).block_seconds == pytest.approx(usual.block_seconds, rel=1e-3)

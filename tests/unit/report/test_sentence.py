import re
from dataclasses import replace

import pytest

from support import samples as s
from tdelta.messages import Detail, Reason
from tdelta.records import CheckState, Decision, Estimate, Metric, Role, Validity
from tdelta.report.sentence import answer, floor


def test_an_undecided_gate_names_the_budget_and_the_99_percent_interval() -> None:
    given = replace(s.settings(), budget=0.03)
    head = s.verdict(s.estimate(1.031, 0.007), Decision.UNDECIDED, primary=True)
    text = answer(s.result(Decision.UNDECIDED, (head,), given))
    assert "the 99 % HDI reaches across the budget of 3 %" in text
    assert "95 %" not in text


@pytest.mark.parametrize(("decision", "word"), [(Decision.OVER, "over"), (Decision.WITHIN, "within")])
def test_a_gate_is_answered_against_its_budget(decision: Decision, word: str) -> None:
    head = s.verdict(s.estimate(1.031, 0.007), decision, primary=True)
    text = answer(s.result(decision, (head,), replace(s.settings(), budget=0.05)))
    assert text.endswith(f": {word} the budget of 5 %.")


def test_a_speed_up_is_reported_with_the_advice_to_distrust_it() -> None:
    head = s.verdict(s.estimate(0.94, 0.01), Decision.FASTER, primary=True)
    text = answer(s.result(Decision.FASTER, (head,)))
    assert "changes response time by −6.0 %" in text
    assert "look for another difference between the twins" in text


def test_a_failed_check_of_the_whole_run_overrules_verdicts_that_look_fine() -> None:
    broken = replace(
        s.slower(),
        decision=Decision.INVALID,
        validity=(Validity("settings", CheckState.FAILED, (Detail.verbatim("2 of 6 differ"),)),),
    )
    assert ": invalid, so no answer: the check “settings are the same” (2 of 6 differ) failed." in answer(broken)


def test_only_the_invalid_stratum_loses_its_answer() -> None:
    run = s.sweep()
    heads = (
        replace(
            run.primary[0],
            decision=Decision.INVALID,
            reasons=(Reason.verbatim("a/a twins agree: failed"), Reason.verbatim("x")),
        ),
        run.primary[2],
    )
    text = answer(replace(run, verdicts=heads, validity=(Validity("a/a twins agree", CheckState.FAILED, ()),)))
    assert "invalid, so no answer: at 1 thread, encryption with aes-128" in text
    assert "not to be relied on (a/a twins agree: failed)." in text
    assert "At 16 threads, encryption with aes-128 costs +0.3 %" in text


def test_without_an_a_a_twin_the_noise_floor_is_said_to_be_unknown() -> None:
    given = s.settings(s.PLAIN, s.AES)
    text = floor(replace(s.slower(), settings=given, noise_floor=()))
    assert text == "No A/A twin ran, so the noise floor of this instrument is not known."


def test_an_identical_twin_that_looks_slower_is_called_a_false_alarm() -> None:
    twin = s.condition("none", Role.IDENTICAL)
    head = s.verdict(s.estimate(1.05, 0.01), Decision.SLOWER, primary=True, of=twin)
    text = answer(s.result(Decision.SLOWER, (head,), s.settings(s.PLAIN, twin), noise_floor=()))
    assert text.endswith("though nothing differs: a false alarm of this instrument.")
    assert "ncryption" not in text


@pytest.mark.parametrize(("realised", "where"), [(1.0521, "inside"), (1.0752, "outside")])
def test_an_injected_cost_is_set_beside_what_was_realised(realised: float, where: str) -> None:
    run = s.injected()
    head = replace(run.primary[1], realised=realised)
    text = answer(replace(run, verdicts=(head,)))
    assert f"its realised cost was +{100 * (realised - 1):.1f} %, {where} the HDI." in text


def test_a_cost_injected_at_several_threads_is_shown_but_not_judged() -> None:
    slowed = s.condition("none", Role.INJECTED, threads=4, injected=0.05)
    head = s.verdict(s.estimate(1.2, 0.02), Decision.SLOWER, primary=True, of=slowed, realised=1.05)
    text = answer(s.result(Decision.SLOWER, (head,), s.settings(s.PLAIN, slowed)))
    assert "inside the HDI" not in text
    assert "outside the HDI" not in text
    assert "not the truth for response time once threads wait" in text


def test_a_condition_without_a_single_measured_block_gets_no_figure() -> None:
    wide = Estimate(1.0, (0.2, 3.0), (0.1, 5.0), 0.4, 0.1, 0.4)
    head = s.verdict(wide, Decision.UNDECIDED, primary=True, value=0.0, reasons=("no complete block",))
    assert answer(s.result(Decision.UNDECIDED, (head,))).endswith(": no answer for aes-256: no complete block.")


def test_a_run_that_ended_at_once_says_that_there_is_no_answer() -> None:
    text = answer(s.result(Decision.UNDECIDED, (), interrupted=True))
    assert text.startswith(
        "Interrupted before the end. SQLite, order-entry, 50 MB with a 10 % cache, 1 thread: no answer"
    )
    assert text.endswith("the run ended before its first round was complete.")


def test_with_cpu_as_the_primary_metric_response_time_stands_beside_it() -> None:
    cpu = s.verdict(s.estimate(1.04, 0.004), Decision.SLOWER, metric=Metric.CPU_PER_OPERATION, primary=True)
    time = s.verdict(s.estimate(1.001, 0.004), Decision.NEGLIGIBLE)
    text = answer(s.result(Decision.SLOWER, (cpu, time), replace(s.settings(), metric=Metric.CPU_PER_OPERATION)))
    assert "costs +4.0 % CPU per operation (95 % HDI +3.6 … +4.4), and +0.1 % response time" in text


@pytest.mark.parametrize("name", s.SAMPLES)
def test_no_answer_speaks_of_significance(name: str) -> None:
    run = s.SAMPLES[name]()
    assert not re.search("significan", f"{answer(run)} {floor(run)}", re.IGNORECASE)


@pytest.mark.parametrize(
    ("options", "words"), [({}, "the default ±2 %"), ({"tolerance_is_given": True}, "your limit of ±2 %")]
)
def test_only_a_limit_that_was_given_is_what_the_user_said(options: dict[str, object], words: str) -> None:
    given = s.settings()
    text = answer(replace(s.slower(), settings=replace(given, options={**given.options, **options})))
    assert f": above {words}" in text


def test_a_limit_that_is_not_the_default_was_given() -> None:
    text = answer(replace(s.slower(), settings=replace(s.settings(), tolerance=0.01)))
    assert "above your limit of ±1 %" in text


def test_stalls_of_the_plain_twins_are_not_laid_to_the_encrypted_one() -> None:
    head = s.verdict(s.estimate(0.9, 0.02), Decision.FASTER, primary=True, typical=s.estimate(1.01, 0.02))
    stalls = (s.odd(s.PLAIN, 60, 6, 0.12), s.odd(s.AES, 30))
    assert "stalls of the plain twins make it −10.0 % in all" in answer(s.result(head.decision, (head,), stalls=stalls))


def test_an_invalid_verdict_has_no_word_on_typical_operations() -> None:
    head = replace(s.stalling().primary[0], decision=Decision.INVALID)
    assert "typical" not in answer(replace(s.stalling(), verdicts=(head,)))


def test_encrypted_twins_that_clearly_differ_say_that_the_run_measured_more() -> None:
    floors = (s.noise(s.estimate(1.002, 0.005)), s.noise(s.estimate(1.06, 0.011), of=s.AES))
    assert "nothing differs between such twins" in str(floor(replace(s.slower(), noise_floor=floors)))

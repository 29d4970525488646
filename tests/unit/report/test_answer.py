import re
from dataclasses import replace

import pytest

from support import analysis_samples as a
from support import samples as s
from tdelta.cli.exit_codes import ExitCode, analysis_exit_code, exit_code
from tdelta.document.effect import TIME, Cost, Effect
from tdelta.document.labels import condition_label, decision_word
from tdelta.findings.stalls import parting
from tdelta.messages import Caution, Detail, Reason
from tdelta.messages.catalogue import CACHED, DIRECTION, DIRECTION_ALONE, NOTHING_ENCRYPTED, TOO_LITTLE
from tdelta.messages.cautions import AGAINST_TRUST, CAUTIONS
from tdelta.messages.checks import NO_MARKER
from tdelta.messages.message import fields_of
from tdelta.records import (
    AnalysisResult,
    CheckState,
    Condition,
    Decision,
    Estimate,
    EvidenceState,
    Metric,
    Role,
    RunResult,
    Validity,
    Verdict,
)
from tdelta.report.analysis.details import analysis_blocks
from tdelta.report.answer import MOST_LINES, WIDTH, Answer, against_trust, files_answer, found, run_answer
from tdelta.report.details import run_blocks
from tdelta.report.document import document
from tdelta.report.drawing import draw
from tdelta.report.formats.junit import junit
from tdelta.report.formats.markdown import markdown
from tdelta.report.formats.rows import Answered
from tdelta.report.page.compose import answer_section

RUNS = {name: sample() for name, sample in s.SAMPLES.items()}
FILES = {name: sample() for name, sample in a.SAMPLES.items()}
TEXTS = {name: draw(run_blocks(result)) for name, result in RUNS.items()} | {
    f"files-{name}": draw(analysis_blocks(result, command="tdelta analyze plain/ tde/"))
    for name, result in FILES.items()
}
CODES = {
    "INTERRUPTED": ExitCode.INTERRUPTED,
    **dict.fromkeys(("UNDECIDED", "NO ANSWER YET", "PROBABLY"), ExitCode.UNDECIDED),
    "INVALID": ExitCode.INVALID,
    "OVER BUDGET": ExitCode.OVER_BUDGET,
}


def sentence(result: RunResult) -> str:
    return run_answer(result).sentence


def line(answer: Answer, title: str) -> str:
    return "; ".join(one.text for one in answer.lines if one.title == title)


def one(ratio: Estimate, decision: Decision, **given: object) -> RunResult:
    """A run with one primary verdict."""
    return s.result(decision, (s.verdict(ratio, decision, primary=True, **given),))


@pytest.mark.parametrize("name", TEXTS)
def test_an_answer_has_at_most_ten_lines_of_78_columns_below_its_sentence(name: str) -> None:
    first, *below = TEXTS[name].split("\n\n")
    is_table = len(below) > 1
    rows = [text for part in below for text in part.splitlines()]
    assert len(first.splitlines()) <= 4
    assert len(rows) <= MOST_LINES + 2 * is_table  # the table's head, and a row that is folded
    assert max(map(len, first.splitlines() + below[-1].splitlines())) <= WIDTH


@pytest.mark.parametrize("name", TEXTS)
def test_an_answer_has_no_word_of_statistics_or_of_the_design_and_no_run_id(name: str) -> None:
    assert not re.search(rf"HDI|ROPE|\btwins?\b|condition|significan|posterior|{s.RUN_ID}", TEXTS[name], re.IGNORECASE)
    assert not re.search(r"\d %", TEXTS[name])


@pytest.mark.parametrize("name", RUNS)
def test_the_first_words_of_a_run_say_what_its_exit_code_says(name: str) -> None:
    assert_agrees(sentence(RUNS[name]), exit_code(RUNS[name]))


@pytest.mark.parametrize("name", FILES)
def test_the_first_words_of_an_analysis_say_what_its_exit_code_says(name: str) -> None:
    assert_agrees(files_answer(FILES[name]).sentence, analysis_exit_code(FILES[name]))


def assert_agrees(text: str, code: ExitCode) -> None:
    named = [
        found for words, found in CODES.items() if text.startswith(words) or text.partition(":")[0].endswith(words)
    ]
    assert (named or [ExitCode.ANSWERED])[0] == code, text


@pytest.mark.parametrize(
    ("median", "ends", "degree", "span"),
    [
        (1.36, (1.32, 1.40), "36% slower", "32% to 40%"),
        (1.031, (1.024, 1.038), "3.1% slower", "2.4% to 3.8%"),
        (0.95, (0.93, 0.97), "5.0% faster", "3.0% to 7.0%"),
        (1.004, (0.997, 1.011), "0.4% slower", "−0.3% to +1.1%"),
        (5.7, (5.2, 6.1), "5.7 times as long", "5.2 to 6.1 times"),
        (24.3, (22.0, 26.0), "24 times as long", "22 to 26 times"),
    ],
)
def test_an_effect_is_worded_by_its_direction_and_from_twice_as_much_on_as_a_multiple(
    median: float, ends: tuple[float, float], degree: str, span: str
) -> None:
    effect = Effect(median, ends, (0.98, 1.02))
    assert (effect.degree(TIME), effect.span()) == (degree, span)


def test_an_interval_across_no_change_has_both_directions() -> None:
    assert Effect(1.01, (0.98, 1.04)).reach(Cost("CPU")) == "between 2.0% less and 4.0% more CPU"


def test_figures_keep_their_side_of_a_limit() -> None:
    assert "2.04%" in Effect(1.0304, (1.0204, 1.0404), (0.98, 1.02)).span()
    assert "20.4%" in Effect(1.26, (1.204, 1.31), (1.2,)).span()


@pytest.mark.parametrize(
    ("metric", "word"),
    [
        (Metric.RESPONSE_TIME, "slower"),
        (Metric.CPU_PER_OPERATION, "more CPU"),
        (Metric.READ_BYTES_PER_OPERATION, "more bytes"),
        ("throughput", "slower"),
        ("lock waits", "more"),
    ],
)
def test_a_cost_is_called_more_of_what_it_is(metric: str, word: str) -> None:
    assert decision_word(Decision.SLOWER, metric) == word


def test_another_metric_that_decides_is_named_in_the_sentence() -> None:
    result = one(s.estimate(1.04, 0.004), Decision.SLOWER, metric=Metric.CPU_PER_OPERATION)
    assert sentence(result).startswith("MORE CPU: AES-256 makes this workload take 4.0% more CPU time per transaction")


def test_a_speed_up_comes_with_the_advice_to_distrust_it() -> None:
    text = sentence(one(s.estimate(0.94, 0.01), Decision.FASTER))
    assert text.startswith("FASTER: AES-256 makes this workload 6.0% faster")
    assert "look for another difference" in text


@pytest.mark.parametrize("decision", [Decision.OVER, Decision.WITHIN, Decision.UNDECIDED])
def test_a_gate_names_its_budget_and_takes_the_99_percent_interval(decision: Decision) -> None:
    given = replace(s.settings(), budget=0.05)
    result = s.result(decision, (s.verdict(s.estimate(1.05, 0.01), decision, primary=True),), given)
    answer = run_answer(result)
    assert answer.sentence.endswith("; the limit is 5%.")
    assert "3.7% to 6.3%" in answer.sentence
    assert "95%" not in answer.sentence + line(answer, "Confidence") + line(answer, "Why")


def test_a_failed_check_of_the_whole_run_overrules_verdicts_that_look_fine() -> None:
    failed = Validity("settings", CheckState.FAILED, (Detail.verbatim("2 of 6 differ"),))
    lost = tuple(replace(v, decision=Decision.INVALID) for v in s.slower().verdicts)
    answer = run_answer(replace(s.slower(), decision=Decision.INVALID, verdicts=lost, validity=(failed,)))
    assert answer.sentence.startswith("INVALID: ")
    assert "2 of 6 differ" in answer.sentence
    assert not line(answer, "Response time")


def test_only_the_invalid_stratum_loses_its_answer() -> None:
    run = s.sweep()
    lost = replace(run.primary[0], decision=Decision.INVALID, reasons=(Reason.verbatim("identical copies differ"),))
    text = sentence(replace(run, verdicts=(lost, run.primary[2]), validity=()))
    assert "the result for AES-128 is not reliable (identical copies differ)" in text
    assert "NO RELEVANT DIFFERENCE: at 16 threads, with AES-128" in text


def test_a_run_that_ended_at_once_has_no_answer_yet() -> None:
    text = sentence(s.result(Decision.UNDECIDED, (), interrupted=True))
    assert text == "INTERRUPTED. NO ANSWER YET: the run ended before its first round was complete."


def test_a_configuration_without_a_measured_block_has_no_figure() -> None:
    wide = Estimate(1.0, (0.2, 3.0), (0.1, 5.0), 0.4, 0.1, 0.4)
    text = sentence(one(wide, Decision.UNDECIDED, value=0.0, reasons=("no complete block",)))
    assert text == "NO ANSWER YET: the run ended before its first round was complete."


def test_identical_copies_that_seem_to_differ_fail_the_self_test() -> None:
    copy = s.condition("none", Role.IDENTICAL)
    head = s.verdict(s.estimate(1.05, 0.01), Decision.SLOWER, primary=True, of=copy)
    result = s.result(Decision.SLOWER, (head,), s.settings(s.PLAIN, copy), noise_floor=())
    assert sentence(result).startswith("SELF-TEST FAILED: an identical copy measured +5.0%")
    assert exit_code(result) is ExitCode.INVALID


@pytest.mark.parametrize(("decision", "word"), [(Decision.SLOWER, "PASSED"), (Decision.UNDECIDED, "UNDECIDED")])
def test_an_injected_slowdown_is_shown_with_its_actual_size(decision: Decision, word: str) -> None:
    run = s.injected()
    head = replace(run.primary[1], decision=decision, actual=1.0521)
    text = sentence(replace(run, decision=decision, verdicts=(head,)))
    assert text.startswith(f"SELF-TEST {word}: ")
    assert "actual +5.2%" in text


def test_a_self_test_beside_encryption_has_a_sentence_of_its_own() -> None:
    run, test = s.slower(), s.injected()
    both = replace(run, verdicts=(*run.verdicts, *test.primary))
    answer = run_answer(both)
    first = "SLOWER: AES-256 makes this workload 3.1% slower (2.4% to 3.8%)."
    assert answer.sentence.startswith(f"{first} SELF-TEST PASSED: ")
    assert line(answer, "Response time")


def test_operations_are_named_each_with_its_own_time() -> None:
    run = s.acted()
    during = next(v for v in run.primary if v.condition.get("during", "nothing") != "nothing")
    levels = tuple((name, "rotate" if name == "during" else level) for name, level in during.condition.levels)
    other = replace(during, condition=replace(during.condition, levels=levels))
    text = sentence(replace(run, verdicts=(*run.verdicts, other)))
    assert text.startswith("CONVERSION and KEY ROTATION: encrypting the database takes ")
    assert "Changing the master key takes " in text


def test_a_figure_of_a_part_of_the_trials_is_told_apart_from_the_verdict_on_all() -> None:
    run = s.acted()
    head = next(v for v in run.primary if v.condition.get("during", "nothing") != "nothing")
    verdicts = (replace(head, decision=Decision.UNDECIDED), *(v for v in run.verdicts if v.condition != head.condition))
    rows = [row for row in run_answer(replace(run, verdicts=verdicts)).rows if row[0].startswith("while ")]
    assert [row[-1] for row in rows if row[-1].startswith("undecided")] == ["undecided (whole trial)"]
    assert all("whole trial" not in row[-1] for row in run_answer(run).rows)


def test_trials_that_only_one_side_lost_are_in_the_first_line() -> None:
    run = s.negligible()
    lost = Reason.of("one-sided-failures", lost=9, trials=240, plain_lost=0, plain_trials=240)
    reasons = (Reason.verbatim("within"), lost)
    head = replace(run.primary[0], ratio=s.estimate(1.04, 0.01), decision=Decision.UNDECIDED, reasons=reasons)
    text = sentence(replace(run, decision=Decision.UNDECIDED, verdicts=(head, *run.verdicts[1:])))
    assert text.startswith("UNDECIDED:")
    assert lost.text in text


def test_stalls_of_the_plain_copies_are_not_laid_to_the_encrypted_one() -> None:
    head = s.verdict(s.estimate(0.9, 0.02), Decision.FASTER, primary=True, typical=s.estimate(1.01, 0.02))
    stalls = (s.odd(s.PLAIN, 60, 6, 0.12), s.odd(s.AES, 30))
    result = s.result(head.decision, (head,), stalls=stalls)
    assert "stalls of the plain copies make it −10" in line(run_answer(result), "Stalls")
    assert parting(replace(head, decision=Decision.INVALID), result) is None


def test_without_a_second_plain_copy_the_noise_is_unknown() -> None:
    result = replace(s.slower(), settings=s.settings(s.PLAIN, s.AES), noise_floor=())
    assert line(run_answer(result), "Noise").startswith("unknown")


MACHINE: dict[str, object] = {"cpu_model": "Some(R) CPU @ 2 GHz", "usable_cpus": 2, "cpu_flags": {"aes": True}}


@pytest.mark.parametrize(
    ("state", "in_clear", "proof"),
    [(CheckState.OK, False, "no plaintext in files"), (CheckState.OK, True, "scope): temp"), (None, False, "")],
)
def test_the_machine_and_the_proof_of_encryption_have_a_line(
    state: CheckState | None, in_clear: bool, proof: str
) -> None:
    checks = () if state is None else (Validity(NO_MARKER, state),)
    clear = s.evidence(EvidenceState.UNCOVERED, 7) if in_clear else s.evidence(EvidenceState.NOT_TESTED, 0)
    answer = run_answer(replace(s.slower(), machine=MACHINE, validity=checks, findings=clear))
    assert "(Some, 2 CPUs, AES-NI)" in line(answer, "Valid for")
    assert proof in line(answer, "Found")


def test_configurations_are_called_by_their_labels_and_not_by_their_keys() -> None:
    swept = s.sweep()
    of = next(c for c in swept.settings.conditions if c.is_encrypted)
    caution = Caution.of("conditions-barely-encrypted", conditions=of.key, pages=0.1, remedy="")
    with_it = replace(swept, cautions=(caution,))
    assert any(condition_label(of, swept.settings) in text and of.key not in text for text in against_trust(with_it))
    assert of.key not in draw(run_blocks(with_it, with_details=True))


def cautioned(*codes: str) -> RunResult:
    given = {code: dict.fromkeys(fields_of(CAUTIONS[code]), 0.5) for code in codes}
    return replace(s.slower(), cautions=tuple(Caution.of(code, **parameters) for code, parameters in given.items()))


@pytest.mark.parametrize("code", AGAINST_TRUST)
def test_every_caution_that_speaks_against_an_answer_has_its_words(code: str) -> None:
    if "metric" not in fields_of(CAUTIONS[code]):
        (words,) = against_trust(cautioned(code))
        assert words
        assert "{" not in words


def test_the_worst_caution_comes_first_and_others_are_counted() -> None:
    run = cautioned("others-used-cpu", "few-blocks", "calibration-invalid", "server-lost")
    found = against_trust(replace(run, cautions=(*run.cautions, Caution.of("sysbench-histogram"))))
    assert [found.index(c.against_trust or "") for c in run.cautions] == [1, 2, 0, 3]
    cautions = [one.text for one in run_answer(run).lines if one.is_warning]
    assert cautions[0].startswith(found[0])
    assert "more with --details" in cautions[-1]


def test_few_blocks_go_without_saying_if_there_are_few_rounds() -> None:
    assert len(against_trust(cautioned("few-rounds", "few-blocks"))) == 1


def test_a_caution_of_a_metric_that_does_not_decide_is_left_out() -> None:
    own = Caution.of("large-instance-effect", metric="response_time", found=0.03, expected=0.01)
    other = Caution.of("large-instance-effect", metric="cpu_per_operation", found=0.03, expected=0.01)
    assert len(against_trust(replace(s.slower(), cautions=(own, other)))) == 1


def swept(count: int) -> RunResult:
    """A run of so many encrypted configurations, of which the first is undecided."""
    conditions = [s.condition("aes-256", threads=1 + at) for at in range(count)]
    verdicts = tuple(_verdict(of, at) for at, of in enumerate(conditions))
    return s.result(Decision.UNDECIDED, verdicts, s.settings(s.PLAIN, *conditions))


def _verdict(of: Condition, at: int) -> Verdict:
    decision = Decision.SLOWER if at else Decision.UNDECIDED
    return s.verdict(s.estimate(1.02 + at / 50, 0.01), decision, primary=True, of=of)


def test_many_configurations_are_counted_and_the_worst_have_rows() -> None:
    answer = run_answer(swept(12))
    assert answer.sentence.startswith("UNDECIDED in 1 of 12 configurations: ")
    assert "slower in 11: " in answer.sentence
    assert answer.rows[0][-1] == "undecided"
    assert re.fullmatch(r"\d+ more with --details", answer.rows[-1][0])


def files(*comparisons: object, **given: object) -> str:
    result = a.result(*comparisons, **given)  # type: ignore[arg-type]
    assert isinstance(result, AnalysisResult)
    return files_answer(result).sentence


def test_files_are_answered_as_a_run_is() -> None:
    found = a.comparison(10.0, 10.31, half95=0.007, runs=3)
    assert files(found) == "SLOWER: tde is 3.1% slower than plain (2.4% to 3.8%)."
    assert files(found, found) == "SLOWER: tde is 3.1% slower than plain."


def test_a_column_called_by_its_unit_is_a_time_and_other_metrics_are_named() -> None:
    assert files(a.comparison(10.0, 10.6, runs=3, metric="ms", half95=0.007)).startswith("SLOWER: tde is 6.0% slower")
    text = files(a.comparison(10.0, 24.0, runs=3, metric="lock waits", half95=0.007))
    assert text.startswith("MORE: tde takes 2.4 times as much lock waits as plain")


def test_the_throughput_of_the_same_files_and_of_no_others_has_a_line() -> None:
    time, rate = a.comparison(10.0, 11.43), a.comparison(7114.0, 6224.0, metric="throughput", unit="/s", primary=False)
    for other, is_named in ((rate, True), (replace(rate, transaction="New Order"), False)):
        assert ("(−12.5%)" in line(files_answer(a.result(time, other)), "Throughput")) is is_named


def test_one_run_or_one_figure_of_each_decides_nothing_and_more_runs_are_advised() -> None:
    lone = a.comparison(10.0, 10.31, half95=0.007, decision=Decision.UNDECIDED)
    bare = a.comparison(2805.0, 4206.0, half95=None, metric="elapsed")
    for comparison in (lone, bare):
        answer = files_answer(a.result(comparison))
        assert re.match(r"UNDECIDED: one (run|figure) each; tde (was|took)", answer.sentence)
        assert "three runs" in line(answer, "What helps")


def test_a_speed_up_of_something_else_than_encryption_is_not_odd() -> None:
    faster = a.comparison(10.0, 9.0, runs=3, half95=0.007, name="mysql57", decision=Decision.FASTER)
    assert "look for another difference" in files(replace(faster, condition=replace(faster.condition, condition="tde")))
    assert "look for another difference" not in files(faster, is_encryption=False)


def test_means_that_give_another_change_than_the_estimate_are_explained() -> None:
    found = a.one_run()
    (only,) = found.primary
    assert only.ratio is not None
    far, near = (replace(only, quotient=only.ratio.median * times) for times in (1.137, 1.01))
    given = [line(files_answer(replace(found, comparisons=(which,))), "Response time") for which in (far, near)]
    assert ["nearer to 0" in text for text in given] == [True, False]


def test_names_of_others_never_reach_the_terminal_as_control_characters() -> None:
    assert "\x1b" not in draw(analysis_blocks(a.result(a.comparison(10.0, 11.0, name="t\x1b[2Jde", runs=3))))


WIDE = s.estimate(0.735, 0.42)
LITTLE = {"blocks": 3, "rounds": 1, "points": 84.0, "direction": "slower"}


def short(code: str, ratio: Estimate = WIDE, decision: Decision = Decision.UNDECIDED, **given: object) -> RunResult:
    found = s.verdict(ratio, decision, primary=True)
    return s.result(decision, (replace(found, reasons=(Reason.of(code, **(LITTLE | given)),)),))


def figures_of(text: str) -> list[str]:
    return re.findall(r"[+−]?\d+(?:\.\d+)?(?:%|×)", text.replace("95%", "").replace("10% cache", ""))


def test_too_little_measured_has_no_figure_in_the_sentence_the_lines_and_the_formats() -> None:
    result = short(TOO_LITTLE)
    answer = run_answer(result)
    assert answer.sentence.startswith("NO ANSWER YET: too little was measured")
    assert not figures_of(answer.sentence)
    assert not line(answer, "Response time")
    answered = Answered(result, ExitCode.UNDECIDED, 0.0)
    for text in (junit(answered), markdown(answered)):
        assert "26" not in "".join(figures_of(text))


def test_the_time_that_would_do_is_the_same_in_the_sentence_and_in_the_next_command() -> None:
    answer = run_answer(short(TOO_LITTLE, s.estimate(1.2, 0.2)))
    (minutes,) = set(re.findall(r"about (\d+) min", answer.sentence))
    assert f"--max-time {minutes}m" in line(answer, "Next")


@pytest.mark.parametrize(("code", "has_amount"), [(DIRECTION, True), (DIRECTION_ALONE, False)])
def test_a_direction_that_is_not_decided_is_probable_and_has_its_range_from_two_rounds_on(
    code: str, has_amount: bool
) -> None:
    result = short(code, s.estimate(1.6, 0.18))
    text = run_answer(result).sentence
    assert text.startswith("PROBABLY SLOWER: " if has_amount else "PROBABLY SLOWER, AMOUNT UNKNOWN: ")
    assert bool(figures_of(text)) == has_amount
    assert exit_code(result) == ExitCode.UNDECIDED


def test_what_counted_pages_bound_is_an_answer_without_a_measured_figure() -> None:
    result = short(CACHED, decision=Decision.NEGLIGIBLE, pages=0.045, page_us=100.0, most=0.005)
    answer = run_answer(result)
    assert answer.sentence.startswith("NO RELEVANT DIFFERENCE: at this cache and workload")
    assert figures_of(answer.sentence) == ["0.5%"]
    assert "start, load and backup" in line(answer, "Found")
    assert exit_code(result) == ExitCode.ANSWERED


@pytest.mark.parametrize(("half", "figures"), [(0.02, ["0.5%"]), (0.004, [])])
def test_a_default_cache_without_pages_states_the_bound_only_of_an_interval_that_agrees(
    half: float, figures: list[str]
) -> None:
    result = replace(short(NOTHING_ENCRYPTED, s.estimate(1.01, half)), barely_encrypted={s.AES.key: 0.045})
    text = sentence(result)
    assert text.startswith("NO ANSWER YET: the data fits in the cache")
    assert figures_of(text) == figures


def test_cpu_is_the_next_metric_where_it_would_have_decided() -> None:
    ratio = s.estimate(1.019, 0.025)
    time = s.verdict(ratio, Decision.UNDECIDED, primary=True)
    cpu = s.verdict(s.estimate(1.04, 0.004), Decision.SLOWER, metric=Metric.CPU_PER_OPERATION)
    assert "--metric cpu_per_operation" in line(run_answer(s.result(Decision.UNDECIDED, (time, cpu))), "Next")
    open_ = replace(cpu, decision=Decision.UNDECIDED)
    assert "--metric" not in line(run_answer(s.result(Decision.UNDECIDED, (time, open_))), "Next")


def test_a_file_system_that_encrypts_is_in_the_sentence_and_among_what_was_found() -> None:
    answer = run_answer(replace(s.slower(), cautions=(Caution.of("storage-fuse"),)))
    assert "AES-256 on gocryptfs (FUSE)" in answer.sentence
    assert "FUSE" in line(answer, "Found")


def test_what_was_found_is_one_list_for_the_answer_the_page_and_json() -> None:
    result = s.acted()
    facts = found(result)
    assert any("2 TB: about" in text for text in facts)
    assert document(result, 0)["found"] == facts
    page = [one.text for one in answer_section(result).blocks[0].items if one.title == "Found"]
    assert page == facts

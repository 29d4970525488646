import re
from collections import Counter
from dataclasses import replace

import pytest

from support import samples as s
from tdelta.messages import Caution, Reason
from tdelta.messages.cautions import AGAINST_TRUST
from tdelta.messages.checks import NO_MARKER
from tdelta.messages.message import fields_of
from tdelta.records import CheckState, Decision, EvidenceState, Metric, RunResult, Validity, Verdict
from tdelta.report.brief import against_trust, caution_lines, lead, lines, sentence
from tdelta.report.effect import Effect, no
from tdelta.report.findings.registry import SHOWN
from tdelta.report.labels import condition_label, decision_word
from tdelta.report.terminal import MOST_LINES, prior_lines, render

OVER, WITHIN, UNDECIDED = Decision.OVER, Decision.WITHIN, Decision.UNDECIDED


@pytest.mark.parametrize("name", s.SAMPLES)
def test_every_answer_has_room_in_a_terminal(name: str) -> None:
    """Less what a study asks for beyond what encryption costs."""
    result, asked = s.SAMPLES[name](), {kind for one in SHOWN if one.is_asked for kind in one.kinds}
    bare = replace(result, findings=tuple(one for one in result.findings if type(one) not in asked))
    assert render(bare, 100).count("\n") <= MOST_LINES


def test_a_no_has_its_question_in_it_whatever_decides() -> None:
    assert no(is_time=True, what="response time") != no(is_time=False, what="CPU per operation")
    assert "CPU per operation" in no(is_time=False, what="CPU per operation")


MACHINE: dict[str, object] = {"cpu_model": "Some(R) CPU @ 2 GHz", "usable_cpus": 2, "cpu_flags": {"aes": True}}


@pytest.mark.parametrize(
    ("state", "in_clear", "proof"),
    [(CheckState.OK, False, "no plaintext found"), (CheckState.OK, True, "but for temp"), (None, False, "")],
)
def test_the_machine_and_the_proof_of_encryption_stand_in_the_first_ten_lines(
    state: CheckState | None, in_clear: bool, proof: str
) -> None:
    given = s.SAMPLES["slower"]()
    checks = () if state is None else (Validity(NO_MARKER, state),)
    clear = s.evidence(EvidenceState.UNCOVERED, 7) if in_clear else ()
    shown = replace(given, machine=MACHINE, validity=checks, findings=clear)
    (line,) = [line for line in lines(shown) if line.title == "Machine"]
    assert all(part in line.text for part in ("Some, 2 CPUs", "AES instructions", proof))
    first = render(shown, 100).splitlines()[:10]
    assert len([line for line in first if line.startswith("Machine ")]) == 1
    assert render(shown, 100).count("\n") <= MOST_LINES


def test_conditions_are_called_by_their_labels_and_not_by_their_keys() -> None:
    swept = s.SAMPLES["sweep"]()
    of = next(c for c in swept.settings.conditions if c.is_encrypted)
    told = Caution.of("conditions-barely-encrypted", conditions=of.key, pages=0.1, remedy="")
    with_it = replace(swept, cautions=(told,))
    assert any(condition_label(of, swept.settings) in text and of.key not in text for text in against_trust(with_it))
    assert of.key not in render(with_it, 100, details=True)


def test_many_verdicts_have_one_line_of_what_the_prior_does() -> None:
    swept = s.SAMPLES["sweep"]()
    moved = tuple(
        replace(v, no_speedup=replace(v.ratio, median=v.ratio.median + 0.5)) if v.primary else v for v in swept.verdicts
    )
    assert len(prior_lines(replace(swept, verdicts=moved))) == 1


def test_the_transaction_types_without_a_row_have_their_range() -> None:
    result = s.SAMPLES["slower"]()
    of = next(v for v in result.verdicts if v.transaction != "all")
    types = [replace(of, transaction=f"type_{n}", ratio=s.estimate(1.03 + n / 100, 0.001)) for n in range(7)]
    text = render(replace(result, verdicts=(*result.primary, *types)), 100)
    left_out = text[text.index("more transaction type") :]
    assert "+3.0 to" in left_out


def test_the_answer_to_a_budget_is_no_yes_or_no_which_could_be_of_another_question() -> None:
    assert sentence(s.within_budget()).startswith("Within the 5 % budget: ")
    leads = {
        lead(Counter(decisions), "No, not slower")
        for decisions in ([OVER, OVER], [OVER, WITHIN], [WITHIN], [WITHIN, UNDECIDED])
    }
    assert leads == {
        "Over budget",
        "Over budget in 1 of 2 conditions",
        "Within budget",
        "Undecided in 1 of 2 conditions",
    }


def test_no_yes_where_the_exit_code_says_undecided() -> None:
    for name, sample in s.SAMPLES.items():
        result = sample()
        assert result.decision is not Decision.UNDECIDED or "Yes" not in sentence(result), name


def test_a_run_without_a_verdict_has_no_answer() -> None:
    empty = replace(s.slower(), verdicts=(), decision=Decision.UNDECIDED)
    assert sentence(empty).startswith("No answer")
    assert "No answer" in render(empty, 100)


CLEAR = (Reason.of("hdi-above-tolerance", interval="+2.1 … +6.3 %", tolerance=0.02), Reason.of("few-rounds", rounds=3))


def with_open_types(reasons: tuple[Reason, ...]) -> RunResult:
    """A run whose transaction types are undecided, with intervals that are clear of the limit."""
    result = s.SAMPLES["slower"]()
    clear = replace(result.primary[0].ratio, hdi95=(1.03, 1.06), hdi99=(1.02, 1.07))
    change = {"decision": Decision.UNDECIDED, "ratio": clear, "reasons": reasons}
    return replace(
        result, verdicts=tuple(v if v.transaction == "all" else replace(v, **change) for v in result.verdicts)
    )


@pytest.mark.parametrize("reasons", [CLEAR, CLEAR[:1]], ids=["with its doubts", "without"])
def test_what_is_undecided_beside_a_clear_interval_has_its_reason_once_below_the_table(
    reasons: tuple[Reason, ...],
) -> None:
    text = render(with_open_types(reasons), 100)
    assert text.count("undecided *\n") == 2
    assert len(re.findall(r"^\* ", text, re.MULTILINE)) == 1
    assert ("3 rounds" in text) is (len(reasons) > 1)


def test_the_reason_of_the_only_primary_verdict_is_not_repeated_below_the_table() -> None:
    result = s.SAMPLES["slower"]()
    (verdict,) = result.primary
    verdict = replace(verdict, decision=Decision.UNDECIDED, reasons=CLEAR)
    others = tuple(v for v in result.verdicts if not v.primary)
    text = render(replace(result, decision=Decision.UNDECIDED, verdicts=(verdict, *others)), 100)
    sentence, lines, table = text.split("\n\n")
    assert all("3 rounds hardly show" in part for part in (sentence, lines))
    assert "*" not in table


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
def test_what_costs_more_is_called_by_what_it_costs(metric: str, word: str) -> None:
    assert decision_word(Decision.SLOWER, metric) == word


def cautioned(*codes: str) -> RunResult:
    given = {code: dict.fromkeys(fields_of(AGAINST_TRUST[code]), 0.5) for code in codes}
    cautions = [Caution.of(code, **parameters) for code, parameters in given.items()]
    return replace(s.slower(), cautions=tuple(cautions))


def test_where_much_speaks_against_an_answer_fewer_transactions_have_rows() -> None:
    said = cautioned("others-waited", "one-round", "calibration-invalid").cautions
    run = s.few_stalls()
    run = replace(run, verdicts=(*run.verdicts, *(named(f"type {at}") for at in range(8))), cautions=said, findings=())
    shown = {width: render(run, width) for width in (99, 100)}
    assert shown[100].count("\n") <= MOST_LINES < shown[99].count("\n")


def named(transaction: str) -> Verdict:
    return replace(s.slower().primary[0], transaction=transaction, primary=False)


@pytest.mark.parametrize("code", AGAINST_TRUST)
def test_every_caution_that_speaks_against_an_answer_has_its_words(code: str) -> None:
    run = cautioned(code) if "metric" not in fields_of(AGAINST_TRUST[code]) else None
    if run is not None:
        (words,) = against_trust(run)
        assert words
        assert "{" not in words


def test_the_worst_caution_comes_first_and_what_is_no_such_caution_is_left_out() -> None:
    run = cautioned("others-waited", "few-blocks", "calibration-invalid")
    found = against_trust(replace(run, cautions=(*run.cautions, Caution.of("sysbench-histogram"))))
    assert ["calibration" in found[0], "blocks" in found[1], "busy" in found[2], len(found)] == [True, True, True, 3]
    assert lines(run)[0].is_warning


def test_trials_that_only_one_side_lost_are_in_the_first_line() -> None:
    run = s.negligible()
    said = Reason.of("one-sided-failures", lost=9, trials=240, plain_lost=0, plain_trials=240)
    within = Reason.of("hdi-within-tolerance", interval="", tolerance=0.02)
    for ratio in (run.primary[0].ratio, s.undecided().primary[0].ratio):
        head = replace(run.primary[0], ratio=ratio, decision=Decision.UNDECIDED, reasons=(within, said))
        text = sentence(replace(run, decision=Decision.UNDECIDED, verdicts=(head, *run.verdicts[1:])))
        assert text.startswith("Undecided:")
        assert "9 of 240 trials of this condition failed" in text


def test_few_blocks_go_without_saying_where_rounds_are_few() -> None:
    assert len(against_trust(cautioned("few-rounds", "few-blocks"))) == 1


def test_a_caution_of_a_metric_that_does_not_decide_is_left_out() -> None:
    own = Caution.of("large-instance-effect", metric="response_time", found=0.03, expected=0.01)
    other = Caution.of("large-instance-effect", metric="cpu_per_operation", found=0.03, expected=0.01)
    assert len(against_trust(replace(s.slower(), cautions=(own, other)))) == 1


@pytest.mark.parametrize(
    ("median", "ends", "slower", "reach"),
    [
        (1.36, (1.32, 1.40), "36 % slower (32 to 40 %)", "32 to 40 % slower"),
        (1.031, (1.024, 1.038), "3.1 % slower (2.4 to 3.8 %)", "2.4 to 3.8 % slower"),
        (0.95, (0.93, 0.97), "5.0 % faster (3.0 to 7.0 %)", "3.0 to 7.0 % faster"),
        (1.004, (0.997, 1.011), "0.4 % slower (−0.3 to +1.1 %)", "between 0.3 % faster and 1.1 % slower"),
        (5.7, (5.2, 6.1), "470 % slower (420 to 510 %)", "420 to 510 % slower"),
    ],
)
def test_an_effect_is_worded_by_its_direction(
    median: float, ends: tuple[float, float], slower: str, reach: str
) -> None:
    effect = Effect(median, ends, (0.98, 1.02))
    assert (effect.slower(), effect.reach()) == (slower, reach)


def test_figures_keep_their_side_of_a_limit() -> None:
    assert "2.04" in Effect(1.0304, (1.0204, 1.0404), (0.98, 1.02)).slower()
    assert "20.4" in Effect(1.26, (1.204, 1.31), (1.2,)).slower()


@pytest.mark.parametrize(("lengths", "shown"), [([500, 10], 1), ([150, 150, 150], 2), ([10] * 6, 4), ([10], 1)])
def test_cautions_take_the_room_that_they_have_and_the_rest_is_counted(lengths: list[int], shown: int) -> None:
    (line,) = caution_lines([f"{at}".ljust(length, "x") for at, length in enumerate(lengths)])
    *named, last = line.text.split("; ")
    more = len(lengths) - shown
    assert line.is_warning
    assert [text[0] for text in (named if more else [*named, last])] == [str(at) for at in range(shown)]
    assert not more or f"{more} more" in last


def test_a_gate_left_open_asks_a_plan_about_its_own_budget_and_not_about_small_overheads() -> None:
    result = s.undecided()
    (following,) = (line.text for line in lines(result) if line.title == "Next")
    assert "--tolerance" not in following
    gate = replace(result, settings=replace(result.settings, budget=0.3))
    (following,) = (line.text for line in lines(gate) if line.title == "Next")
    assert following.startswith(f"tdelta plan {gate.settings.run_id} --effect 2% --tolerance 30% ")


def test_a_gate_that_cannot_decide_speaks_of_its_budget_in_its_first_line() -> None:
    run = s.undecided()
    gate = replace(run, settings=replace(run.settings, budget=0.3))
    assert sentence(gate).startswith("Undecided whether it is within the 30 % budget: ")
    assert sentence(run).startswith("Undecided: ")

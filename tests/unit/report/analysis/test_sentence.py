from dataclasses import replace

import pytest

from support import analysis_samples as s
from tdelta.messages import Reason
from tdelta.records import Decision
from tdelta.report.analysis.brief import sentence
from tdelta.report.analysis.sentence import answer, design_lines, headline, prior_lines


def test_a_single_answer_is_worded_as_a_run_words_it() -> None:
    found = s.result(s.comparison(10.0, 10.31, half95=0.007))
    assert answer(found) == (
        "Encryption (tde over plain) costs +3.1 % response time (95 % HDI +2.4 … +3.8): more than your limit of 2 %."
    )


def test_throughput_is_worded_both_ways() -> None:
    found = s.result(s.comparison(1090.0, 1000.0, metric="throughput", unit="/s"))
    assert "costs +9.0 % time per operation (95 % HDI +8.0 … +10.0), that is −8.3 % throughput: " in answer(found)


def test_a_saving_is_a_share_and_not_a_multiple() -> None:
    found = s.result(s.comparison(10.0, 2.8, runs=3, half95=0.007, decision=Decision.FASTER))
    assert "changes response time by −72.0 % (95 % HDI −72.7 … −71.3)" in answer(found)
    assert " x" not in answer(found)


def test_a_column_called_by_its_unit_is_a_time() -> None:
    found = s.result(s.comparison(10.0, 10.6, runs=3, metric="ms", half95=0.007))
    assert "costs +6.0 % time (" in answer(found)


def test_nothing_is_called_encryption_that_is_not() -> None:
    found = s.result(s.comparison(10.0, 10.6, runs=3, half95=0.007, name="mysql57"), is_encryption=False)
    assert answer(found).startswith("mysql57 over plain changes response time by +6.0 %")
    faster = s.result(s.comparison(10.0, 9.0, runs=3, decision=Decision.FASTER), is_encryption=False)
    assert "ncryption" not in answer(faster) + "".join(prior_lines(faster))


def test_you_said_only_what_you_said() -> None:
    found = s.comparison(10.0, 10.31, runs=3, half95=0.007)
    assert answer(s.result(found, is_tolerance_given=False)).endswith(": more than the default 2 %.")
    assert answer(s.result(found)).endswith(": more than your limit of 2 %.")


def test_the_same_sentence_is_said_once() -> None:
    twice = s.comparison(10.0, 10.31, runs=3, half95=0.007)
    assert answer(s.result(twice, twice)) == answer(s.result(twice))


def test_what_the_user_states_of_runs_is_repeated() -> None:
    found = s.comparison(12.41, 12.794, luck95=0.087, decision=Decision.UNDECIDED)
    text = answer(s.result(found, stated_run_sd=0.03))
    assert "(95 % HDI of these two runs +2.1 … +4.1; −5.6 … +11.8 if, as you state, runs differ by 3 %)" in text
    assert text.startswith("Undecided: encryption (tde over plain) costs ")
    assert text.endswith("the 95 % HDI with the stated scatter of runs reaches across an edge of your limit of ±2 %.")


def test_an_undecided_gate_names_its_budget_and_its_interval() -> None:
    found = s.comparison(10.0, 10.5, runs=3, half95=0.04, decision=Decision.UNDECIDED)
    words = sentence(s.result(found, budget=0.05, decision=Decision.UNDECIDED))
    assert words.startswith("Undecided whether it is within the 5 % budget: tde is between ")
    assert words.endswith(", by a 99 % interval.")
    assert "99 %" not in sentence(s.result(found, decision=Decision.UNDECIDED))


def test_a_bare_quotient_is_undecided_and_claims_no_interval() -> None:
    found = s.result(s.comparison(2805.0, 4206.0, half95=None, metric="elapsed"))
    assert answer(found).startswith("Undecided: no replication. tde over plain reads +49.9 % elapsed: ")
    assert "HDI" not in answer(found)
    assert headline(found) == "Undecided, no replication: +49.9 % elapsed"


@pytest.mark.parametrize(
    ("ratio", "half95", "decision", "words"),
    [
        (1.02, 0.03, Decision.UNDECIDED, "reaches across an edge of your limit of ±2 %"),
        (1.001, 0.01, Decision.NEGLIGIBLE, "within your limit of ±2 %"),
        (0.90, 0.01, Decision.FASTER, "look for another difference between the runs"),
    ],
)
def test_the_decision_is_worded_and_no_other(ratio: float, half95: float, decision: Decision, words: str) -> None:
    found = s.result(s.comparison(10.0, 10.0 * ratio, half95=half95, decision=decision, runs=3))
    assert words in answer(found)
    assert answer(found).startswith("Undecided: ") is (decision is Decision.UNDECIDED)


def test_each_reason_is_told_once_and_of_how_many_comparisons_it_is_true() -> None:
    assert design_lines(s.sweep()) == (s.BARE,)
    mixed = s.result(*s.sweep().comparisons[:2], *s.one_run().comparisons)
    assert design_lines(mixed) == (f"{s.BARE} (2 of 3 comparisons)", f"{s.ONE_RUN} (1 of 3 comparisons)")


def test_reasons_that_quote_an_interval_are_left_to_the_table() -> None:
    quoting = replace(
        s.named().comparisons[0],
        notes=(),
        reasons=(Reason.of("interval-across", interval="−5.6 … +11.8 %", tolerance=0.02), Reason.verbatim(s.ONE_RUN)),
    )
    assert design_lines(s.result(quoting)) == (s.ONE_RUN,)


def test_of_very_many_reasons_the_first_are_told() -> None:
    many = replace(
        s.named().comparisons[0], notes=(), reasons=tuple(Reason.verbatim(f"reason {number}") for number in range(20))
    )
    lines = design_lines(s.result(many))
    assert (len(lines), lines[0], lines[-1]) == (13, "reason 0", "and 8 more, in --json")


def test_a_strangers_name_at_the_beginning_of_a_sentence_stays_as_it_is() -> None:
    two = [s.comparison(10.0, 11.0, transaction=name) for name in ("browse", "order")]
    assert answer(s.result(*two)).startswith("browse: encryption (tde over plain) costs")


def test_reasons_of_what_decides_come_first() -> None:
    secondary = [replace(c, primary=False) for c in s.sweep().comparisons]
    assert design_lines(s.result(*secondary, *s.one_run().comparisons))[0].startswith(s.ONE_RUN)


def test_a_strangers_names_never_reach_the_terminal_as_control_characters() -> None:
    found = s.result(s.comparison(10.0, 11.0, name="t\x1b[2Jde"))
    assert "\x1b" not in answer(found)

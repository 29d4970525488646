from dataclasses import replace
from itertools import combinations

import pytest

from support import samples as s
from tdelta.cli.exit_codes import exit_code
from tdelta.records import CheckState, Decision, RunResult, Validity

_CODES = {
    Decision.SLOWER: 0,
    Decision.NEGLIGIBLE: 0,
    Decision.FASTER: 0,
    Decision.WITHIN: 0,
    Decision.UNDECIDED: 3,
    Decision.OVER: 5,
    Decision.INVALID: 4,
}
_WORST_FIRST = (Decision.INVALID, Decision.OVER, Decision.UNDECIDED, Decision.SLOWER)


def run_of(*decisions: Decision) -> RunResult:
    verdicts = tuple(s.verdict(s.estimate(1.03, 0.01), d, primary=True) for d in decisions)
    return s.result(decisions[0], verdicts)


@pytest.mark.parametrize("decision", Decision)
def test_each_decision_has_its_code(decision: Decision) -> None:
    assert exit_code(run_of(decision)) == _CODES[decision]


@pytest.mark.parametrize(("worse", "better"), list(combinations(_WORST_FIRST, 2)))
def test_the_worst_of_two_verdicts_counts(worse: Decision, better: Decision) -> None:
    assert exit_code(run_of(better, worse)) == _CODES[worse]


def test_verdicts_that_are_not_primary_never_set_the_code() -> None:
    secondary = s.verdict(s.estimate(1.03, 0.01), Decision.INVALID)
    assert exit_code(replace(run_of(Decision.SLOWER), verdicts=(*run_of(Decision.SLOWER).verdicts, secondary))) == 0


def test_a_failed_check_is_invalid_whatever_the_verdicts_say() -> None:
    assert exit_code(replace(run_of(Decision.SLOWER), validity=(Validity("rows", CheckState.FAILED, ()),))) == 4


def test_a_run_without_any_verdict_is_undecided() -> None:
    assert exit_code(s.result(Decision.SLOWER, ())) == 3


def test_an_interruption_comes_before_all() -> None:
    assert exit_code(replace(run_of(Decision.INVALID), interrupted=True)) == 130

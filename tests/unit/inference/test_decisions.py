from __future__ import annotations

import pytest

from tdelta.inference.decisions import decide, decide_gate, gate_reason, interval_words, reason, worst
from tdelta.records import Decision, Estimate


def estimate(hdi95: tuple[float, float], hdi99: tuple[float, float] | None = None) -> Estimate:
    return Estimate(sum(hdi95) / 2, hdi95, hdi99 or hdi95, 0.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("hdi", "decision"),
    [
        ((1.021, 1.05), Decision.COSTLY),
        ((0.90, 0.979), Decision.FASTER),
        ((0.985, 1.019), Decision.NEGLIGIBLE),
        ((1.019, 1.05), Decision.UNDECIDED),
        ((0.97, 0.99), Decision.UNDECIDED),
        ((0.90, 1.10), Decision.UNDECIDED),
    ],
)
def test_the_95_percent_hdi_is_held_against_the_rope(hdi: tuple[float, float], decision: Decision) -> None:
    assert decide(estimate(hdi), 0.02) is decision


@pytest.mark.parametrize(
    ("hdi99", "decision"),
    [((1.06, 1.2), Decision.OVER), ((0.9, 1.04), Decision.WITHIN), ((1.04, 1.06), Decision.UNDECIDED)],
)
def test_a_gate_holds_the_99_percent_hdi_against_the_budget(hdi99: tuple[float, float], decision: Decision) -> None:
    assert decide_gate(estimate((1.0, 1.0), hdi99), 0.05) is decision


def test_the_worst_decision_wins() -> None:
    assert worst([Decision.NEGLIGIBLE, Decision.UNDECIDED, Decision.COSTLY]) is Decision.UNDECIDED
    assert worst([Decision.UNDECIDED, Decision.OVER, Decision.WITHIN]) is Decision.OVER
    assert worst([Decision.OVER, Decision.UNSOUND]) is Decision.UNSOUND
    assert worst([Decision.NEGLIGIBLE, Decision.COSTLY]) is Decision.COSTLY
    assert worst([]) is Decision.UNDECIDED


def test_intervals_are_said_in_percent_without_a_negative_zero() -> None:
    assert interval_words((1.024, 1.038)) == "+2.4 … +3.8 %"
    assert interval_words((0.99999, 1.0)) == "+0.0 … +0.0 %"


def test_reasons_name_the_interval_and_the_limit() -> None:
    costly = reason(estimate((1.024, 1.038)), Decision.COSTLY, 0.02)
    assert costly == "the 95 % HDI +2.4 … +3.8 % lies above the ROPE, ±2 %"
    over = gate_reason(estimate((1.0, 1.0), (1.06, 1.08)), Decision.OVER, 0.05)
    assert over == "the 99 % HDI +6.0 … +8.0 % lies above the budget of +5 %"

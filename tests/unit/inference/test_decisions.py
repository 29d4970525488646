import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from support.refused import check_messages, coded
from tdelta.inference.decisions import (
    FEWEST_GATE_ROUNDS,
    FEWEST_ROUNDS,
    FEWEST_STALLS,
    Grounds,
    decide,
    decide_gate,
    decide_gate_means,
    decide_means,
    gate_decided,
    gate_reason,
    held,
    interval_words,
    is_gate_look,
    most_severe,
    precise_enough,
    reason,
    should_stop,
    target_width,
    with_shortage,
)
from tdelta.messages import Reason
from tdelta.messages.catalogue import DIRECTION, DIRECTION_ALONE, TOO_LITTLE
from tdelta.records import Condition, Decision, Estimate, Metric, Role, Verdict

from .builders import AES, condition


def estimate(hdi95: tuple[float, float], hdi99: tuple[float, float] | None = None) -> Estimate:
    return Estimate(sum(hdi95) / 2, hdi95, hdi99 or hdi95, 0.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("hdi", "decision"),
    [
        ((1.021, 1.05), Decision.SLOWER),
        ((0.90, 0.979), Decision.FASTER),
        ((0.985, 1.019), Decision.NEGLIGIBLE),
        ((1.019, 1.05), Decision.UNDECIDED),
        ((0.97, 0.99), Decision.UNDECIDED),
        ((0.90, 1.10), Decision.UNDECIDED),
    ],
)
def test_the_95_percent_hdi_is_held_against_the_tolerance(hdi: tuple[float, float], decision: Decision) -> None:
    assert decide(estimate(hdi), 0.02) is decision


SLOWER_95 = estimate((1.03, 1.06), (1.015, 1.07))
SLOWER_99 = estimate((1.03, 1.06), (1.025, 1.07))
FASTER_95 = estimate((0.94, 0.97), (0.93, 0.985))
FASTER_99 = estimate((0.94, 0.97), (0.93, 0.975))
NOTHING = estimate((0.99, 1.01))


def grounds(
    typical: Estimate, *, stalls: float = 0.0, plain: float = 0.0, rounds: int = 8, cost: float = 0.0, odd: bool = False
) -> Grounds:
    return Grounds(typical, stalls, plain, rounds, cost, odd or bool(stalls or plain))


@pytest.mark.parametrize(
    ("at_95", "at_99", "decision"),
    [(SLOWER_95, SLOWER_99, Decision.SLOWER), (FASTER_95, FASTER_99, Decision.FASTER)],
)
@pytest.mark.parametrize("rounds", [1, FEWEST_ROUNDS - 1, FEWEST_ROUNDS, 20])
def test_few_rounds_need_the_99_percent_hdi(at_95: Estimate, at_99: Estimate, decision: Decision, rounds: int) -> None:
    are_few = rounds < FEWEST_ROUNDS
    assert decide_means(at_99, grounds(at_99, rounds=rounds), 0.02) is decision
    expected = Decision.UNDECIDED if are_few else decision
    assert decide_means(at_95, grounds(at_95, rounds=rounds), 0.02) is expected


@pytest.mark.parametrize("odd", [False, True])
def test_that_a_cost_is_negligible_needs_no_more_than_its_interval_from_five_rounds_on(odd: bool) -> None:
    wide, narrow = estimate((0.985, 1.015), (0.97, 1.03)), estimate((0.985, 1.015), (0.981, 1.019))
    assert decide_means(wide, grounds(wide, rounds=5, odd=odd), 0.02) is Decision.NEGLIGIBLE
    assert decide_means(wide, grounds(wide, rounds=4, odd=odd), 0.02) is Decision.UNDECIDED
    assert decide_means(narrow, grounds(narrow, rounds=4, odd=odd), 0.02) is Decision.NEGLIGIBLE


def test_an_odd_trial_anywhere_needs_the_99_percent_hdi() -> None:
    assert decide_means(SLOWER_95, grounds(SLOWER_95, odd=True), 0.02) is Decision.UNDECIDED
    assert decide_means(SLOWER_99, grounds(SLOWER_99, odd=True), 0.02) is Decision.SLOWER


@pytest.mark.parametrize(
    ("stalls", "decision"),
    [(FEWEST_STALLS - 0.1, Decision.UNDECIDED), (FEWEST_STALLS, Decision.SLOWER)],
)
def test_a_cost_that_stalls_alone_make_needs_enough_of_them(stalls: float, decision: Decision) -> None:
    assert decide_means(SLOWER_99, grounds(NOTHING, stalls=stalls), 0.02) is decision
    assert decide_means(SLOWER_95, grounds(NOTHING, stalls=stalls), 0.02) is Decision.UNDECIDED


def test_a_gain_that_stalls_of_the_plain_twins_make_needs_enough_of_theirs() -> None:
    few, enough = FEWEST_STALLS - 1.0, FEWEST_STALLS + 1.0
    assert decide_means(FASTER_99, grounds(NOTHING, plain=few, stalls=enough), 0.02) is Decision.UNDECIDED
    assert decide_means(FASTER_99, grounds(NOTHING, plain=enough, stalls=few), 0.02) is Decision.FASTER


@pytest.mark.parametrize(("cost", "decision"), [(0.009, Decision.SLOWER), (0.011, Decision.UNDECIDED)])
def test_few_stalls_that_weigh_more_than_the_margin_leave_a_verdict_open(cost: float, decision: Decision) -> None:
    """The 95 % HDI begins one point beyond the tolerance."""
    assert decide_means(SLOWER_99, grounds(SLOWER_99, stalls=2.0, cost=cost), 0.02) is decision
    mirrored = Decision.FASTER if decision is Decision.SLOWER else decision
    assert decide_means(FASTER_99, grounds(FASTER_99, plain=2.0, cost=cost), 0.02) is mirrored


@pytest.mark.parametrize(("hdi99", "decision"), [((1.06, 1.2), Decision.OVER), ((0.9, 1.04), Decision.WITHIN)])
def test_a_gate_that_stalls_alone_pass_or_fail_needs_enough_of_them(
    hdi99: tuple[float, float], decision: Decision
) -> None:
    """Over a budget by the condition's own stalls, within it by the plain twins'."""
    means = estimate((1.0, 1.0), hdi99)
    typical = estimate((1.0, 1.0), (1.0, 1.1))
    for stalls, said in [(FEWEST_STALLS - 0.1, Decision.UNDECIDED), (FEWEST_STALLS, decision)]:
        side = {"stalls" if decision is Decision.OVER else "plain": stalls}
        assert decide_gate_means(means, grounds(typical, **side), 0.05) is said
    assert decide_gate_means(means, grounds(means, stalls=1.0, plain=1.0), 0.05) is decision


@pytest.mark.parametrize("rounds", [1, FEWEST_GATE_ROUNDS - 1, FEWEST_GATE_ROUNDS, 20])
@pytest.mark.parametrize(("hdi99", "decision"), [((1.06, 1.20), Decision.OVER), ((0.91, 1.04), Decision.WITHIN)])
def test_a_gate_of_few_rounds_holds_a_wider_interval_against_the_budget(
    rounds: int, hdi99: tuple[float, float], decision: Decision
) -> None:
    """A third wider on either side: one that lies near the budget no longer clears it."""
    clear = (1.12, 1.2) if decision is Decision.OVER else (0.9, 1.0)
    near, far = (replace(estimate((1.0, 1.0), of), median=math.sqrt(of[0] * of[1])) for of in (hdi99, clear))
    expected = Decision.UNDECIDED if rounds < FEWEST_GATE_ROUNDS else decision
    assert decide_gate_means(near, grounds(near, rounds=rounds), 0.05) is expected
    assert decide_gate_means(far, grounds(far, rounds=rounds), 0.05) is decision


@pytest.mark.parametrize(
    ("hdi99", "decision"),
    [((1.06, 1.2), Decision.OVER), ((0.9, 1.04), Decision.WITHIN), ((1.04, 1.06), Decision.UNDECIDED)],
)
def test_a_gate_holds_the_99_percent_hdi_against_the_budget(hdi99: tuple[float, float], decision: Decision) -> None:
    assert decide_gate(estimate((1.0, 1.0), hdi99), 0.05) is decision


def test_the_worst_decision_wins() -> None:
    assert most_severe([Decision.NEGLIGIBLE, Decision.UNDECIDED, Decision.SLOWER]) is Decision.UNDECIDED
    assert most_severe([Decision.UNDECIDED, Decision.OVER, Decision.WITHIN]) is Decision.OVER
    assert most_severe([Decision.OVER, Decision.INVALID]) is Decision.INVALID
    assert most_severe([Decision.NEGLIGIBLE, Decision.SLOWER]) is Decision.SLOWER
    assert most_severe([]) is Decision.UNDECIDED


def test_intervals_are_said_in_percent_without_a_negative_zero() -> None:
    assert interval_words((1.024, 1.038)) == "+2.4% to +3.8%"
    assert interval_words((0.99999, 1.0)) == "+0.0% to +0.0%"


def test_reasons_name_the_interval_and_the_limit() -> None:
    slower = reason(estimate((1.024, 1.038)), Decision.SLOWER, 0.02)
    check_messages([slower], coded("interval-above", interval="+2.4% to +3.8%", tolerance=0.02))
    over = gate_reason(estimate((1.0, 1.0), (1.06, 1.08)), Decision.OVER, 0.05)
    check_messages([over], coded("above-budget", interval="+6.0% to +8.0%", budget=0.05))


BEYOND, ACROSS, WIDE_ACROSS = (1.42, 2.74), (0.98, 1.10), (0.74, 1.18)


def verdict(ends: tuple[float, float], decision: Decision, *codes: str, typical: Estimate | None = None) -> Verdict:
    of, plain = condition("aes-256", Role.TREATMENT), condition("none", Role.BASELINE)
    reasons = tuple(Reason.of(code, rounds=1) for code in ("interval-above", *codes))
    return Verdict(
        primary=True, condition=of, baseline=plain, metric=Metric.RESPONSE_TIME, transaction="all", unit="µs",
        baseline_value=1.0, condition_value=1.0, ratio=estimate(ends), decision=decision, reasons=reasons,
        typical=typical,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ends", "blocks", "rounds", "code"),
    [
        (BEYOND, 4, 2, DIRECTION),
        (BEYOND, 4, 1, DIRECTION_ALONE),
        (BEYOND, 3, 3, DIRECTION_ALONE),
        ((1.05, 1.20), 6, 1, DIRECTION),
        (WIDE_ACROSS, 30, 5, TOO_LITTLE),
        (ACROSS, 3, 3, TOO_LITTLE),
        (ACROSS, 4, 1, "few-rounds"),
    ],
)
def test_an_open_verdict_says_whether_it_has_a_direction_and_an_amount(
    ends: tuple[float, float], blocks: int, rounds: int, code: str
) -> None:
    found = with_shortage(verdict(ends, Decision.UNDECIDED, "few-rounds"), blocks, rounds, 0.02)
    assert found.decision is Decision.UNDECIDED
    assert found.reasons[-1].code == code


@pytest.mark.parametrize("decision", [Decision.SLOWER, Decision.NEGLIGIBLE, Decision.OVER, Decision.WITHIN])
def test_nothing_is_decided_with_fewer_than_four_blocks(decision: Decision) -> None:
    assert with_shortage(verdict(ACROSS, decision), 3, 3, 0.02).decision is Decision.UNDECIDED
    assert with_shortage(verdict(ACROSS, decision), 4, 3, 0.02).decision is decision


def test_a_direction_needs_the_typical_trial_and_no_other_doubt_than_few_rounds() -> None:
    open_ = verdict(BEYOND, Decision.UNDECIDED, "few-rounds", typical=estimate(ACROSS))
    assert with_shortage(open_, 8, 2, 0.02).reasons[-1].code == TOO_LITTLE
    stalled = verdict(BEYOND, Decision.UNDECIDED, "few-stalls")
    assert with_shortage(stalled, 8, 2, 0.02).reasons[-1].code == TOO_LITTLE


def test_a_gate_keeps_the_range_that_includes_its_budget() -> None:
    gate = verdict((1.12, 1.34), Decision.UNDECIDED)
    assert with_shortage(gate, 8, 2, 0.02, is_gate=True) is gate
    wide = with_shortage(verdict(WIDE_ACROSS, Decision.UNDECIDED), 8, 2, 0.02, is_gate=True)
    assert wide.reasons[-1].code == TOO_LITTLE


# Figures in answers are those of the grid of simulated runs.

GRID = Path(__file__).parents[3] / "benches" / "results" / "grid.md"
ANSWERED_AT = 3
"""The column of runs that covered the truth or were undecided, after cell, truth and coverage."""

COLUMNS = 12
UNASKED = re.compile(
    r"of encrypted twins(, ([12] %|5 % of trials(, 5| in runs)|10 % of trials in runs of three, 5)| that last)"
)
"""Cells that expect fewer than five stalls of the encrypted twins."""


def answered(rounds: range) -> Iterator[float]:
    """Shares, %, of the grid's cells with so many rounds."""
    for line in GRID.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == COLUMNS and re.match(r"\d", cells[ANSWERED_AT]) and not UNASKED.search(cells[0]):
            named = re.search(r"(\d+) rounds", cells[0])
            if (int(named[1]) if named else 5) in rounds:
                yield float(cells[ANSWERED_AT])


@pytest.mark.parametrize("rounds", [1, 2, 3, 30])
def test_answers_say_what_runs_of_their_length_were_found_to_have(rounds: int) -> None:
    like = range(rounds, rounds + 1) if rounds < 3 else range(3, 100)
    found = list(answered(like))
    assert len(found) > 3
    assert (held(rounds).fewest, held(rounds).most) == (int(min(found)), round(max(found)))


def look(median: float, half_width: float) -> tuple[Condition, Estimate, float]:
    hdi = (median - half_width, median + half_width)
    estimate = Estimate(median, hdi, hdi, 0.0, 1.0, 0.0)
    return AES, estimate, target_width(estimate)


def test_the_target_is_two_points_or_a_tenth_of_the_overhead() -> None:
    assert look(1.03, 0.0)[2] == 0.02
    assert look(2.0, 0.0)[2] == pytest.approx(0.10)
    assert look(0.5, 0.0)[2] == pytest.approx(0.05)


def test_every_interval_must_be_narrow_enough() -> None:
    assert precise_enough([look(1.03, 0.009), look(2.0, 0.04)])
    assert not precise_enough([look(1.03, 0.009), look(1.03, 0.011)])
    assert not precise_enough([])


def test_up_to_20_percent_precision_does_not_look_at_where_the_answer_lies() -> None:
    for median in (0.98, 1.0, 1.02, 1.1, 1.2):
        assert precise_enough([look(median, 0.0099)])
        assert not precise_enough([look(median, 0.0101)])


def test_beyond_20_percent_a_higher_estimate_is_narrow_enough_sooner() -> None:
    assert precise_enough([look(1.5, 0.0249)])
    assert not precise_enough([look(1.48, 0.0249)])


def test_a_gate_is_decided_when_all_are_within_or_one_is_over() -> None:
    assert gate_decided([look(1.0, 0.01), look(1.02, 0.01)], 0.05)
    assert gate_decided([look(1.05, 0.01), look(1.2, 0.01)], 0.05)
    assert not gate_decided([look(1.05, 0.01), look(1.0, 0.01)], 0.05)
    assert not gate_decided([], 0.05)


def test_looks_of_a_gate_grow_geometrically_from_the_first() -> None:
    assert [n for n in range(1, 40) if is_gate_look(n, 3)] == [3, 4, 6, 9, 14, 21, 32]
    assert [n for n in range(1, 12) if is_gate_look(n, 1)] == [1, 2, 3, 4, 6, 9]


def test_no_rule_stops_before_the_fewest_rounds() -> None:
    sure = [look(1.0, 1e-4)]
    assert not should_stop(sure, budget=None, rounds_done=2, first_look=3)
    assert not should_stop(sure, budget=0.05, rounds_done=2, first_look=3)
    assert should_stop(sure, budget=None, rounds_done=3, first_look=3)


def test_a_budget_replaces_precision_and_looks_more_rarely() -> None:
    wide_but_within = [look(1.0, 0.04)]
    assert not should_stop(wide_but_within, budget=None, rounds_done=6, first_look=3)
    assert should_stop(wide_but_within, budget=0.05, rounds_done=6, first_look=3)
    assert not should_stop(wide_but_within, budget=0.05, rounds_done=5, first_look=3)

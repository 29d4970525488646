import math
from collections.abc import Callable

import pytest

from support.refused import check_messages, coded, has
from tdelta.inference.run_analysis import analyze_run
from tdelta.messages import Reason
from tdelta.records import Decision, Verdict

from .builders import AA, AES, LogCost, noisy, run, settings


def verdict(costs: LogCost, *, rounds: int = 6, budget: float | None = None) -> Verdict:
    (found,) = (v for v in analyze_run(run(costs, rounds=rounds), settings(budget=budget)).verdicts if v.primary)
    return found


def with_stalls(costs: LogCost, stalled: Callable[[object, int], bool], factor: float = 2.0) -> LogCost:
    return lambda c, r, b: costs(c, r, b) + (math.log(factor) if stalled(c, b) else 0.0)


def by_round(*effects: float) -> LogCost:
    """Overheads, by round, with hardly any noise."""
    costs = noisy(0.0, sd=1e-3)
    return lambda c, r, b: costs(c, r, b) + (effects[r] if c == AES else 0.0)


def test_a_verdict_that_few_rounds_leave_open_says_where_the_interval_lies_and_why_that_is_not_enough() -> None:
    found = verdict(noisy(math.log(1.0263), sd=3e-3), rounds=3)
    assert found.ratio.hdi95[0] > 1.02 > found.ratio.hdi99[0]
    assert found.decision is Decision.UNDECIDED
    assert found.reasons[0].code == "interval-above"
    assert found.reasons[1] == Reason.of("few-rounds", rounds=3)
    check_messages([found.reasons[1]], coded("few-rounds", rounds=3))


@pytest.mark.parametrize(("rounds", "decision"), [(3, Decision.UNDECIDED), (4, Decision.OVER)])
def test_a_gate_that_few_rounds_leave_open_says_so(rounds: int, decision: Decision) -> None:
    found = verdict(noisy(math.log(1.0605), sd=3e-3), rounds=rounds, budget=0.05)
    assert found.ratio.hdi99[0] > 1.05
    assert found.decision is decision
    assert (found.reasons[-1] == Reason.of("few-rounds-budget", rounds=3)) == (rounds == 3)


def test_a_verdict_that_odd_trials_leave_open_counts_them() -> None:
    """Both sides meet stalls alike, so that these are not what is too few."""
    alike = with_stalls(
        noisy(math.log(1.033), sd=1e-3), lambda c, b: c in (AA, AES) and b % 12 == (3 if c == AA else 9), 1.3
    )
    found = verdict(alike, rounds=12)
    assert found.decision is Decision.UNDECIDED
    assert found.ratio.hdi95[0] > 1.02 > found.ratio.hdi99[0]
    counts = {"outlying": 6, "trials": 72, "plain_outlying": 6, "plain_trials": 144}
    assert found.reasons[1] == Reason.of("outlying-trials", **counts, tolerance=0.02)


def test_a_verdict_that_few_stalls_make_says_how_many_there_were() -> None:
    found = verdict(with_stalls(noisy(0.0, sd=1e-3), lambda c, b: c == AES and b in (3, 20), 10.0))
    assert found.decision is Decision.UNDECIDED
    counts = {"stalls": 2, "trials": 36, "plain_stalls": 0, "plain_trials": 72}
    assert [found.reasons[1], found.reasons[2].code] == [Reason.of("few-stalls", **counts), "too-little-measured"]
    assert found.typical.hdi95[1] < 1.02


def test_many_stalls_on_one_side_are_a_cost() -> None:
    costs = with_stalls(noisy(0.0, sd=1e-3), lambda c, b: c == AES and b % 3 == 1)
    found = verdict(costs, rounds=12)
    assert found.decision is Decision.SLOWER
    assert found.ratio.hdi95[0] < 1.33 < found.ratio.hdi95[1]


def test_a_gate_that_few_stalls_leave_open_says_so() -> None:
    found = verdict(
        with_stalls(noisy(0.0, sd=1e-3), lambda c, b: c == AES and b % 12 == 3, 10.0), rounds=8, budget=0.02
    )
    assert found.decision is Decision.UNDECIDED
    assert found.ratio.hdi99[0] > 1.02
    assert has([found.reasons[0]], "above-budget", budget=0.02)
    assert found.reasons[1].code == "few-stalls"
    assert (found.reasons[1].parameters["stalls"], found.reasons[1].parameters["trials"]) == (4, 48)


def test_a_single_round_makes_its_verdict() -> None:
    found = verdict(noisy(0.5, sd=1e-3), rounds=1)
    assert found.decision is Decision.SLOWER
    assert found.reasons[-1] == Reason.of("one-round")


def test_a_verdict_that_one_round_makes_names_it() -> None:
    found = verdict(by_round(0.033, 0.046, 0.026, 0.039, 0.022, 0.024), rounds=6)
    assert found.decision is Decision.SLOWER
    assert found.reasons[1:] == (Reason.of("round-decides", rounds="round 4", decision="undecided"),)


def test_rounds_that_each_make_a_verdict_are_named_together() -> None:
    found = verdict(by_round(0.043, 0.021, 0.021, 0.034, 0.044, 0.03), rounds=6)
    together = Reason.of("round-decides", rounds="any of the rounds 1, 4, 5", decision="undecided")
    assert found.reasons[1:] == (together,)
    each = verdict(noisy(math.log(1.030), sd=3e-3), rounds=3)
    assert each.reasons[1:] == (Reason.of("round-decides", rounds="any round", decision="undecided"),)


@pytest.mark.parametrize("rounds", [4, 8])
def test_a_clear_verdict_is_no_single_rounds(rounds: int) -> None:
    found = verdict(noisy(math.log(1.3)), rounds=rounds)
    assert found.decision is Decision.SLOWER
    assert len(found.reasons) == 1


def test_an_open_verdict_is_not_any_rounds() -> None:
    found = verdict(noisy(math.log(1.02)), rounds=4)
    assert found.decision is Decision.UNDECIDED
    assert "round-decides" not in {reason.code for reason in found.reasons}

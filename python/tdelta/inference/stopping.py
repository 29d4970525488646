"""When a run has seen enough. Pure rules; a session applies them at the ends of rounds, the unit of growth.

For a number that is to be quoted the rule is precision. Up to an overhead of 20% the width aimed at is fixed, so the
rule does not look at where the answer lies, and leaves it unbiased. Beyond that the aim is a tenth of the *estimated*
overhead: the rule then looks at the estimate, and an interval is narrow enough a little sooner where the estimate
happens to be high. The bias that this makes is simulated in benches/results/grid.md.

A budget is a gate, answered as soon as the 99% HDI is clear of it, and looked at after geometrically growing numbers
of blocks; an estimate stopped on its own answer leans, and is quoted with that caution.
"""

from __future__ import annotations

from collections.abc import Iterable

from tdelta.inference.decisions import decide_gate
from tdelta.records import Condition, Decision, Estimate

LEAST_WIDTH = 0.02
"""The narrowest 95% HDI that is aimed at, as a difference of ratios: 2 points."""

_SHARE_OF_OVERHEAD = 0.10
_LOOKS_GROW_BY = 1.5


def target_width(estimate: Estimate, least: float = LEAST_WIDTH) -> float:
    """The width of the 95% HDI that is enough: 2 points, or a tenth of the estimated overhead if that is more."""
    return max(least, _SHARE_OF_OVERHEAD * abs(estimate.median - 1.0))


def width(estimate: Estimate) -> float:
    """The width of the 95% HDI, a difference of ratios."""
    return estimate.hdi95[1] - estimate.hdi95[0]


def precise_enough(looks: Iterable[tuple[Condition, Estimate, float]]) -> bool:
    """Whether every primary estimate is as narrow as it need be; False for no estimate at all."""
    found = [width(estimate) <= target for _, estimate, target in looks]
    return bool(found) and all(found)


def gate_decided(looks: Iterable[tuple[Condition, Estimate, float]], budget: float) -> bool:
    """Whether every primary estimate is clear of the budget, or one is over it, which no other can mend."""
    decisions = [decide_gate(estimate, budget) for _, estimate, _ in looks]
    return Decision.OVER in decisions or (bool(decisions) and all(d is Decision.WITHIN for d in decisions))


def is_gate_look(rounds_done: int, first_look: int) -> bool:
    """Whether a gate may look after so many rounds: first after ``first_look``, then each time half as many again.

    Rounds are equally long, so growing rounds are growing blocks; the schedule depends on nothing seen.

    Args:
        rounds_done: whole rounds finished.
        first_look: the rounds of the first look, at least 1.
    """
    look = first_look
    while look < rounds_done:
        look = max(look + 1, round(look * _LOOKS_GROW_BY))
    return look == rounds_done


def should_stop(
    looks: Iterable[tuple[Condition, Estimate, float]], *, budget: float | None, rounds_done: int, first_look: int
) -> bool:
    """Whether a run may stop after this round, by the rule that suits what was asked.

    Args:
        looks: each judged condition with its primary estimate and target width, as ``interim_estimates`` returns them.
        budget: the gate's limit as a share (0.05), or None for a number that is to be quoted.
        rounds_done: whole rounds finished.
        first_look: the fewest rounds a run has.
    """
    if rounds_done < first_look:
        return False
    if budget is None:
        return precise_enough(looks)
    return is_gate_look(rounds_done, first_look) and gate_decided(looks, budget)

"""What a posterior says against the user's own limit: a ROPE, or a budget. And the words for it."""

from __future__ import annotations

from collections.abc import Iterable

from tdelta.records import Decision, Estimate

_WORST_FIRST = (
    Decision.UNSOUND,
    Decision.OVER,
    Decision.UNDECIDED,
    Decision.COSTLY,
    Decision.FASTER,
    Decision.NEGLIGIBLE,
    Decision.WITHIN,
)


def decide(estimate: Estimate, rope: float) -> Decision:
    """Compare the 95 % HDI of a ratio with ``1 - rope`` and ``1 + rope`` (Kruschke 2018, AMPPS 1:270)."""
    low, high = estimate.hdi95
    if low > 1.0 + rope:
        return Decision.COSTLY
    if high < 1.0 - rope:
        return Decision.FASTER
    if low >= 1.0 - rope and high <= 1.0 + rope:
        return Decision.NEGLIGIBLE
    return Decision.UNDECIDED


def decide_gate(estimate: Estimate, budget: float) -> Decision:
    """Compare the 99 % HDI of a ratio with ``1 + budget``."""
    low, high = estimate.hdi99
    if low > 1.0 + budget:
        return Decision.OVER
    return Decision.WITHIN if high < 1.0 + budget else Decision.UNDECIDED


def worst(decisions: Iterable[Decision]) -> Decision:
    """The decision of a run: the worst of its primary verdicts; ``undecided`` where there are none."""
    found = set(decisions)
    return next((d for d in _WORST_FIRST if d in found), Decision.UNDECIDED)


def interval_words(interval: tuple[float, float]) -> str:
    """``(1.024, 1.038)`` as ``+2.4 … +3.8 %``."""
    return f"{percent_words(interval[0])} … {percent_words(interval[1])} %"


def percent_words(ratio: float) -> str:
    """``1.024`` as ``+2.4``, never ``-0.0``."""
    rounded = round(100.0 * (ratio - 1.0), 1)
    return f"{rounded or 0.0:+.1f}"


def reason(estimate: Estimate, decision: Decision, rope: float) -> str:
    """Why a decision against the ROPE is what it is."""
    where = {
        Decision.COSTLY: "lies above",
        Decision.FASTER: "lies below",
        Decision.NEGLIGIBLE: "lies within",
    }.get(decision, "reaches over an edge of")
    return f"the 95 % HDI {interval_words(estimate.hdi95)} {where} the ROPE, ±{100 * rope:g} %"


def gate_reason(estimate: Estimate, decision: Decision, budget: float) -> str:
    """Why a decision against a budget is what it is."""
    where = {Decision.OVER: "lies above", Decision.WITHIN: "lies below"}.get(decision, "holds")
    return f"the 99 % HDI {interval_words(estimate.hdi99)} {where} the budget of +{100 * budget:g} %"

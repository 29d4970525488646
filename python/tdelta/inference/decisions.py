"""Decisions of a posterior against the user's own limit, a tolerance or a budget, and the words for them.

Two things make a decision harder than its interval: rounds so few that instance effects were hardly measured, and
stalls that carry it alone, or are few and weigh more than its margin. `decide_means` and `decide_gate_means` are for
those; how often they are wrong is in ``docs/validation.md``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tdelta.messages import Reason
from tdelta.records import Condition, Decision, Estimate, Verdict

FEWEST_ROUNDS = 5
"""With fewer rounds every verdict needs the 99% HDI: instance effects were hardly measured. So it does where the
overhead wanders: rounds are fewer then than they seem. ``slower`` and ``faster`` need it where any trial was far off,
too, since what made it so may have hit one instance and not its twin."""

FEWEST_GATE_ROUNDS = 4
FEW_ROUNDS_WIDER = 4.0 / 3.0
"""With fewer rounds a gate holds an interval against the budget that is so many times as wide as the 99% HDI. A gate
looks several times, and half of its wrong answers came at three rounds, where tau is least known: `within` in 5.8% of
simulated runs whose encrypted instances differ by 3%."""

FEWEST_STALLS = 8.0
"""A verdict that only stalls make needs so many of them (as many equal ones as scatter alike), and the 99% HDI. Of
200 simulated runs of identical twins whose stalls last four trials on average, 3 of ten rounds and 5 of twenty were
called apart with six, none and 3 with eight."""

FEWEST_BLOCKS = 4
"""With fewer complete blocks nothing is decided and no figure is shown: they hardly show their own scatter."""

WIDEST = 0.30  # an undecided interval that is wider, a difference of ratios, has no best estimate worth showing

FEWEST_ROUNDS_OF_AMOUNT = 2
"""A wide interval with a direction is shown from so many rounds on: of one round its width is the prior's."""

_WORST_FIRST = (
    Decision.INVALID,
    Decision.OVER,
    Decision.UNDECIDED,
    Decision.SLOWER,
    Decision.FASTER,
    Decision.NEGLIGIBLE,
    Decision.WITHIN,
)


def decide(estimate: Estimate, tolerance: float) -> Decision:
    """Compare the 95% HDI of a ratio with ``1 - tolerance`` and ``1 + tolerance`` (Kruschke 2018, AMPPS 1:270)."""
    low, high = estimate.hdi95
    if low > 1.0 + tolerance:
        return Decision.SLOWER
    if high < 1.0 - tolerance:
        return Decision.FASTER
    if low >= 1.0 - tolerance and high <= 1.0 + tolerance:
        return Decision.NEGLIGIBLE
    return Decision.UNDECIDED


@dataclass(frozen=True, slots=True)
class Grounds:
    """Grounds of a decision beside the ratio of means."""

    typical: Estimate
    stalls: float  # effective number of stalls of the condition, 0 without any
    plain_stalls: float
    rounds: int
    stall_cost: float = 0.0
    """The share of the typical cost that one side's stalls add to its mean; the larger one of sides whose stalls are
    few."""
    has_odd_trials: bool = False
    """Whether any trial was an event, above or below: they may hit one instance more than another."""
    wanders: bool = False
    """Whether the overhead changed during the run in a way that lasts over blocks, so that rounds are not independent
    of each other."""

    @property
    def is_hard(self) -> bool:
        return self.rounds < FEWEST_ROUNDS or self.wanders


def decide_means(estimate: Estimate, grounds: Grounds, tolerance: float) -> Decision:
    """Decide on the ratio of means: `decide`, and more caution where rounds are few or only stalls make the verdict."""
    decision = decide(estimate, tolerance)
    is_sure = decide(replace(estimate, hdi95=estimate.hdi99), tolerance) is decision
    if grounds.is_hard and not is_sure:
        return Decision.UNDECIDED
    if decision not in (Decision.SLOWER, Decision.FASTER):
        return decision
    if grounds.has_odd_trials and not is_sure:
        return Decision.UNDECIDED
    low, high = estimate.hdi95
    if grounds.stall_cost > (low - 1.0 - tolerance if decision is Decision.SLOWER else 1.0 - tolerance - high):
        return Decision.UNDECIDED
    if decide(grounds.typical, tolerance) is decision:
        return decision
    return decision if is_sure and _are_enough(grounds, decision is Decision.SLOWER) else Decision.UNDECIDED


def _are_enough(grounds: Grounds, is_slower: bool) -> bool:
    """Whether the stalls of the slower side, if there are any, are enough to carry a verdict."""
    stalls = grounds.stalls if is_slower else grounds.plain_stalls
    return not 0.0 < stalls < FEWEST_STALLS


def decide_gate_means(estimate: Estimate, grounds: Grounds, budget: float) -> Decision:
    """Decide on the ratio of means against a budget: more caution where rounds are few or only stalls are over it."""
    decision = decide_gate(_wider(estimate) if grounds.rounds < FEWEST_GATE_ROUNDS else estimate, budget)
    if decision is Decision.UNDECIDED or decide_gate(grounds.typical, budget) is decision:
        return decision
    return decision if _are_enough(grounds, decision is Decision.OVER) else Decision.UNDECIDED


def _wider(estimate: Estimate) -> Estimate:
    """The same with a 99% HDI that reaches further from the median, on the log scale."""
    low, high = (estimate.median * (end / estimate.median) ** FEW_ROUNDS_WIDER for end in estimate.hdi99)
    return replace(estimate, hdi99=(low, high))


def decide_gate(estimate: Estimate, budget: float) -> Decision:
    """Compare the 99% HDI of a ratio with ``1 + budget``."""
    low, high = estimate.hdi99
    if low > 1.0 + budget:
        return Decision.OVER
    return Decision.WITHIN if high < 1.0 + budget else Decision.UNDECIDED


def with_shortage(verdict: Verdict, blocks: int, rounds: int, tolerance: float, *, is_gate: bool = False) -> Verdict:
    """The same verdict; if too little was measured, with that as its last reason, and undecided.

    A whole interval beyond the tolerance gives at least the direction, if only few rounds or blocks keep it from
    being decided. It is no decision: with so few rounds a 95% interval is not enough for one.
    """
    ends = verdict.ratio.hdi99 if is_gate else verdict.ratio.hdi95
    are_few, is_open = blocks < FEWEST_BLOCKS, verdict.decision is Decision.UNDECIDED
    if not are_few and not is_open:
        return verdict
    direction = decide(replace(verdict.ratio, hdi95=ends), tolerance)
    last, typical = verdict.reasons[-1].code, verdict.typical or verdict.ratio
    is_clear = direction in (Decision.SLOWER, Decision.FASTER) and decide(typical, tolerance) is direction
    is_short = len(verdict.reasons) == 1 or last in _SHORT
    is_wide = ends[1] - ends[0] > WIDEST
    has_amount = not are_few and (rounds >= FEWEST_ROUNDS_OF_AMOUNT or not is_wide)
    if is_clear and is_short and has_amount:
        if is_gate:
            return verdict
        reason = Reason.of("direction", direction=direction.value, rounds=rounds)
    elif is_clear and is_short:
        reason = Reason.of("direction-alone", direction=direction.value, blocks=blocks, rounds=rounds)
    elif are_few or is_wide:
        reason = Reason.of("too-little-measured", blocks=blocks, points=100.0 * (ends[1] - ends[0]))
    else:
        return verdict
    return replace(verdict, decision=Decision.UNDECIDED, reasons=(*verdict.reasons, reason))


_SHORT = frozenset({"few-rounds", "few-rounds-budget", "costs-in-steps"})
"""Last reasons of an undecided verdict that more rounds answer."""


def most_severe(decisions: Iterable[Decision]) -> Decision:
    found = set(decisions)
    return next((d for d in _WORST_FIRST if d in found), Decision.UNDECIDED)


def interval_words(interval: tuple[float, float]) -> str:
    """``(1.024, 1.038)`` as ``+2.4% to +3.8%``."""
    return f"{percent_words(interval[0])}% to {percent_words(interval[1])}%"


def percent_words(ratio: float) -> str:
    """``1.024`` as ``+2.4``, never ``-0.0``."""
    rounded = round(100.0 * (ratio - 1.0), 1)
    return f"{rounded or 0.0:+.1f}".replace("-", "\N{MINUS SIGN}")


def reason(estimate: Estimate, decision: Decision, tolerance: float) -> Reason:
    interval = interval_words(estimate.hdi95)
    match decision:
        case Decision.SLOWER:
            return Reason.of("interval-above", interval=interval, tolerance=tolerance)
        case Decision.FASTER:
            return Reason.of("interval-below", interval=interval, tolerance=tolerance)
        case Decision.NEGLIGIBLE:
            return Reason.of("interval-within", interval=interval, tolerance=tolerance)
    return Reason.of("interval-across", interval=interval, tolerance=tolerance)


def gate_reason(estimate: Estimate, decision: Decision, budget: float) -> Reason:
    interval = interval_words(estimate.hdi99)
    match decision:
        case Decision.OVER:
            return Reason.of("above-budget", interval=interval, budget=budget)
        case Decision.WITHIN:
            return Reason.of("below-budget", interval=interval, budget=budget)
    return Reason.of("across-budget", interval=interval, budget=budget)


# How often answers of runs like this one were right when runs were simulated.
#
# The figures are those of ``benches/results/grid.md``, found by ``benches/calibration.py --grid``; a test compares
# them: an interval says what it has, not what it is called.

ENOUGH_ROUNDS = 3  # from how many rounds on an answer needs no caution of their number (docs/statistics.md, Decisions)


@dataclass(frozen=True, slots=True)
class Held:
    """Of 100 runs, in how many the 95% interval covered the truth or the verdict was undecided.

    The fewest and the most over the cells of the grid.

    Cells in which fewer than five stalls of the encrypted twins are expected are not among them: what was not met
    cannot be covered, and is said beside the answer.
    """

    fewest: int
    most: int


def held(rounds: int) -> Held:
    return Held(99, 100) if rounds < ENOUGH_ROUNDS else Held(85, 100)


# When a run has seen enough. Pure rules; a session applies them at the ends of rounds, the unit of growth.
#
# For a number that is to be quoted the rule is precision. Up to an overhead of 20% the width aimed at is fixed, so the
# rule does not look at where the answer lies, and leaves it unbiased. Beyond that the aim is a tenth of the *estimated*
# overhead: the rule then looks at the estimate, and an interval is narrow enough a little sooner where the estimate
# happens to be high. The bias that this makes is simulated in benches/results/grid.md.
#
# A budget is a gate, answered as soon as the 99% HDI is clear of it, and looked at after geometrically growing numbers
# of blocks; an estimate stopped on its own answer leans, and is quoted with that caution.

LEAST_WIDTH = 0.02  # the narrowest 95% HDI that is aimed at, as a difference of ratios: 2 points
_SHARE_OF_OVERHEAD = 0.10
_LOOKS_GROW_BY = 1.5


def target_width(estimate: Estimate, least: float = LEAST_WIDTH) -> float:
    """The width of the 95% HDI that is enough: 2 points, or a tenth of the estimated overhead if that is more."""
    return max(least, _SHARE_OF_OVERHEAD * abs(estimate.median - 1.0))


def width(estimate: Estimate) -> float:
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

    Rounds are equally long, so growing rounds are growing blocks; the schedule depends on nothing seen. `first_look`:
    the rounds of the first look, at least 1.
    """
    look = first_look
    while look < rounds_done:
        look = max(look + 1, round(look * _LOOKS_GROW_BY))
    return look == rounds_done


def should_stop(
    looks: Iterable[tuple[Condition, Estimate, float]], *, budget: float | None, rounds_done: int, first_look: int
) -> bool:
    """Whether a run may stop after this round, by the rule that suits what was asked.

    `looks`: each judged condition with its primary estimate and target width, as ``interim_estimates`` returns them;
    `budget`: the gate's limit as a share (0.05), or None for a number that is to be quoted; `first_look`: the fewest
    rounds a run has.
    """
    if rounds_done < first_look:
        return False
    if budget is None:
        return precise_enough(looks)
    return is_gate_look(rounds_done, first_look) and gate_decided(looks, budget)

"""Outlying trials and stalls: how many there were, how much stalls add to the mean, and what may have been missed."""

from __future__ import annotations

from collections.abc import Iterator

from tdelta.document.blocks import Block, Line, Paragraph, Table, columns
from tdelta.document.effect import Effect, edges
from tdelta.document.labels import carried_words, condition_label, surroundings
from tdelta.document.quantities import counted, percent
from tdelta.inference.decisions import decide, decide_gate
from tdelta.records import CarryOver, Condition, Decision, Estimate, Role, RunResult, RunSettings, StallMeasure, Verdict

TITLES = ("trials", "outliers", "of the time", "stalls", "they add")

NOTE = (
    "Outliers count in full in the result, and less than half in the estimate for a typical transaction. The last"
    " column is a share of the typical cost."
)


def has_odd_trials(result: RunResult) -> bool:
    return any(measure.down_weighted or measure.stalls for measure in result.of(StallMeasure))


def stall_rows(result: RunResult) -> Iterator[tuple[str, ...]]:
    """Each condition with its cells, as `TITLES` heads them."""
    for measure in result.of(StallMeasure):
        yield (
            _name(measure, result),
            f"{measure.trials:,}",
            f"{measure.down_weighted:,}",
            f"{100 * measure.down_weighted_time:.1f}%",
            f"{measure.stalls:,}",
            percent(1 + measure.stall_cost),
        )


_MOST_MISSED = 0.5


def footnotes(result: RunResult) -> Iterator[str]:
    missed = missed_text(result)
    if missed is not None:
        yield missed
    order = result.one(CarryOver)
    if order is not None:
        yield f"Carry-over: {carried_words(order)}."


def missed_text(result: RunResult) -> str | None:
    """How rare stalls must be to be missed; None if there were some, or nothing is known about them."""
    if not result.of(StallMeasure) or any(measure.stalls for measure in result.of(StallMeasure)):
        return None
    fewest = min(result.of(StallMeasure), key=lambda measure: measure.trials)
    if not fewest.trials or fewest.missed_share > _MOST_MISSED:
        return None  # so few trials show nothing of stalls
    same = len({measure.trials for measure in result.of(StallMeasure)}) == 1
    trials = f"{'' if same else 'at least '}{counted(fewest.trials, 'trial')}"
    return (
        f"No stalls in {trials} of each configuration. Stalls that affect fewer than 1 trial in"
        f" {1 / fewest.missed_share:.0f} could have been missed."
    )


def _name(measure: StallMeasure, result: RunResult) -> str:
    if measure.condition.role is Role.BASELINE:
        return ", ".join(("plain copies", *surroundings(measure.condition, result.settings)))
    return condition_label(measure.condition, result.settings)


def parting(verdict: Verdict, result: RunResult) -> str | None:
    """That a typical transaction differs from the mean: ``a typical transaction is +0.4%; stalls make it +18.0%``."""
    typical, settings = verdict.typical, result.settings
    if typical is None or verdict.decision is Decision.INVALID or not _is_parted(verdict, typical, result):
        return None
    bounds = edges(settings.tolerance)
    usual = Effect(typical.median, typical.hdi95, bounds)
    mean = Effect(verdict.ratio.median, verdict.ratio.hdi95, bounds)
    where = f"{condition_label(verdict.condition, settings)}: " if len(result.primary) > 1 else ""
    cause = _cause(verdict, result, is_slower=verdict.ratio.median >= typical.median)
    return f"{where}a typical transaction is {usual.signed()} ({usual.signed_span()}); {cause} make it {mean.signed()}"


def _is_parted(verdict: Verdict, typical: Estimate, result: RunResult) -> bool:
    if abs(verdict.ratio.median / typical.median - 1) > result.settings.tolerance:
        return True
    sides = (of_condition(result, verdict.baseline), of_condition(result, verdict.condition))
    has_stalls = any(side is not None and side.stalls for side in sides)
    return has_stalls and _decided(typical, result.settings) is not _decided(verdict.ratio, result.settings)


def _decided(estimate: Estimate, settings: RunSettings) -> Decision:
    if settings.budget is None:
        return decide(estimate, settings.tolerance)
    return decide_gate(estimate, settings.budget)


def of_condition(result: RunResult, condition: Condition) -> StallMeasure | None:
    return next((measure for measure in result.of(StallMeasure) if measure.condition == condition), None)


def _cause(verdict: Verdict, result: RunResult, *, is_slower: bool) -> str:
    side = of_condition(result, verdict.condition if is_slower else verdict.baseline)
    if side is None or not side.stalls:
        return "outliers"
    if verdict.decision is Decision.UNDECIDED:
        return "the stalls seen"
    return f"stalls of the {'encrypted' if is_slower and verdict.condition.is_encrypted else 'plain'} copies"


def lines(result: RunResult) -> Iterator[Line]:
    """That stalls, and not every transaction, make the overhead; the largest such difference."""
    found = [(abs(v.ratio.median - 1), text) for v in result.primary if (text := parting(v, result)) is not None]
    if found:
        yield Line("Stalls", max(found)[1])


def blocks(result: RunResult) -> Iterator[Block]:
    """Outlying trials of each configuration, and the carry-over."""
    if has_odd_trials(result):
        yield Table("Outliers and stalls", columns(*TITLES), list(stall_rows(result)), name="outliers and stalls")
        yield Paragraph(NOTE, "note")
    yield from (Paragraph(line, "note") for line in footnotes(result))

"""Outlying trials, stalls and carry-over: how much stalls add to the mean, and what may have been missed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tdelta import inference
from tdelta.document.blocks import Block, Line, Paragraph, Table, columns
from tdelta.document.effect import Effect, edges
from tdelta.document.labels import baseline_label, carried_words, condition_label, sides_of, surroundings
from tdelta.document.quantities import counted, percent
from tdelta.findings.base import Kind
from tdelta.records import CarryOver, Condition, Decision, Estimate, Role, RunResult, RunSettings, StallMeasure, Verdict

_NOTE = (
    "Outliers count in full in the result, and less than half in the estimate for a typical transaction. The last"
    " column is a share of the typical cost."
)
_MOST_MISSED = 0.5


def blocks(found: Sequence[StallMeasure], result: RunResult) -> Iterator[Block]:
    if any(one.down_weighted or one.stalls for one in found):
        rows = [
            (
                _name(one.condition, result.settings),
                f"{one.trials:,}",
                f"{one.down_weighted:,}",
                f"{100 * one.down_weighted_time:.1f}%",
                f"{one.stalls:,}",
                percent(1 + one.stall_cost),
            )
            for one in found
        ]
        titles = columns("trials", "outliers", "of the time", "stalls", "they add")
        yield Table("Outliers and stalls", titles, rows, name="outliers and stalls")
        yield Paragraph(_NOTE, "note")
    # So few trials that stalls are missed more often than not show nothing of them.
    fewest = min(found, key=lambda one: one.trials)
    if fewest.trials and fewest.missed_share <= _MOST_MISSED and not any(one.stalls for one in found):
        same = len({one.trials for one in found}) == 1
        yield Paragraph(
            f"No stalls in {'' if same else 'at least '}{counted(fewest.trials, 'trial')} of each configuration. Stalls"
            f" that affect fewer than 1 trial in {1 / fewest.missed_share:.0f} could have been missed.",
            "note",
        )


def _name(condition: Condition, settings: RunSettings) -> str:
    if condition.role is Role.BASELINE:
        return ", ".join((f"{baseline_label(settings)} copies", *surroundings(condition, settings)))
    return condition_label(condition, settings)


def lines(_found: Sequence[StallMeasure], result: RunResult) -> Iterator[Line]:
    """That stalls, and not every transaction, make the overhead; the largest such difference."""
    found = [(abs(v.ratio.median - 1), text) for v in result.primary if (text := parting(v, result)) is not None]
    if found:
        yield Line("Stalls", max(found)[1])


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
    has_stalls = any(_stalls(result, side) for side in (verdict.baseline, verdict.condition))
    return has_stalls and _decided(typical, result.settings) is not _decided(verdict.ratio, result.settings)


def _decided(estimate: Estimate, settings: RunSettings) -> Decision:
    if settings.budget is None:
        return inference.decide(estimate, settings.tolerance)
    return inference.decide_gate(estimate, settings.budget)


def _stalls(result: RunResult, condition: Condition) -> int:
    return next((one.stalls for one in result.of(StallMeasure) if one.condition == condition), 0)


def _cause(verdict: Verdict, result: RunResult, *, is_slower: bool) -> str:
    if not _stalls(result, verdict.condition if is_slower else verdict.baseline):
        return "outliers"
    if verdict.decision is Decision.UNDECIDED:
        return "the stalls seen"
    sides = sides_of(result.settings)
    is_treated = is_slower and verdict.condition.is_treated(result.settings.contrast)
    return f"stalls of the {sides.titles[is_treated]} copies"


def carry_over_blocks(found: Sequence[CarryOver], _result: RunResult) -> Iterator[Block]:
    yield Paragraph(f"Carry-over: {carried_words(found[0])}.", "note")


KIND = Kind(StallMeasure, blocks=blocks, part="answer", lines=lines)
CARRY_OVER = Kind(CarryOver, blocks=carry_over_blocks, part="answer")

"""Odd trials: how many count less for the typical operation, what stalls add to the mean, what may have been missed."""

from __future__ import annotations

from collections.abc import Iterator

from tdelta.records import CarryOver, Role, RunResult, StallMeasure
from tdelta.report.labels import carried_words, condition_label, surroundings
from tdelta.report.page.blocks import Block, Paragraph, Table, columns
from tdelta.report.quantities import counted, percent

TITLES = ("trials", "down-weighted", "of the time", "stalls", "they add")

NOTE = (
    "Odd trials, each condition's twins together. Down-weighted trials count less than half for the typical operation,"
    " and in full for the ratio of means. What stalls add is of the typical cost."
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
            f"{100 * measure.down_weighted_time:.1f} %",
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
    """How rare stalls would have to be to be missed; None where some were met, or nothing is known of them."""
    if not result.of(StallMeasure) or any(measure.stalls for measure in result.of(StallMeasure)):
        return None
    fewest = min(result.of(StallMeasure), key=lambda measure: measure.trials)
    if not fewest.trials or fewest.missed_share > _MOST_MISSED:
        return None  # so few trials show nothing of stalls
    same = len({measure.trials for measure in result.of(StallMeasure)}) == 1
    trials = f"{'' if same else 'at least '}{counted(fewest.trials, 'trial')}"
    return (
        f"No stall was met in {trials} of each condition: stalls in fewer than 1 of {1 / fewest.missed_share:.0f}"
        " trials could have been missed (95 %)."
    )


def _name(measure: StallMeasure, result: RunResult) -> str:
    if measure.condition.role is Role.BASELINE:
        return ", ".join(("plain twins", *surroundings(measure.condition, result.settings)))
    return condition_label(measure.condition, result.settings)


def blocks(result: RunResult) -> Iterator[Block]:
    """Odd trials by condition, and the carry-over."""
    if has_odd_trials(result):
        yield Table("Odd trials, by condition", columns(*TITLES), list(stall_rows(result)), name="odd trials")
        yield Paragraph(NOTE, "note")
    yield from (Paragraph(line, "note") for line in footnotes(result))

"""Published figures for the levels of a run's conditions, beside the measured ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tdelta.document.blocks import Block, Paragraph, Table, columns
from tdelta.document.effect import limits
from tdelta.document.labels import decision_word, metric_name
from tdelta.document.quantities import percent, ratio_cells
from tdelta.document.wording import has_amount, is_invalid, label
from tdelta.findings.base import FinishedRun, Kind
from tdelta.records import Condition, Finding, Level, RunResult

STATEMENT, METRIC = "statement", "metric"
"""Factors of a figure of one statement: its first word, and CPU or elapsed time."""


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """One figure of a study. ``what`` says of what, ``quote`` as it was published; ``ratio`` is None where none was.

    ``levels`` are the factors' levels under which it was found, where a run may have the same.
    """

    what: str
    quote: str
    source: str
    ratio: float | None = None
    levels: tuple[tuple[str, Level], ...] = ()


@dataclass(frozen=True, slots=True)
class PublishedCell(Finding):
    """A published figure for one condition of a study: ``ratio`` is a cost over the same without encryption."""

    FINDING = "published"

    condition: Condition
    ratio: float
    quote: str
    source: str


def of_run(run: FinishedRun) -> Iterator[PublishedCell]:
    """The figures of the study that are of the levels of an encrypted condition."""
    for condition in run.settings.conditions:
        levels = {**run.levels, **dict(condition.levels)}
        for figure in run.published if condition.is_encrypted else ():
            is_here = figure.levels and all(levels.get(name) == level for name, level in figure.levels)
            if is_here and figure.ratio is not None:
                yield PublishedCell(condition, figure.ratio, figure.quote, figure.source)


def blocks(found: Sequence[PublishedCell], result: RunResult) -> Iterator[Block]:
    published = {cell.condition.key: cell for cell in found}
    rows = [
        (
            label(verdict.condition, result.settings),
            percent(published[verdict.condition.key].ratio),
            *ratio_cells(verdict.ratio, limits(result.settings)),
            decision_word(verdict.decision, verdict.metric),
        )
        for verdict in result.primary
        if verdict.condition.key in published and has_amount(verdict)
    ]
    if rows and not is_invalid(result):
        titles = columns("published", "measured here", "95% interval", "verdict", texts=("verdict",))
        caption = f"Overhead in {metric_name(result.settings.metric, result.settings)}, published and measured"
        yield Table(caption, titles, rows, name="published")
        sources = "; ".join(dict.fromkeys(cell.source for cell in found))
        yield Paragraph(f"Published: {sources}; another product and machine, no check of this one.", "note")


KIND = Kind(PublishedCell, of_run, blocks, "answer")

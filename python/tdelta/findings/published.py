"""What was published for the levels of a run's conditions, beside which reports set what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tdelta.findings.base import FinishedRun, Kind
from tdelta.records import Condition, Finding, Level


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
    """What was published for one condition of a study: ``ratio`` is a cost over the same without encryption."""

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


KIND = Kind(PublishedCell, of_run)

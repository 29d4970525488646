"""The forest plot: ratios with their intervals, one a row, against what would not matter.

Thick bars are 95% intervals, thin ones 99%, open circles medians; plain twins are grey with square medians, so that the
instrument's noise stands in the same picture as what it measured. Where any ratio is beyond two-fold the axis is
logarithmic, else it is linear in per cent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from markupsafe import Markup

from tdelta.document import plot
from tdelta.document.blocks import WIDTH, Cell, Column, Figure, Table
from tdelta.document.quantities import MISSING, interval_of, multiple, percent
from tdelta.document.wording import decided, has_amount, has_data, is_known, median_text, overhead
from tdelta.records import Decision, Estimate, RunSettings, Verdict

_ROW = 34.0
_DENSE_ROW = 27.0
_DENSE_FROM = 12
_GROUP = 32.0
_LINE = 16.0
_HEAD = 26.0
_FOOT = 48.0
_LABEL_MOST = 156.0
_LABEL_LINES = 3
"""Conditions that differ in their last word alone would else have the same label, cut."""

_PLOT_LEAST = 250.0
_GAP = 18.0


class RowStyle(StrEnum):
    """How a row is drawn: what is judged, plain twins (noise), and what must not be relied on."""

    JUDGED = ""
    PLAIN = "plain-"
    ALARM = "alarm-"


@dataclass(frozen=True, slots=True)
class Row:
    """A row; without an estimate it is the heading of those below it, or says in ``note`` why it has none.

    ``note`` is what was decided, with its sign. ``truth`` is a ratio known from elsewhere, drawn as a diamond.
    """

    label: str
    estimate: Estimate | None = None
    note: str = ""
    style: RowStyle = RowStyle.JUDGED
    truth: float | None = None

    @property
    def is_heading(self) -> bool:
        return self.estimate is None and not self.note


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a forest plot: edges of a band, or a single line; and the quotients that figures must not cross."""

    tolerance: tuple[float, float] | None = None
    budget: float | None = None

    @property
    def values(self) -> tuple[float, ...]:
        return (*(self.tolerance or ()), *((self.budget,) if self.budget is not None else ()))


def forest(
    name: str,
    title: str,
    rows: Sequence[Row],
    limits: Limits,
    *,
    axis: str,
    caption: str,
    noted: str = "verdict",
    known_as: str = "actual",
) -> Figure:
    """A forest plot with the table of its numbers.

    Args:
        name: unique in the page.
        limits: the tolerance or the budget.
        axis: what the ratios are of.
        caption: below the figure; says what the marks mean.
        noted: the heading of the rows' notes.
        known_as: the heading of ratios known from elsewhere, in the table.
    """
    description = _description(rows, limits)
    marks, bottom = _marks(rows, limits, axis, noted)
    drawn = plot.drawing(WIDTH, bottom + _FOOT, title, description, marks, name=name)
    return Figure(name, title, drawn, caption, _table(title, rows, limits, noted, known_as))


def _known(rows: Iterable[Row]) -> list[Estimate]:
    return [row.estimate for row in rows if row.estimate is not None and is_known(row.estimate)]


def _scale(rows: Sequence[Row], limits: Limits, left: float, right: float) -> plot.Scale:
    ends = [end for e in _known(rows) for end in e.hdi99]
    truths = [row.truth for row in rows if row.truth is not None]
    return plot.ratio_scale((*limits.values, *ends, *truths), left, right)


def _marks(rows: Sequence[Row], limits: Limits, axis: str, noted: str) -> tuple[list[Markup], float]:
    """All marks of the figure, and where its rows end."""
    bounds = limits.values
    medians = [overhead(e, bounds) for e in _known(rows)]
    intervals = [interval_of(e, e.hdi95, bounds) for e in _known(rows)]
    is_bold = any(row.style is RowStyle.ALARM for row in rows)
    notes_width = _widest([*(row.note for row in rows), noted], is_bold=is_bold)
    hdi_width, median_width = _widest([*intervals, "95% interval"]), _widest([*medians, "median"], is_bold=True)
    right = WIDTH - notes_width - hdi_width - median_width - 3 * _GAP
    labels = _widest([row.label for row in rows])
    left = min(labels, _LABEL_MOST, right - _PLOT_LEAST) + _GAP
    step = _DENSE_ROW if len(rows) > _DENSE_FROM else _ROW
    folded = [plot.wrapped(row.label, left - _GAP, most=_LABEL_LINES) for row in rows]
    heights = [
        _GROUP + _LINE * (len(f) - 1) if row.is_heading else max(step, _LINE * len(f) + 10)
        for row, f in zip(rows, folded, strict=True)
    ]
    frame = plot.Frame(left, _HEAD, right, _HEAD + sum(heights))
    scale = _scale(rows, limits, left, right)
    at = (right + _GAP + median_width, right + 2 * _GAP + median_width + hdi_width, WIDTH - notes_width)
    ticks = ratio_ticks(scale)
    marks = [
        *plot.ground(frame, scale, ticks, tolerance=limits.tolerance, zero=1.0, limit=limits.budget),
        *_heads(at, noted),
    ]
    marks += plot.bottom_axis(frame, scale, ticks, axis, width=WIDTH, has_grid=False)
    y = frame.top
    for row, lines, height in zip(rows, folded, heights, strict=True):
        middle = y + height / 2 + (4 if row.is_heading else 0)
        first = middle + 4.5 - _LINE * (len(lines) - 1) / 2
        style = "strong" if row.is_heading else "label"
        marks += [plot.text(0.0, first + _LINE * n, words, style) for n, words in enumerate(lines)]
        marks += _interval(row, scale, middle)
        marks += _figures(row, bounds, at, middle + 4.5)
        y += height
    return marks, frame.bottom


def _heads(at: tuple[float, float, float], noted: str) -> list[Markup]:
    median, hdi, notes = at
    return [
        plot.text(median, _HEAD - 10, "median", "head", "end"),
        plot.text(hdi, _HEAD - 10, "95% interval", "head", "end"),
        plot.text(notes, _HEAD - 10, noted, "head"),
    ]


def _figures(row: Row, bounds: Sequence[float], at: tuple[float, float, float], y: float) -> list[Markup]:
    median, hdi, notes = at
    if row.estimate is None:
        return [plot.text(notes, y, row.note, "faint")] if row.note else []
    style = "warn" if row.style is RowStyle.ALARM else "label"
    shown = [plot.text(notes, y, row.note, style)] if row.note else []
    if not is_known(row.estimate):
        return shown
    return [
        plot.text(
            median, y, overhead(row.estimate, bounds), "strong" if row.style is RowStyle.JUDGED else "label", "end"
        ),
        plot.text(hdi, y, interval_of(row.estimate, row.estimate.hdi95, bounds), "label", "end"),
        *shown,
    ]


def ratio_ticks(scale: plot.Scale) -> list[plot.Tick]:
    def make(about: int) -> Sequence[plot.Tick]:
        return plot.overhead_ticks(scale.low, scale.high, about, in_multiples=scale.is_log)

    return plot.roomy(make, scale, 8, high=WIDTH)


def _interval(row: Row, scale: plot.Scale, y: float) -> list[Markup]:
    truth = [plot.diamond(scale(row.truth), y, 6.0, "truth")] if row.truth is not None else []
    if row.estimate is None or not is_known(row.estimate):
        return truth
    (low95, high95), (low99, high99) = row.estimate.hdi95, row.estimate.hdi99
    x = scale(row.estimate.median)
    dot = f"{row.style}dot"
    median = plot.square(x, y, 3.6, dot) if row.style is RowStyle.PLAIN else plot.circle(x, y, 4.2, dot)
    return [
        plot.group(
            plot.line(scale(low99), y, scale(high99), y, f"{row.style}hdi99"),
            plot.line(scale(low95), y, scale(high95), y, f"{row.style}hdi95"),
            median,
            *truth,
        )
    ]


def _widest(words: Sequence[str], *, is_bold: bool = False) -> float:
    return max((plot.text_width(word, is_bold=is_bold) for word in words), default=0.0)


def _description(rows: Sequence[Row], limits: Limits) -> str:
    parts = [_row_words(row, limits.values) for row in rows if not row.is_heading]
    return "; ".join(parts) + "."


def _row_words(row: Row, bounds: Sequence[float]) -> str:
    if row.estimate is None or not is_known(row.estimate):
        return f"{row.label}: {row.note or 'no figure'}"
    note = f", {row.note}" if row.note else ""
    hdi = interval_of(row.estimate, row.estimate.hdi95, bounds)
    return f"{row.label}: {median_text(row.estimate, bounds)}, 95% interval {hdi}{note}"


def _table(title: str, rows: Sequence[Row], limits: Limits, noted: str, known_as: str) -> Table:
    has_truth = any(row.truth is not None for row in rows)
    columns = [
        Column(""),
        *(Column(title, is_number=True) for title in ("median", "95% interval")),
        Column("99% interval", is_number=True, is_brief=False),
        *([Column(known_as, is_number=True)] if has_truth else []),
        Column(noted, is_brief=False),
    ]
    cells = [
        [row.label] if row.is_heading else [row.label, *_cells(row, limits.values, has_truth=has_truth), row.note]
        for row in rows
    ]
    return Table(f"Numbers: {title}", columns, cells, folded=True)


def _cells(row: Row, bounds: Sequence[float], *, has_truth: bool) -> list[str | Cell]:
    truth = [MISSING if row.truth is None else percent(row.truth)] if has_truth else []
    estimate = row.estimate
    if estimate is None or not is_known(estimate):
        return [MISSING, MISSING, MISSING, *truth]
    figures = [interval_of(estimate, ends, bounds) for ends in (estimate.hdi95, estimate.hdi99)]
    times = multiple(estimate.median)
    median = median_text(estimate, bounds)
    return [Cell(median, brief=f"{median} ({times})") if times else median, *figures, *truth]


def verdict_row(verdict: Verdict, name: str) -> Row:
    style = RowStyle.ALARM if verdict.decision is Decision.INVALID else RowStyle.JUDGED
    if not has_amount(verdict):
        return Row(name, None, "too little measured" if has_data(verdict) else "no data", style)
    return Row(name, verdict.ratio, decided(verdict), style, verdict.actual)


def limits_of(settings: RunSettings, *, is_primary: bool = True) -> Limits:
    """The limits that verdicts are compared with: the budget decides primary ones only."""
    if is_primary and settings.budget is not None:
        return Limits(budget=1 + settings.budget)
    return Limits(tolerance=(1 - settings.tolerance, 1 + settings.tolerance))

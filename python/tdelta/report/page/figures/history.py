"""Overheads of runs in order: a dot with its 95% interval per run, a step per stretch, a line at each change."""

from __future__ import annotations

from markupsafe import Markup

from tdelta.document import plot
from tdelta.document.blocks import WIDTH, Column, Figure, Table
from tdelta.document.labels import decision_word
from tdelta.document.quantities import ratio_cells
from tdelta.document.wording import date_text, mark, points_text
from tdelta.records.history import History, Series
from tdelta.report.changes import change_words, metric_words, point_label, series_name

_LEFT = 62.0
_RIGHT = 16.0
_TOP = 26.0
_HEIGHT = 230.0
_FOOT = 48.0
_NARROWEST, _PER_RUN = 340.0, 70.0
"""A figure of few runs is no wider than they need: on a narrow screen all of it is seen."""


def history_figure(series: Series, history: History, number: int) -> Figure:
    """The figure of one condition, with its numbers; ``number`` makes its name unique."""
    name = f"history-{number}"
    title = f"Overhead of {series_name(series, history)} in {metric_words(history)}, run by run"
    changes = "; ".join(change_words(change, series) for change in series.changes) or "no change"
    drawn = _layout(series, history, name, title, f"{len(series.points)} runs; {changes}.")
    caption = (
        "Dot and bar: each run's median and 95% interval. Line: the mean of a stretch without a change."
        " A dashed upright line stands where the overhead changed."
    )
    return Figure(name, title, drawn, caption, _table(series, history))


def _layout(series: Series, history: History, name: str, title: str, description: str) -> Markup:
    count = len(series.points)
    width = min(WIDTH, max(_NARROWEST, _LEFT + _PER_RUN * count + _RIGHT))
    frame = plot.Frame(_LEFT, _TOP, width - _RIGHT, _TOP + _HEIGHT)
    across = plot.Scale(-0.5, count - 0.5, frame.left, frame.right)
    up = _up(series, frame)
    marks: list[Markup] = list(
        plot.left_axis(frame, up, plot.overhead_ticks(up.low, up.high, 6, in_multiples=up.is_log))
    )
    ticks = [plot.Tick(float(at), point_label(point, history)) for at, point in enumerate(series.points)]
    titles = {"date": "run, by date (UTC)", "version": "run, by version", "label": "run, by label"}
    marks += plot.bottom_axis(frame, across, ticks, titles[history.order], width=width, has_grid=False)
    if up.holds(1.0):
        marks.append(plot.line(frame.left, up(1.0), frame.right, up(1.0), "zero"))
    marks += _stretches(series, across, up)
    for change in series.changes:
        x = across(change.at - 0.5)
        words = points_text(change.difference).partition(" (")[0]
        anchor = "end" if x > 0.6 * width else "start"
        marks += [plot.line(x, frame.top, x, frame.bottom, "limit")]
        marks += [plot.text(x + (-6 if anchor == "end" else 6), frame.top - 8, f"changed by {words}", "label", anchor)]
    for at, point in enumerate(series.points):
        low, high = (up(end) for end in point.ratio.hdi95)
        x = across(float(at))
        marks.append(
            plot.group(plot.line(x, low, x, high, "hdi95"), plot.circle(x, up(point.ratio.median), 4.2, "dot"))
        )
    return plot.drawing(width, frame.bottom + _FOOT, title, description, marks, name=name)


def _stretches(series: Series, across: plot.Scale, up: plot.Scale) -> list[Markup]:
    """A level line for the mean of each stretch; nothing where the whole series is one run."""
    marks = []
    for first, last, mean in _means(series):
        marks.append(plot.line(across(first - 0.5), up(mean), across(last + 0.5), up(mean), "curve"))
    return marks


def _means(series: Series) -> list[tuple[int, int, float]]:
    if not series.changes:
        return []
    edges = [0, *(change.at for change in series.changes), len(series.points)]
    means = [series.changes[0].before, *(change.after for change in series.changes)]
    return [(edges[at], edges[at + 1] - 1, mean) for at, mean in enumerate(means)]


def _up(series: Series, frame: plot.Frame) -> plot.Scale:
    values = [end for point in series.points for end in point.ratio.hdi95]
    return plot.ratio_scale(values, frame.bottom, frame.top)


def _table(series: Series, history: History) -> Table:
    columns = [Column("run"), Column("planned"), Column("version"), Column("labels")]
    columns += [Column("overhead", is_number=True), Column("95% interval, %", is_number=True), Column("decision")]
    columns += [Column("change", is_number=True)]
    changes = {change.at: change for change in series.changes}
    rows = [
        (
            point.run_id,
            date_text(point.created_unix_seconds),
            point.version,
            ", ".join(point.labels),
            *ratio_cells(point.ratio, ()),
            f"{mark(point.decision)}\u00a0{decision_word(point.decision, history.metric)}",
            points_text(changes[at].difference) if at in changes else "",
        )
        for at, point in enumerate(series.points)
    ]
    return Table("Numbers: every run", columns, rows, folded=True)

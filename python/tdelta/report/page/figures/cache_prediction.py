"""Predicted overhead against cache share: a curve in its band, over the cells that were measured."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from tdelta.records import Band, CachePrediction
from tdelta.report.labels import compared_label
from tdelta.report.page.blocks import WIDTH, Column, Figure, Table
from tdelta.report.page.plot import (
    Frame,
    Scale,
    Tick,
    bottom_axis,
    circle,
    drawing,
    group,
    left_axis,
    line,
    overhead_ticks,
    path,
    polyline,
    ratio_scale,
    scale_over,
)
from tdelta.report.quantities import interval, percent, share

_LEFT = 62.0
_RIGHT = 16.0
_TOP = 10.0
_HEIGHT = 250.0
_FOOT = 48.0


def cache_prediction_figure(one: CachePrediction, number: int) -> Figure:
    """The figure of one kind of twin, in response time, with its numbers; ``number`` makes its name unique."""
    name = f"cache-prediction-{number}"
    title = f"Overhead of {compared_label(one.condition)} in response time, against cache share"
    words = (f"{share(cell.cache)} of the data {percent(cell.response.median)}" for cell in one.cells)
    description = f"Measured: {', '.join(words)}."
    drawn = _layout(one, name, title, description)
    caption = (
        "Circle and bar: measured median and 95 % HDI. Line and wash: predicted from all cells, median and 95 % band."
        " The table has each cell as the others predict it."
    )
    return Figure(name, title, drawn, caption, _table(one))


def _layout(one: CachePrediction, name: str, title: str, description: str) -> Markup:
    frame = Frame(_LEFT, _TOP, WIDTH - _RIGHT, _TOP + _HEIGHT)
    shares = [cell.cache for cell in one.cells]
    across = scale_over(shares, frame.left, frame.right, is_log=True, margin=0.06)
    up = _up(one, frame)
    middle = [(across(p.cache), up(p.response.median)) for p in one.points]
    low, high = ([(across(p.cache), up(p.response.band95[end])) for p in one.points] for end in (0, 1))
    wash = path(polyline([*low, *reversed(high)], closed=True), "band")
    marks: list[Markup] = [wash, path(polyline(middle), "curve")]
    marks += left_axis(frame, up, overhead_ticks(up.low, up.high, 6, in_multiples=up.is_log))
    ticks = [Tick(value, share(value)) for value in shares]
    marks += bottom_axis(frame, across, ticks, "cache, as a share of the data", width=WIDTH, has_grid=False)
    marks.append(line(frame.left, up(1.0), frame.right, up(1.0), "zero"))
    marks += [_measured(cell.response, across(cell.cache), up) for cell in one.cells]
    return drawing(WIDTH, frame.bottom + _FOOT, title, description, marks, name=name)


def _measured(ratio: Band, x: float, up: Scale) -> Markup:
    ends = (up(end) for end in ratio.band95)
    return group(line(x, next(ends), x, next(ends), "hdi95"), circle(x, up(ratio.median), 4.2, "dot"))


def _up(one: CachePrediction, frame: Frame) -> Scale:
    bands: Sequence[Band] = [*(p.response for p in one.points), *(cell.response for cell in one.cells)]
    return ratio_scale((end for of in bands for end in of.band95), frame.bottom, frame.top)


def _table(one: CachePrediction) -> Table:
    rows = []
    for cell in one.cells:
        row = [share(cell.cache)]
        for measured, predicted, held in (
            (cell.response, cell.predicted_response, cell.response_held),
            (cell.cpu, cell.predicted_cpu, cell.cpu_held),
        ):
            held_words = "held" if held else "missed"
            words = f"{percent(predicted.median)} ({interval(predicted.band95)}), {held_words}"
            row += [percent(measured.median), words]
        rows.append(tuple(row))
    columns = [Column("cache"), Column("response time", is_number=True), Column("by the other cells")]
    columns += [Column("CPU", is_number=True), Column("by the other cells")]
    return Table("Numbers: each cell as measured and as the others predict it", columns, rows, folded=True)

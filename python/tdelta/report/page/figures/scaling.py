"""The overhead against threads or cores: measured points, and beyond a dashed line the bands of predictions."""

from __future__ import annotations

from markupsafe import Markup

from tdelta.records.scaling import ScalingCurve, ScalingPoint
from tdelta.report.page.blocks import Column, Figure, Table
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
    ratio_scale,
    scale_over,
    square,
    text,
)
from tdelta.report.scaling import cells, columns, curve_name

_WIDTH = 560.0
_LEFT = 62.0
_RIGHT = 16.0
_TOP = 26.0
_HEIGHT = 240.0
_FOOT = 48.0


def scaling_figure(curve: ScalingCurve, number: int) -> Figure:
    """The figure of one condition, with its numbers; ``number`` makes its name unique."""
    name = f"scaling-{number}"
    title = f"Overhead in time per operation of {curve_name(curve)}, against {curve.over}"
    caption = (
        "Circle: measured. Grey square and bar: predicted from the circles left of the dashed line, with a 95 % band."
        f" Where both stand at one number of {curve.over}, the model was not shown what was measured there."
    )
    return Figure(name, title, _drawn(curve, name, title), caption, _table(curve))


def _drawn(curve: ScalingCurve, name: str, title: str) -> Markup:
    frame = Frame(_LEFT, _TOP, _WIDTH - _RIGHT, _TOP + _HEIGHT)
    across = scale_over([float(point.at) for point in curve.points], frame.left, frame.right, is_log=True, margin=0.06)
    up = ratio_scale([1.0, *_values(curve)], frame.bottom, frame.top)
    marks: list[Markup] = list(left_axis(frame, up, overhead_ticks(up.low, up.high, 6, in_multiples=up.is_log)))
    ticks = [Tick(float(point.at), f"{point.at:,}") for point in curve.points]
    marks += bottom_axis(frame, across, ticks, curve.over.value, width=_WIDTH, has_grid=False)
    marks.append(line(frame.left, up(1.0), frame.right, up(1.0), "zero"))
    marks += _edge(curve, across, frame)
    for point in curve.points:
        marks += _marks(point, across(float(point.at)), up)
    return drawing(_WIDTH, frame.bottom + _FOOT, title, _description(curve), marks, name=name)


def _values(curve: ScalingCurve) -> list[float]:
    bands = [end for point in curve.points if point.prediction is not None for end in point.prediction.band95]
    return [*bands, *(point.ratio for point in curve.points if point.ratio is not None)]


def _edge(curve: ScalingCurve, across: Scale, frame: Frame) -> list[Markup]:
    """A dashed line between what the model was fitted to and what it predicts; nothing where it predicts nothing."""
    held_out = [point.at for point in curve.points if point.prediction is not None and point.ratio is not None]
    # What was held out and lies too far beyond for a prediction is nothing that the model was fitted to.
    end = min(held_out, default=float("inf"))
    last = max(p.at for p in curve.points if p.prediction is None and p.ratio is not None and p.at < end)
    beyond = [point.at for point in curve.points if point.prediction is not None and point.at > last]
    if not beyond:
        return []
    x = across((last * min(beyond)) ** 0.5)
    return [
        line(x, frame.top, x, frame.bottom, "limit"),
        text(x - 6, frame.top - 8, "measured", "label", "end"),
        text(x + 6, frame.top - 8, "predicted", "label"),
    ]


def _marks(point: ScalingPoint, x: float, up: Scale) -> list[Markup]:
    marks = []
    if point.prediction is not None:
        low, high = (up(end) for end in point.prediction.band95)
        bar = line(x, low, x, high, "plain-hdi95")
        marks.append(group(bar, square(x, up(point.prediction.median), 4.0, "plain-dot")))
    if point.ratio is not None:
        marks.append(circle(x, up(point.ratio), 4.2, "dot"))
    return marks


def _description(curve: ScalingCurve) -> str:
    said = (f"{point.at} {curve.over}: {', '.join(cells(curve, point)[1:])}" for point in curve.points)
    return "; ".join(said) + "."


def _table(curve: ScalingCurve) -> Table:
    named = [*(Column(name, is_number=True) for name in columns(curve)), Column("")]
    rows = [cells(curve, point) for point in curve.points]
    return Table(f"Numbers: every number of {curve.over}", named, rows, folded=True)

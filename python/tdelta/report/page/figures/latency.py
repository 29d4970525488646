"""Percentiles of response times, in HdrHistogram's manner: the axis is ``1 / (1 - quantile)``, so that tails have room.

A panel for each judged condition, with both plain twins of its stratum beside it: how far the two grey curves lie apart
is what instance effects alone do to a tail. Descriptive: no interval, no verdict (see the sentence that goes with it).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tdelta.document import plot
from tdelta.document.blocks import WIDTH, Column, Figure, Table
from tdelta.document.labels import baseline_label
from tdelta.document.quantities import amounts, multiple, percent
from tdelta.document.wording import label
from tdelta.records import Condition, Role, RunSettings
from tdelta.report.page.gather import MARKS, Latency

_LEFT = 66.0
_TITLE = 28.0
_PANEL = 250.0
_SMALL_PANEL = 190.0
_BETWEEN = 62.0
_FOOT = 48.0

TAILS = (
    "Tails are shown and never judged. The curves pool the transactions of all complete blocks of a configuration;"
    " transactions of one trial share its instance effect, so an interval from their number alone would be far too"
    " narrow, and the curves have none. The distance between the two copies of the baseline shows chance."
)


@dataclass(frozen=True, slots=True)
class _Curve:
    label: str
    style: str
    latency: Latency


def latency_curves(latencies: Mapping[str, Latency], settings: RunSettings) -> Figure | None:
    """The percentile curves of every judged condition beside its plain twins; None where nothing was recorded."""
    panels = [
        (label(condition, settings), curves)
        for condition in settings.conditions
        if condition.role.is_judged and (curves := _curves(condition, latencies, settings))
    ]
    if not panels:
        return None
    title = "Response times by percentile"
    description = "; ".join(_words(name, curves) for name, curves in panels) + "."
    drawn = _layout(panels, title, description)
    caption = (
        "Higher is slower. Solid and accented: the configuration; gray: the baseline (solid) and its A/A control"
        " (dotted). A curve ends where fewer than ten transactions were slower."
    )
    return Figure("latency", title, drawn, caption, latency_table(latencies, settings))


def latency_table(latencies: Mapping[str, Latency], settings: RunSettings) -> Table:
    """Percentiles, mean and maximum of every condition, each over the baseline of its stratum in brackets."""
    titles = ("transactions", "mean", *(f"p{100 * q:.6g}" for q in MARKS), "max")
    rows = []
    for condition in settings.conditions:
        found = latencies.get(condition.key)
        if found is not None:
            rows.append((label(condition, settings), *_cells(found, _baseline(condition, latencies, settings))))
    columns = [Column(""), *(Column(title, is_number=True) for title in titles)]
    return Table("Numbers: response times, in brackets over the baseline", columns, rows, folded=True)


def _baseline(condition: Condition, latencies: Mapping[str, Latency], settings: RunSettings) -> Latency | None:
    """The plain twin that a condition is set beside; none for itself."""
    if condition.role is Role.BASELINE:
        return None
    home = _of_role(condition, Role.BASELINE, settings)
    return latencies.get(home.key) if home else None


def _of_role(condition: Condition, role: Role, settings: RunSettings) -> Condition | None:
    return next((c for c in settings.conditions if c.stratum == condition.stratum and c.role is role), None)


def _cells(found: Latency, baseline: Latency | None) -> list[str]:
    others = _times(baseline) if baseline is not None else [math.nan] * len(_times(found))
    pairs = zip(_times(found), others, strict=True)
    return [f"{found.count:,}", *(_cell(time_ns, other_ns) for time_ns, other_ns in pairs)]


def _times(found: Latency) -> list[float]:
    """Mean, marks and maximum, ns; NaN for a mark that too few transactions lie beyond."""
    return [found.mean_ns, *(float(found.marks.get(q, math.nan)) for q in MARKS), float(found.max_ns)]


def _cell(time_ns: float, other_ns: float) -> str:
    shown = amounts((time_ns / 1e3,), "µs")[0]
    ratio = time_ns / other_ns if other_ns else math.nan
    return f"{shown} ({multiple(ratio) or percent(ratio)})" if math.isfinite(ratio) else shown


def _curves(condition: Condition, latencies: Mapping[str, Latency], settings: RunSettings) -> list[_Curve]:
    found = latencies.get(condition.key)
    if found is None:
        return []
    curves = []
    for role, style in ((Role.BASELINE, "plain-curve"), (Role.AA, "twin-curve")):
        twin = _of_role(condition, role, settings)
        if twin is not None and twin.key in latencies:
            name = baseline_label(settings) if role is Role.BASELINE else "A/A control"
            curves.append(_Curve(name, style, latencies[twin.key]))
    return [*curves, _Curve(label(condition, settings), "curve", found)]


def _layout(panels: Sequence[tuple[str, list[_Curve]]], title: str, description: str) -> Markup:
    columns = 2 if len(panels) > 1 else 1
    height = _PANEL if len(panels) == 1 else _SMALL_PANEL
    cell = WIDTH / columns
    values = [ns for _, curves in panels for curve in curves for _, ns in curve.latency.curve]
    furthest = max(1 / (1 - curve.latency.curve[-1][0]) for _, curves in panels for curve in curves)
    marks: list[Markup] = []
    bottom = 0.0
    for at, (name, curves) in enumerate(panels):
        row, column = divmod(at, columns)
        top = row * (_TITLE + height + _BETWEEN) + _TITLE
        frame = plot.Frame(column * cell + _LEFT, top, (column + 1) * cell - 14, top + height)
        across = plot.Scale(1.0, max(furthest, 2.0), frame.left, frame.right, is_log=True)
        up = plot.scale_over(values, frame.bottom, frame.top, is_log=True, margin=0.1)
        marks += _panel(name if len(panels) > 1 else "", curves, frame, across, up, (column + 1) * cell)
        bottom = frame.bottom
    return plot.drawing(WIDTH, bottom + _FOOT, title, description, marks, name="latency")


def _panel(
    name: str, curves: Sequence[_Curve], frame: plot.Frame, across: plot.Scale, up: plot.Scale, right: float
) -> list[Markup]:
    ticks = plot.quantile_ticks(1 - 1 / across.high)
    marks = plot.left_axis(frame, up, plot.nanosecond_ticks(up.low, up.high, 6))
    marks += plot.bottom_axis(frame, across, ticks, "percentile of transactions", width=right)
    for curve in curves:
        points = [(across(1 / (1 - q)), up(ns)) for q, ns in curve.latency.curve]
        marks.append(plot.path(plot.polyline(points), curve.style))
        x, y = points[-1]
        end = plot.circle(x, y, 3.6, "dot") if curve.style == "curve" else plot.square(x, y, 2.8, "plain-dot")
        marks.append(end)
    named = [c for c in curves if c.style == "plain-curve" or (c.style == "curve" and not name)]
    marks += _direct_labels(named, frame, across, up)
    titles = plot.wrapped(name, frame.width + _LEFT, most=1)
    return [*marks, *(plot.text(frame.left - _LEFT, frame.top - 12, title, "strong") for title in titles)]


def _direct_labels(curves: Sequence[_Curve], frame: plot.Frame, across: plot.Scale, up: plot.Scale) -> list[Markup]:
    marks = []
    for curve in curves:
        is_condition = curve.style == "curve"
        size = plot.SIZE if is_condition else plot.SMALL
        left = across(2.0)
        name = plot.wrapped(curve.label, frame.right - left, size, most=1)[0]
        heights = _heights(curve, across, up, left, left + plot.text_width(name, size))
        y = min(heights) - 9 if is_condition else max(heights) + 17
        y = min(max(y, frame.top + 12), frame.bottom - 5)
        marks.append(plot.text(left, y, name, "label" if is_condition else "faint"))
    return marks


def _heights(curve: _Curve, across: plot.Scale, up: plot.Scale, left: float, right: float) -> list[float]:
    """Where a curve runs above or below a label, px; its first point where it does not reach so far."""
    points = [(across(1 / (1 - q)), up(ns)) for q, ns in curve.latency.curve]
    return [y for x, y in points if left - 8 <= x <= right + 8] or [points[0][1]]


def _words(name: str, curves: Sequence[_Curve]) -> str:
    shown = []
    for curve in curves:
        marks = ", ".join(f"p{100 * q:.6g} {amounts((ns / 1e3,), 'µs')[0]}" for q, ns in curve.latency.marks.items())
        shown.append(f"{curve.label}: {marks or 'too few transactions'}")
    return f"{name}: {'; '.join(shown)}"

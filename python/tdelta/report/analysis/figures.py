"""The figures of the page: posteriors of the means and of their difference, and the posterior predictive check.

As everywhere on tdelta's pages a figure has the table of its numbers, and plain is grey.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from markupsafe import Markup

from tdelta.document import plot
from tdelta.document.blocks import WIDTH, Column, Figure, Table
from tdelta.document.quantities import printable
from tdelta.inference.observed import ComparisonPicture, Curve, PredictiveCheck
from tdelta.inference.posterior import FloatArray
from tdelta.report.analysis.units import UnitScale, display_unit, signed, spread_parts

_CURVE = 64.0
_ROW = 96.0
_LINE = 16.0
_FOOT = 48.0
_LABEL = 190.0
_GAP = 16.0
_BARS = 190.0
_MOST_BARS = 90


@dataclass(frozen=True, slots=True)
class _Row:
    """One curve with its name; ``style`` is the style sheet's prefix, ``plain-`` for the baseline."""

    name: str
    curve: Curve
    style: str = ""
    is_signed: bool = False


def means_figure(picture: ComparisonPicture, name: str, title: str) -> Figure:
    """Both posteriors of the means, on one axis."""
    rows = (
        _Row(printable(picture.baseline), picture.baseline_mean, "plain-"),
        _Row(printable(picture.condition), picture.condition_mean),
    )
    caption = (
        "Posterior of each condition's mean, drawn to the same height; the line is the median, the bar below it the"
        " 95% interval. Each speaks of the runs in these files."
    )
    return _figure(name, f"The two means: {title}", rows, picture.unit, caption, None)


def difference_figure(picture: ComparisonPicture, name: str, title: str) -> Figure:
    """The posterior of the difference, over the region that does not matter."""
    words = f"{printable(picture.condition)} less {printable(picture.baseline)}"
    caption = (
        "Difference of the means. Line: best estimate; bar: 95% interval; shaded band: tolerance, as a share of the"
        " baseline's mean; dashed line: no difference."
    )
    rows = (_Row(words, picture.difference, is_signed=True),)
    return _figure(name, f"The difference: {title}", rows, picture.unit, caption, picture.tolerance_difference)


def check_figure(check: PredictiveCheck, unit: str, name: str, title: str) -> Figure:
    """Observed shares as bars, the predicted ones as a line in their band."""
    binned = _together(check, _MOST_BARS)
    scale_of = display_unit(check.edges, unit)
    where = f"{printable(check.condition)}, run {printable(check.run)}"
    outside = int(np.sum((binned.observed < binned.low) | (binned.observed > binned.high)))
    description = f"{where}: {outside} of {binned.observed.size} bins lie outside the band of what the model predicts."
    heading = f"Observed and predicted: {title}, {where}"
    drawn = _bars(binned, scale_of, heading, description, name)
    caption = (
        f"Bars: share of the values in each bin, as observed. Line: what the fitted curve predicts, and the band that"
        f" holds 95% of what another sample of this size would show. {description}"
    )
    return Figure(name, heading, drawn, caption, _check_table(binned, scale_of))


def _figure(
    name: str, title: str, rows: Sequence[_Row], unit: str, caption: str, tolerance: tuple[float, float] | None
) -> Figure:
    scale_of = display_unit([end for row in rows for end in row.curve.spread.hdi99], unit)
    description = "; ".join(f"{row.name}: {_spread_words(row, unit)}" for row in rows) + "."
    drawn = _curves(rows, scale_of, tolerance, title, description, name)
    cells = [(row.name, *spread_parts(row.curve.spread, unit, is_signed=row.is_signed)) for row in rows]
    columns = [Column(""), *(Column(head, is_number=True) for head in ("median", "95% interval", "99% interval"))]
    return Figure(name, title, drawn, caption, Table(f"Numbers: {title}", columns, cells, folded=True))


def _spread_words(row: _Row, unit: str) -> str:
    median, hdi95, _ = spread_parts(row.curve.spread, unit, is_signed=row.is_signed)
    return f"{median}, 95% interval {hdi95}"


def _curves(
    rows: Sequence[_Row],
    scale_of: UnitScale,
    tolerance: tuple[float, float] | None,
    title: str,
    description: str,
    name: str,
) -> Markup:
    left, right = _LABEL + _GAP, WIDTH - 10.0
    frame = plot.Frame(left, 6.0, right, 6.0 + _ROW * len(rows))
    scale = _scale(rows, scale_of, tolerance, left, right)
    ticks = _ticks(scale, is_signed=tolerance is not None)
    band = None if tolerance is None else (scale_of(tolerance[0]), scale_of(tolerance[1]))
    marks: list[Markup] = []
    for at, row in enumerate(rows):
        base = frame.top + _ROW * (at + 1) - 14
        strip = plot.Frame(left, base - _CURVE - 6, right, base + 12)
        marks += plot.ground(strip, scale, ticks, tolerance=band, zero=None if tolerance is None else 0.0)
        marks += _curve(row, scale, scale_of, base)
        marks += _beside(row, scale_of, base)
    axis = scale_of.name if scale_of.name else "in the unit of the files"
    marks += plot.bottom_axis(frame, scale, ticks, axis, width=WIDTH, has_grid=False)
    return plot.drawing(WIDTH, frame.bottom + _FOOT, title, description, marks, name=name)


def _scale(
    rows: Sequence[_Row], scale_of: UnitScale, tolerance: tuple[float, float] | None, left: float, right: float
) -> plot.Scale:
    """Holds the 99% intervals with a margin; the curves' thin tails beyond are cut."""
    ends = [end for row in rows for end in row.curve.spread.hdi99]
    values = [*ends, *((0.0, *tolerance) if tolerance is not None else ())]
    return plot.scale_over([scale_of(value) for value in values], left, right, margin=0.08)


def _ticks(scale: plot.Scale, *, is_signed: bool) -> list[plot.Tick]:
    def make(about: int) -> Sequence[plot.Tick]:
        if not is_signed:
            return plot.plain_ticks(scale.low, scale.high, about)
        steps = plot.linear_steps(scale.low, scale.high, about)
        plain = plot.plain_ticks(scale.low, scale.high, about)
        return [plot.Tick(step, signed(tick.label, step)) for step, tick in zip(steps, plain, strict=True)]

    return plot.roomy(make, scale, 8, high=WIDTH)


def _curve(row: _Row, scale: plot.Scale, scale_of: UnitScale, base: float) -> list[Markup]:
    values, spread = scale_of.array(row.curve.value), row.curve.spread
    low, high = spread.hdi95
    ends, median = (scale_of(low), scale_of(high)), scale_of(spread.median)
    return plot.density(values, row.curve.density, median, ends, scale, base=base, height=_CURVE, look=row.style)


def _texts(row: _Row, scale_of: UnitScale) -> tuple[str, str]:
    median, hdi95, _ = spread_parts(row.curve.spread, scale_of.unit, is_signed=row.is_signed)
    return median, f"95% interval {hdi95}"


def _beside(row: _Row, scale_of: UnitScale, base: float) -> list[Markup]:
    names = plot.wrapped(row.name, _LABEL, most=2)
    first = base - 34 - _LINE * (len(names) - 1)
    named = [plot.text(0.0, first + _LINE * n, words, "strong") for n, words in enumerate(names)]
    below = first + _LINE * len(names)
    figures = [plot.text(0.0, below + _LINE * n, words, "small") for n, words in enumerate(_texts(row, scale_of))]
    return [*named, *figures]


def _together(check: PredictiveCheck, most: int) -> PredictiveCheck:
    """Neighbouring bins together until there are no more than ``most``; their bands are added up, which is too wide."""
    step = -(-check.observed.size // most)
    if step == 1:
        return check
    starts = np.arange(0, check.observed.size, step)

    def summed(values: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(values, starts))

    return replace(
        check,
        edges=np.append(check.edges[starts], check.edges[-1]),
        observed=summed(check.observed),
        expected=summed(check.expected),
        low=summed(check.low),
        high=summed(check.high),
    )


def _bars(check: PredictiveCheck, scale_of: UnitScale, title: str, description: str, name: str) -> Markup:
    frame = plot.Frame(6.0, 8.0, WIDTH - 6.0, 8.0 + _BARS)
    edges = scale_of.array(check.edges)
    is_log = bool(edges[0] > 0 and edges[-1] / edges[0] > 8)  # response times' bins are logarithmic
    across = plot.Scale(float(edges[0]), float(edges[-1]), frame.left, frame.right, is_log=is_log)
    most = float(max(check.observed.max(), check.high.max()))
    up = plot.Scale(0.0, most, frame.bottom, frame.top)
    pixels = [across(float(edge)) for edge in edges]
    middles = [(a + b) / 2 for a, b in pairwise(pixels)]
    upper = [(x, up(float(v))) for x, v in zip(middles, check.high, strict=True)]
    lower = [(x, up(float(v))) for x, v in zip(middles, check.low, strict=True)]
    expected = [(x, up(float(v))) for x, v in zip(middles, check.expected, strict=True)]
    bars = [
        plot.rect(a, up(float(v)), max(0.5, b - a - 0.6), frame.bottom - up(float(v)), "plain-bar-second")
        for a, b, v in zip(pixels, pixels[1:], check.observed, strict=False)
    ]
    marks = [
        plot.path(plot.polyline([*upper, *reversed(lower)], closed=True), "band"),
        *bars,
        plot.path(plot.polyline(expected), "curve"),
    ]
    ticks = plot.roomy(lambda about: _value_ticks(across, about), across, 8, high=WIDTH)
    marks += plot.bottom_axis(frame, across, ticks, scale_of.name, width=WIDTH, has_grid=False)
    return plot.drawing(WIDTH, frame.bottom + _FOOT, title, description, marks, name=name)


def _value_ticks(scale: plot.Scale, about: int) -> Sequence[plot.Tick]:
    if not scale.is_log:
        return plot.plain_ticks(scale.low, scale.high, about)
    return [plot.Tick(value, f"{value:,.6g}") for value in plot.log_steps(scale.low, scale.high, about)]


def _check_table(check: PredictiveCheck, scale_of: UnitScale) -> Table:
    edges = scale_of.array(check.edges)
    rows = [
        (
            f"{edges[i]:,.4g} … {edges[i + 1]:,.4g} {scale_of.name}".rstrip(),
            _share(check.observed[i]),
            _share(check.expected[i]),
            f"{_share(check.low[i])} … {_share(check.high[i])}",
        )
        for i in range(check.observed.size)
    ]
    columns = [Column("bin"), *(Column(head, is_number=True) for head in ("observed", "predicted", "95% band"))]
    return Table("Numbers: shares of the values by bin", columns, rows, folded=True)


def _share(value: float) -> str:
    return f"{100 * float(value):.2f}%"

"""The figure of how well a model fits: what was observed, next to what it predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from markupsafe import Markup

from tdelta.document import plot
from tdelta.document.blocks import WIDTH, Column, Figure, Table
from tdelta.document.quantities import printable
from tdelta.inference.observed import PredictiveCheck, QuantileCheck
from tdelta.inference.posterior import FloatArray
from tdelta.report.analysis.units import UnitScale, display_unit, unit_amounts

_FOOT = 48.0
_BARS = 190.0
_MOST_BARS = 90


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
        "Bars: observed share of the values in each bin. Line and band: prediction of the model, with 95% of other"
        " samples of this size."
    )
    return Figure(name, heading, drawn, caption, _check_table(binned, scale_of))


def quantile_words(quantiles: Sequence[QuantileCheck], unit: str) -> str:
    """Printed quantiles next to their predictions: ``p95 observed 4.10 ms, predicted 3.9 to 4.3 ms``."""
    return "; ".join(_quantile(q, unit) for q in quantiles)


def _quantile(check: QuantileCheck, unit: str) -> str:
    observed, low, high = unit_amounts((check.observed, check.low, check.high), unit)
    place = "" if check.low <= check.observed <= check.high else " (outside)"
    return f"p{100 * check.probability:g} observed {observed}, predicted {low} to {high}{place}"


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

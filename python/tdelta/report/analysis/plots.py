"""The pictures of the published study in a terminal: both means, their difference, and whether the model fits.

Drawn from block characters, so that a pipe and a log file show them as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.text import Text

from tdelta.document.quantities import printable
from tdelta.inference.observed import ComparisonPicture, Curve, PredictiveCheck, QuantileCheck
from tdelta.inference.posterior import FloatArray
from tdelta.report.analysis.units import axis_text, spread_text, unit_amounts
from tdelta.report.drawing import bar, paragraph

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_LINES = 3
_CHECK_LINES = 4
_MOST_COLUMNS = 72
_INDENT = "  "
_TOLERANCE = "░┊"
"""The region that does not matter, and no difference in it."""
_LEAST_SPAN = 1e-12
_MOST_CHECKS = 2
"""Of a comparison: one for each side; of more runs, words say how well the models fit."""


def picture_lines(picture: ComparisonPicture, title: str, width: int) -> list[Text]:
    """The pictures of one comparison, below each other.

    Args:
        width: columns; at most 72 are drawn on.
    """
    columns = min(_MOST_COLUMNS, width - 2 * len(_INDENT))
    parts = [*_means(picture, columns, width), *_difference(picture, columns, width)]
    if len(picture.checks) > _MOST_CHECKS:
        parts += _checks_in_words(picture.checks, width)
    else:
        for check in picture.checks:
            parts += _check(check, picture.unit, columns, width)
    return [*paragraph(title, width, "bold"), *parts]


def density_rows(
    value: FloatArray, density: FloatArray, ends: tuple[float, float], columns: int, lines: int
) -> list[str]:
    """A curve as ``lines`` rows of block characters over ``columns`` of an axis, its peak at full height.

    Each column shows the highest density within it, so that a curve narrower than a column is still seen.
    """
    low, high = ends
    edges = np.linspace(low, high, columns + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    heights = np.interp(middles, value, density, left=0.0, right=0.0)
    inside = (value >= low) & (value <= high)
    at = np.clip(np.searchsorted(edges, value[inside], side="right") - 1, 0, columns - 1)
    np.maximum.at(heights, at, density[inside])
    return block_rows(heights / max(float(heights.max()), _LEAST_SPAN), lines)


def block_rows(shares: FloatArray, lines: int) -> list[str]:
    """Bars of heights 0 … 1 as rows of characters, the top one first; a bar above nothing is never blank."""
    eighths = np.rint(np.clip(shares, 0.0, 1.0) * lines * 8).astype(int)
    eighths = np.where((shares > 1e-3) & (eighths == 0), 1, eighths)
    rows = []
    for line in range(lines - 1, -1, -1):
        filled = np.clip(eighths - 8 * line, 0, 8)
        rows.append("".join(_EIGHTHS[count] for count in filled))
    return rows


def span_row(span: tuple[float, float], at: float, ends: tuple[float, float], columns: int, marks: str = "━●") -> str:
    """An HDI as ``━`` with its median ``●``; with other ``marks`` another span, and what stands in it."""
    return bar([(span, marks[0])], at, ends, columns, marks[1]).rstrip()


def axis_row(ends: tuple[float, float], unit: str, columns: int, *, is_signed: bool = False) -> str:
    left, right = axis_text(ends, unit, is_signed=is_signed)
    return f"{left}{' ' * max(1, columns - len(left) - len(right))}{right}"


def _means(picture: ComparisonPicture, columns: int, width: int) -> list[Text]:
    named = ((picture.baseline, picture.baseline_mean), (picture.condition, picture.condition_mean))
    ends = _shown([curve for _, curve in named])
    parts: list[Text] = []
    for name, curve in named:
        parts += _words(f"mean of {printable(name)}: {spread_text(curve.spread, picture.unit)}", width)
        parts += _drawn(density_rows(curve.value, curve.density, ends, columns, _LINES), "cyan")
        parts += _drawn([span_row(curve.spread.hdi95, curve.spread.median, ends, columns)], "cyan")
    return [*parts, *_drawn([axis_row(ends, picture.unit, columns)], "dim")]


def _difference(picture: ComparisonPicture, columns: int, width: int) -> list[Text]:
    """The posterior of the difference over the tolerance."""
    curve, tolerance = picture.difference, picture.tolerance_difference
    ends = _shown([curve], (0.0, *tolerance))
    names = f"{printable(picture.condition)} less {printable(picture.baseline)}"
    words = f"difference, {names}: {spread_text(curve.spread, picture.unit, is_signed=True)}"
    return [
        *_words(f"{words}; ░ is the tolerance", width),
        *_drawn(density_rows(curve.value, curve.density, ends, columns, _LINES), "cyan"),
        *_drawn([span_row(curve.spread.hdi95, curve.spread.median, ends, columns)], "cyan"),
        *_drawn([span_row(tolerance, 0.0, ends, columns, _TOLERANCE)], "dim"),
        *_drawn([axis_row(ends, picture.unit, columns, is_signed=True)], "dim"),
    ]


def _checks_in_words(checks: Sequence[PredictiveCheck], width: int) -> list[Text]:
    """One line for the runs of a comparison; the page draws each."""
    shares = [_outside(check) / check.observed.size for check in checks if check.observed.size]
    if not shares:
        return []
    span = f"{100 * min(shares):.0f} to {100 * max(shares):.0f}%"
    words = f"{len(shares)} runs: {span} of bins outside the band of what the model predicts; the page draws them"
    return _words(words, width)


def _outside(check: PredictiveCheck) -> int:
    return int(np.sum((check.observed < check.low) | (check.observed > check.high)))


def _check(check: PredictiveCheck, unit: str, columns: int, width: int) -> list[Text]:
    """Observed against predicted: bars with the predicted curve above them, or quantiles where there are no bins."""
    name = printable(check.condition)
    if check.observed.size:
        outside = _outside(check)
        shown = f"{outside} of {check.observed.size} bins outside the band of what the model predicts"
        words = _words(f"{name}: observed (bars), predicted (·); {shown}", width)
        return [*words, *_bars(check, unit, columns)]
    return _words(f"{name}: {quantile_words(check.quantiles, unit)}", width) if check.quantiles else []


def quantile_words(quantiles: Sequence[QuantileCheck], unit: str) -> str:
    """Printed quantiles beside their predictions: ``p95 observed 4.10 ms, predicted 3.9 … 4.3 ms``."""
    return "; ".join(_quantile(q, unit) for q in quantiles)


def _quantile(check: QuantileCheck, unit: str) -> str:
    observed, low, high = unit_amounts((check.observed, check.low, check.high), unit)
    place = "" if check.low <= check.observed <= check.high else " (outside)"
    return f"p{100 * check.probability:g} observed {observed}, predicted {low} … {high}{place}"


def _bars(check: PredictiveCheck, unit: str, columns: int) -> list[Text]:
    """The observed shares as bars, each predicted share as a dot at its height where the bar leaves room for it."""
    edges, observed, expected = _rebinned(check, columns)
    most = max(float(observed.max()), float(expected.max()), _LEAST_SPAN)
    rows = [list(row) for row in block_rows(observed / most, _CHECK_LINES)]
    for column, share in enumerate(expected / most):
        line = min(_CHECK_LINES - 1, int(share * _CHECK_LINES))
        row = rows[_CHECK_LINES - 1 - line]
        row[column] = "·" if row[column] == " " and share > 1e-3 else row[column]
    ends = float(edges[0]), float(edges[-1])
    return [*_drawn(["".join(row) for row in rows], "cyan"), *_drawn([axis_row(ends, unit, observed.size)], "dim")]


def _rebinned(check: PredictiveCheck, columns: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Neighbouring bins together until they fit the columns; a bin is one column, or two where there is room."""
    step = -(-check.observed.size // columns)
    starts = np.arange(0, check.observed.size, step)
    edges = np.append(check.edges[starts], check.edges[-1])
    observed, expected = (np.add.reduceat(values, starts) for values in (check.observed, check.expected))
    wide = max(1, columns // observed.size)
    return edges, np.repeat(observed, wide), np.repeat(expected, wide)


def _shown(curves: Sequence[Curve], values: Sequence[float] = ()) -> tuple[float, float]:
    """An axis that holds the curves' 99% intervals and a little more, and these values."""
    reaches = [(c.spread.hdi99[0], c.spread.hdi99[1]) for c in curves]
    low, high = min([*values, *(r[0] for r in reaches)]), max([*values, *(r[1] for r in reaches)])
    margin = 0.06 * (high - low) or max(abs(high), 1.0) * 0.01
    return low - margin, high + margin


def _words(text: str, width: int) -> list[Text]:
    return paragraph(f"{_INDENT}{text}", width, indent=_INDENT * 2)


def _drawn(rows: Sequence[str], style: str) -> list[Text]:
    return [Text(f"{_INDENT * 2}{row.rstrip()}", style=style) for row in rows]

"""The posteriors: for each condition a curve, its 95% interval below it, and what share lies where.

All curves share the axis and are drawn to the same height, since beside a sharp one a wide one would be a flat line:
widths compare, heights do not. On a logarithmic axis the curve is the density of the logarithm, so that areas of one
curve stay comparable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tdelta.document.blocks import WIDTH, Column, Figure, Table
from tdelta.document.effect import limits
from tdelta.document.forest import ratio_ticks
from tdelta.document.plot import (
    SMALL,
    Frame,
    Scale,
    bottom_axis,
    density,
    drawing,
    ground,
    ratio_scale,
    text,
    text_width,
    wrapped,
)
from tdelta.document.quantities import interval_of, percent, share
from tdelta.document.wording import chance, label, limit_words, median_text
from tdelta.inference import Density
from tdelta.records import Role, RunSettings

_CURVE = 58.0
_ROW = 84.0
_LINE = 16.0
_FOOT = 48.0
_LABEL = 150.0
_GAP = 16.0
_LOOKS = {True: "", False: "plain-"}


@dataclass(frozen=True, slots=True)
class _Drawn:
    """One row: a density and where its shares lie, in words."""

    density: Density
    label: str
    masses: tuple[str, str, str]
    is_judged: bool


def posteriors(found: Sequence[Density], settings: RunSettings, axis: str) -> Figure:
    """The figure of all densities, A/A twins in grey, with the table of their figures and shares.

    Args:
        found: as `tdelta.inference.densities` gives them, at least one.
        axis: what the ratios are of.
    """
    rows = [_drawn(density, settings) for density in found]
    title = "What the run knows of each overhead"
    description = "; ".join(_words(row, settings) for row in rows) + "."
    drawn = _layout(rows, settings, axis, title, description)
    return Figure("posteriors", title, drawn, _caption(settings), _table(rows, settings))


def _drawn(density: Density, settings: RunSettings) -> _Drawn:
    estimate, tolerance = density.estimate, settings.tolerance
    masses = (
        f"{chance(estimate.mass_above_tolerance)} above {percent(1 + tolerance, _places(tolerance))}",
        f"{chance(estimate.mass_in_tolerance)} within ±{share(tolerance)}",
        f"{chance(estimate.mass_below_tolerance)} below {percent(1 - tolerance, _places(tolerance))}",
    )
    return _Drawn(density, label(density.condition, settings), masses, density.condition.role is not Role.AA)


def _places(tolerance: float) -> int:
    return 0 if abs(100 * tolerance - round(100 * tolerance)) < 1e-9 else 2


def _scale(rows: Sequence[_Drawn], settings: RunSettings, left: float, right: float) -> Scale:
    ends = [float(end) for row in rows for end in (row.density.ratio[0], row.density.ratio[-1])]
    return ratio_scale((*_edges(settings), *limits(settings), *ends), left, right, margin=0.02)


def _edges(settings: RunSettings) -> tuple[float, float]:
    return 1 - settings.tolerance, 1 + settings.tolerance


def _layout(rows: Sequence[_Drawn], settings: RunSettings, axis: str, title: str, description: str) -> Markup:
    masses = max(text_width(words, SMALL) for row in rows for words in row.masses)
    frame = Frame(_LABEL + _GAP, 6.0, WIDTH - masses - _GAP, 6.0 + _ROW * len(rows))
    scale = _scale(rows, settings, frame.left, frame.right)
    ticks = ratio_ticks(scale)
    marks = ground(
        frame,
        scale,
        ticks,
        tolerance=_edges(settings),
        zero=1.0,
        limit=None if settings.budget is None else 1 + settings.budget,
    )
    for at, row in enumerate(rows):
        base = frame.top + _ROW * (at + 1) - 14
        marks += _curve(row, scale, base)
        marks += _beside(row, base, settings)
    marks += bottom_axis(frame, scale, ticks, axis, width=WIDTH, has_grid=False)
    return drawing(WIDTH, frame.bottom + _FOOT, title, description, marks, name="posteriors")


def _curve(row: _Drawn, scale: Scale, base: float) -> list[Markup]:
    known, estimate = row.density, row.density.estimate
    heights = known.density * (known.ratio if scale.is_log else 1.0)
    look = _LOOKS[row.is_judged]
    return density(known.ratio, heights, estimate.median, estimate.hdi95, scale, base=base, height=_CURVE, look=look)


def _beside(row: _Drawn, base: float, settings: RunSettings) -> list[Markup]:
    lines = wrapped(row.label, _LABEL)
    style = "strong" if row.is_judged else "label"
    first = base - 28 - _LINE * (len(lines) - 1) / 2
    names = [text(0.0, first + _LINE * n, words, style) for n, words in enumerate(lines)]
    estimate = row.density.estimate
    figure = text(0.0, first + _LINE * len(lines), median_text(estimate, limits(settings)), "label")
    shares = [text(WIDTH, base - 34 + _LINE * n, words, "small", "end") for n, words in enumerate(row.masses)]
    return [*names, figure, *shares]


def _words(row: _Drawn, settings: RunSettings) -> str:
    estimate = row.density.estimate
    bounds = limits(settings)
    hdi = interval_of(estimate, estimate.hdi95, bounds)
    return f"{row.label}: {median_text(estimate, bounds)}, 95% interval {hdi}; {', '.join(row.masses)}"


def _caption(settings: RunSettings) -> str:
    words = limit_words(settings)
    tolerance = "" if settings.budget is None else f" The shaded band is ±{share(settings.tolerance)}."
    return (
        f"Posterior densities, all of the same height. Line: median; bar: 95% interval; {words}.{tolerance} Gray: A/A"
        " control, two identical plain copies."
    )


def _table(rows: Sequence[_Drawn], settings: RunSettings) -> Table:
    bounds = limits(settings)
    edge = (
        percent(1 + settings.tolerance, _places(settings.tolerance)),
        percent(1 - settings.tolerance, _places(settings.tolerance)),
    )
    titles = (
        "median",
        "95% interval",
        "99% interval",
        f"above {edge[0]}",
        f"within ±{share(settings.tolerance)}",
        f"below {edge[1]}",
    )
    cells = [
        (
            row.label,
            median_text(row.density.estimate, bounds),
            interval_of(row.density.estimate, row.density.estimate.hdi95, bounds),
            interval_of(row.density.estimate, row.density.estimate.hdi99, bounds),
            chance(row.density.estimate.mass_above_tolerance),
            chance(row.density.estimate.mass_in_tolerance),
            chance(row.density.estimate.mass_below_tolerance),
        )
        for row in rows
    ]
    columns = [Column(""), *(Column(title, is_number=True) for title in titles)]
    return Table(
        "Numbers: posteriors and the shares that lie above, within and below the tolerance", columns, cells, folded=True
    )

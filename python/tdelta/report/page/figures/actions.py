"""How long an action took against what it cost the load meanwhile: a point for each setting of its knobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from markupsafe import Markup

from tdelta.design.actions import parse_action
from tdelta.document import plot
from tdelta.document.blocks import SMALL_WIDTH, Figure, Medium, Table, columns
from tdelta.document.effect import limits
from tdelta.document.quantities import duration, percent, ratio_cells
from tdelta.document.wording import label
from tdelta.records import ActionMeasure, Estimate, RunResult

_LEFT, _RIGHT, _TOP, _HEIGHT, _FOOT = 62.0, 16.0, 12.0, 230.0, 48.0
_ASIDE = 9.0


@dataclass(frozen=True, slots=True)
class Point:
    """One setting of an action: how long it took, and what it cost meanwhile."""

    measure: ActionMeasure
    seconds: float
    ratio: Estimate


def curves(result: RunResult) -> dict[str, list[Point]]:
    """The settings of each action that goes on beside a load, by its name, the quickest first."""
    found: dict[str, list[Point]] = {}
    for one in result.of(ActionMeasure):
        if one.while_ratio is not None:
            name = parse_action(one.action).name
            found.setdefault(name, []).append(Point(one, one.seconds.median, one.while_ratio))
    return {name: sorted(points, key=lambda point: point.seconds) for name, points in found.items()}


def block_of(name: str, points: Sequence[Point], result: RunResult) -> Figure | Table:
    """A figure with its table; of a single setting the table alone."""
    return _figure(name, points, result) if len(points) > 1 else _table(name, points, result)


def _figure(name: str, points: Sequence[Point], result: RunResult) -> Figure:
    title = f"{name}: how long it takes, and what it costs meanwhile"
    described = (f"{_name(p, result)}: {duration(p.seconds)}, {percent(p.ratio.median)}" for p in points)
    caption = (
        "Across: how long it took, median. Upwards: how much longer the load's work took while it went on; circle:"
        " posterior median, thick bar: 95% interval, thin bar: 99% interval. "
        + "; ".join(f"{letter}: {_name(p, result)}" for letter, p in zip(ascii_uppercase, points, strict=False))
        + "."
    )
    drawn = plot.drawing(
        SMALL_WIDTH,
        _TOP + _HEIGHT + _FOOT,
        title,
        "; ".join(described) + ".",
        _marks(points, result),
        name=f"curve-{name}",
        class_="figure small",
    )
    return Figure(f"curve-{name}", title, drawn, caption, _table(name, points, result), Medium.BOTH)


def _table(name: str, points: Sequence[Point], result: RunResult) -> Table:
    rows = [
        (
            _name(p, result),
            duration(p.seconds),
            *ratio_cells(p.ratio, limits(result.settings)),
        )
        for p in points
    ]
    titles = columns("took", "work takes", "95% interval")
    return Table(f"Numbers: {name}", titles, rows, folded=True, name=f"during {name}")


def _marks(points: Sequence[Point], result: RunResult) -> Iterator[Markup]:
    frame = plot.Frame(_LEFT, _TOP, SMALL_WIDTH - _RIGHT, _TOP + _HEIGHT)
    values = [*limits(result.settings), *(end for p in points for end in p.ratio.hdi99)]
    up = plot.ratio_scale(values, frame.bottom, frame.top)
    across = plot.scale_over([p.seconds for p in points], frame.left, frame.right, is_log=True, margin=0.09)
    tolerance = [up(limit) for limit in limits(result.settings)]
    yield plot.rect(frame.left, min(tolerance), frame.width, max(1.0, max(tolerance) - min(tolerance)), "tolerance")
    yield from plot.left_axis(frame, up, plot.overhead_ticks(up.low, up.high, 6, in_multiples=up.is_log))
    ticks = [plot.Tick(seconds, duration(seconds)) for seconds in plot.log_steps(across.low, across.high, 6)]
    yield from plot.bottom_axis(frame, across, ticks, "how long it took", width=SMALL_WIDTH, has_grid=False)
    yield plot.line(frame.left, up(1.0), frame.right, up(1.0), "zero")
    for letter, point in zip(ascii_uppercase, points, strict=False):
        yield from _point(letter, point, across, up)


def _point(letter: str, point: Point, across: plot.Scale, up: plot.Scale) -> Iterator[Markup]:
    x, ratio = across(point.seconds), point.ratio
    yield plot.line(x, up(ratio.hdi99[0]), x, up(ratio.hdi99[1]), "hdi99")
    yield plot.line(x, up(ratio.hdi95[0]), x, up(ratio.hdi95[1]), "hdi95")
    yield plot.circle(x, up(ratio.median), 4.2, "dot")
    yield plot.text(x + _ASIDE, up(ratio.median) + 4, letter, "label")


def _name(point: Point, result: RunResult) -> str:
    return label(point.measure.condition, result.settings)

"""Axes: a frame of pixels, lines at the ticks, and labels that leave each other room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from tdelta.document.plot.marks import line, rect, text
from tdelta.document.plot.scale import Scale
from tdelta.document.plot.text import SMALL, text_width, wrapped
from tdelta.document.plot.ticks import Tick

_GAP = 10.0
"""Pixels between two labels of an axis, at least."""

_LABEL_DROP = 17.0
_TITLE_DROP = 36.0


@dataclass(frozen=True, slots=True)
class Frame:
    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top


def fitted(ticks: Sequence[Tick], scale: Scale, *, low: float = 0.0, high: float = float("inf")) -> list[Tick]:
    """Those ticks of a horizontal axis whose labels neither touch each other nor leave ``low … high`` pixels.

    Picked from the one that means "no difference" (a ratio of 1, or 0) outwards, or from the first.
    """
    inside = [t for t in ticks if low <= _ends(t, scale)[0] and _ends(t, scale)[1] <= high]
    home = next((at for at, tick in enumerate(inside) if tick.value in (0.0, 1.0)), 0)
    kept = inside[home : home + 1]
    for tick in inside[home + 1 :]:
        if _ends(kept[-1], scale)[1] + _GAP <= _ends(tick, scale)[0]:
            kept.append(tick)
    for tick in reversed(inside[:home]):
        if _ends(tick, scale)[1] + _GAP <= _ends(kept[0], scale)[0]:
            kept.insert(0, tick)
    return kept


def roomy(
    make: Callable[[int], Sequence[Tick]], scale: Scale, about: int, *, low: float = 0.0, high: float = float("inf")
) -> list[Tick]:
    """The densest ticks, of at most ``about``, all of whose labels have room; `fitted` where even the coarsest do not.

    Args:
        make: the ticks of an axis, by how many are wanted.
        scale: horizontal.
        about: how many at most.
        low: pixels that labels may not leave.
        high: the same at the other end.
    """
    for count in range(about, 1, -1):
        ticks = [t for t in make(count) if low <= _ends(t, scale)[0] and _ends(t, scale)[1] <= high]
        if all(_ends(a, scale)[1] + _GAP <= _ends(b, scale)[0] for a, b in pairwise(ticks)):
            return ticks
    return fitted(make(2), scale, low=low, high=high)


def ground(
    frame: Frame,
    scale: Scale,
    ticks: Iterable[Tick],
    *,
    tolerance: tuple[float, float] | None = None,
    zero: float | None = None,
    limit: float | None = None,
) -> list[Markup]:
    """The layer below rows of marks: the band that does not matter, the grid, the lines of no difference and a limit.

    Args:
        tolerance: the ends of the band.
        zero: where there is no difference.
        limit: what must not be passed.
    """
    shaded = [band(frame, scale(tolerance[0]), scale(tolerance[1]), "tolerance")] if tolerance is not None else []
    grid = [vertical_line(frame, scale(tick.value), "grid") for tick in ticks]
    lines = [
        vertical_line(frame, scale(at), style) for at, style in ((zero, "zero"), (limit, "limit")) if at is not None
    ]
    return [*shaded, *grid, *lines]


def bottom_axis(
    frame: Frame, scale: Scale, ticks: Sequence[Tick], title: str = "", *, width: float, has_grid: bool = True
) -> list[Markup]:
    """Vertical grid lines with labels below the frame, and below them the axis's title.

    Args:
        ticks: to be thinned as room allows.
        title: what is drawn, and its unit.
        width: of the whole drawing, which labels may not leave.
        has_grid: whether lines are drawn at the ticks.
    """
    kept = fitted(ticks, scale, low=0.0, high=width)
    grid = [line(scale(t.value), frame.top, scale(t.value), frame.bottom, "grid") for t in kept if has_grid]
    y = frame.bottom + _LABEL_DROP
    labels = [text(scale(tick.value), y, tick.label, "tick", "middle") for tick in kept]
    return [*grid, *labels, *_bottom_title(frame, title, width)]


def left_axis(frame: Frame, scale: Scale, ticks: Iterable[Tick]) -> list[Markup]:
    """Horizontal grid lines with labels to the left of the frame; labels nearer than a line's height are left out."""
    marks: list[Markup] = []
    last = float("inf")
    for tick in sorted(ticks, key=lambda t: -scale(t.value)):
        y = scale(tick.value)
        marks.append(line(frame.left, y, frame.right, y, "grid"))
        if last - y >= SMALL + 4:
            marks.append(text(frame.left - 8, y + 4, tick.label, "tick", "end"))
            last = y
    return marks


def vertical_line(frame: Frame, x: float, class_: str) -> Markup:
    return line(x, frame.top, x, frame.bottom, class_)


def band(frame: Frame, left: float, right: float, class_: str) -> Markup:
    """A shaded band from the top of the frame to its bottom, at least a pixel wide."""
    return rect(left, frame.top, max(1.0, right - left), frame.height, class_)


def _ends(tick: Tick, scale: Scale) -> tuple[float, float]:
    half = text_width(tick.label, SMALL) / 2
    return scale(tick.value) - half, scale(tick.value) + half


def _bottom_title(frame: Frame, title: str, width: float) -> list[Markup]:
    if not title:
        return []
    title = wrapped(title, width - 4, SMALL, most=1)[0]
    half = text_width(title, SMALL) / 2
    middle = min(max((frame.left + frame.right) / 2, half + 2), max(width - half - 2, half + 2))
    return [text(middle, frame.bottom + _TITLE_DROP, title, "axis-title", "middle")]

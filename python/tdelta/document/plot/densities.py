"""A posterior density as a filled curve, its median in it and its 95% interval below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from tdelta.document.plot.marks import line, path, polyline
from tdelta.document.plot.scale import Scale

if TYPE_CHECKING:
    from tdelta.inference.posterior import FloatArray

_POINTS = 120
"""What is within a pixel of a neighbour of the same height is not worth its bytes."""

_DROP = 5.0


def density(
    values: FloatArray,
    heights: FloatArray,
    median: float,
    hdi95: tuple[float, float],
    scale: Scale,
    *,
    base: float,
    height: float,
    look: str = "",
) -> list[Markup]:
    """The marks of one density, its highest point at ``height``; what lies outside the scale is cut off.

    Args:
        values: where the density is known, ascending, in the scale's unit.
        heights: the density there, in any unit.
        median: in the scale's unit.
        hdi95: the same.
        scale: horizontal.
        base: the pixel on which it stands.
        height: pixels.
        look: the style sheet's prefix, ``plain-`` for plain twins.
    """
    import numpy as np  # here: the terminal's answer imports figures and draws none

    inside = np.flatnonzero((values >= scale.low) & (values <= scale.high))
    kept = inside[np.unique(np.linspace(0, inside.size - 1, _POINTS).astype(int))]
    shares = heights / heights.max()
    points = [(scale(float(values[i])), base - height * float(shares[i])) for i in kept]
    outline = [(points[0][0], base), *points, (points[-1][0], base)]
    x, below = scale(median), base + _DROP
    top = base - height * float(np.interp(median, values, shares))
    return [
        path(polyline(outline, closed=True), f"{look}area"),
        line(x, base, x, top, f"{look}median"),
        line(scale(hdi95[0]), below, scale(hdi95[1]), below, f"{look}hdi95"),
    ]

"""SVG elements as escaped text. Everything that a run's data could name passes through here, and is escaped here."""

from __future__ import annotations

import math
from collections.abc import Iterable

from markupsafe import Markup, escape

from tdelta.errors import Defect


def element(name: str, *children: str, **attributes: object) -> Markup:
    """An element; children that are no `Markup` yet and all values of attributes are escaped.

    Args:
        attributes: by name, ``_`` standing for ``-`` and a last ``_`` left out (``class_``); ``None`` leaves one out.

    Raises:
        TdeltaError: for a number that is not finite, which is a defect of whoever draws.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_written(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(escape(child) for child in children)
    return Markup(f"<{name}{written}>{inner}</{name}>" if inner else f"<{name}{written}/>")  # noqa: S704 (escaped above)


def drawing(
    width: float,
    height: float,
    title: str,
    description: str,
    children: Iterable[str],
    *,
    name: str,
    class_: str = "figure",
) -> Markup:
    """A whole figure: an ``svg`` with a title and a description for those who do not see it.

    Args:
        width: of the viewBox, px.
        height: of the viewBox, px.
        description: what it shows, in words.
        name: unique in the page; ids are made of it.
        class_: ``figure``; ``figure small`` of one that fits a phone.
    """
    label, words = f"drawing-{name}-title", f"drawing-{name}-desc"
    return element(
        "svg",
        element("title", title, id=label),
        element("desc", description, id=words),
        *children,
        class_=class_,
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=width,
        height=height,
        role="img",
        aria_labelledby=f"{label} {words}",
    )


def group(*children: str, class_: str | None = None) -> Markup:
    return element("g", *children, class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def rect(x: float, y: float, width: float, height: float, class_: str, radius: float | None = None) -> Markup:
    """A rectangle; a negative width or height, which floating point can make of none, is none."""
    return element("rect", x=x, y=y, width=max(0.0, width), height=max(0.0, height), rx=radius, class_=class_)


def circle(x: float, y: float, radius: float, class_: str) -> Markup:
    return element("circle", cx=x, cy=y, r=radius, class_=class_)


def square(x: float, y: float, half: float, class_: str) -> Markup:
    return rect(x - half, y - half, 2 * half, 2 * half, class_)


def diamond(x: float, y: float, half: float, class_: str) -> Markup:
    return path(f"M{number(x - half)} {number(y)}l{number(half)} {number(-half)} {number(half)} {number(half)}"
                f" {number(-half)} {number(half)}z", class_)  # fmt: skip


def path(data: str, class_: str) -> Markup:
    return element("path", d=data, class_=class_)


def polyline(points: Iterable[tuple[float, float]], *, closed: bool = False) -> str:
    data = "L".join(f"{number(x)} {number(y)}" for x, y in points)
    return f"M{data}{'Z' if closed else ''}"


def text(
    x: float, y: float, words: str, class_: str = "label", anchor: str | None = None, *, turned: bool = False
) -> Markup:
    """A line of text, on its baseline; ``anchor`` is ``middle`` or ``end``, ``turned`` reads upwards."""
    turn = f"rotate(-90 {number(x)} {number(y)})" if turned else None
    return element("text", words, x=x, y=y, class_=class_, text_anchor=anchor, transform=turn)


def number(value: float) -> str:
    if not math.isfinite(value):
        raise Defect(f"a drawing needs finite coordinates, found {value}")
    short = f"{value:.1f}".removesuffix(".0")
    return "0" if short == "-0" else short


def _written(value: object) -> object:
    return number(value) if isinstance(value, float) else value

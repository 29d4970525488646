"""What a page is made of: sections of paragraphs, lists, tables, figures and code. The templates draw them, all alike.

Text in here is plain text; the templates escape it. Only a figure's drawings are `Markup`, made and escaped by
`tdelta.report.page.plot`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from markupsafe import Markup

WIDTH = 760.0
"""The width of a figure, px; on a narrower screen it is scrolled."""

SMALL_WIDTH = 340.0
"""The width of one without rows and their names: it fits a phone, and is larger where there is room."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph. ``kind`` is ``lead``, ``text``, ``note`` (smaller), ``caution`` or ``alarm``."""

    text: str
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of (mark, text), the mark maybe empty, else one of `tdelta.report.checks.MARKS`.

    ``kind`` is ``plain``, ``cautions`` or ``checks``.
    """

    items: Sequence[tuple[str, str]]
    kind: str = "plain"


@dataclass(frozen=True, slots=True)
class Code:
    text: str
    label: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; one of numbers is set to the right."""

    title: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that is more than text: ``state`` picks its look (``good``, ``bad``, ``quiet``)."""

    text: str
    state: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first cell of a row is its heading.

    ``folded`` puts it behind its caption, to be opened; so are the numbers of every figure. ``sortable`` lets readers
    sort its rows by a column, and show those that contain a text.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str | Cell]]
    folded: bool = False
    sortable: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with its caption and its numbers. ``name`` is unique in the page."""

    name: str
    title: str
    drawing: Markup
    caption: str
    table: Table


@dataclass(frozen=True, slots=True)
class Tile:
    """One answer, to be read across a room: what was compared, the figure, its interval, the decision."""

    label: str
    figure: str
    interval: str
    decision: str
    mark: str
    is_alarm: bool = False


@dataclass(frozen=True, slots=True)
class Tiles:
    tiles: Sequence[Tile]


@dataclass(frozen=True, slots=True)
class Heading:
    text: str


Block: TypeAlias = Paragraph | Listing | Code | Table | Figure | Tiles | Heading


@dataclass(frozen=True, slots=True)
class Section:
    """A numbered part of the page; ``name`` is its anchor."""

    name: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Page:
    """A whole page, ready for the templates.

    Attributes:
        title: of the window.
        eyebrow: what run this is, above the headline.
        headline: the answer in a few words.
        is_alarm: whether there is no answer to be had.
        sections: in order.
        marker: what the file's first line says, so that tdelta knows its own files.
        footer: a closing line.
    """

    title: str
    eyebrow: str
    headline: str
    is_alarm: bool
    sections: Sequence[Section]
    marker: str
    footer: str = ""

"""The document model of every report: sections of paragraphs, lines, lists, tables, figures and code.

Templates draw them as a page; `tdelta.report.drawing` draws them in a terminal, which has less room: cells and columns
state which of them are for the page alone. Text is plain text; the templates escape it. Only a figure's drawings are
`Markup`, made and escaped by `tdelta.document.plot`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TypeAlias

from markupsafe import Markup

WIDTH = 760.0
"""The width of a figure, px; on a narrower screen it is scrolled."""

SMALL_WIDTH = 340.0
"""The width of one without rows and their names: it fits a phone, and is larger where there is room."""


MARKER = "tdelta report"
"""How the comment in the first line of every page begins."""


class Medium(Enum):
    BOTH = auto()
    PAGE = auto()
    TERMINAL = auto()


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph.

    ``kind`` is ``answer``, ``lead`` (stronger), ``text``, ``note`` (smaller), ``caution`` or ``alarm``; ``state`` is
    the decision of an answer, whose first word it colors up to a colon.
    """

    text: str
    kind: str = "text"
    medium: Medium = Medium.BOTH
    state: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of (mark, text), the mark maybe empty, else one of `tdelta.document.labels.MARKS`.

    ``kind`` is ``plain``, ``facts`` (smaller), ``cautions``, ``faults`` or ``checks``.
    """

    items: Sequence[tuple[str, str]]
    kind: str = "plain"
    medium: Medium = Medium.BOTH


@dataclass(frozen=True, slots=True)
class Code:
    """Text in one piece, to be copied."""

    text: str
    label: str = ""
    medium: Medium = Medium.PAGE


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; one of numbers is set to the right. ``is_brief``: a terminal has it, too.

    ``is_whole``: its texts are never folded in a terminal, as numbers are not.
    """

    title: str
    is_number: bool = False
    is_brief: bool = True
    is_whole: bool = False


def columns(*titles: str, texts: Collection[str] = (), more: Collection[str] = ()) -> list[Column]:
    """The column of the rows' headings, then one for each title.

    Args:
        titles: in order.
        texts: those whose cells are no numbers.
        more: those for the page alone.
    """
    return [Column(""), *(Column(title, title not in texts, title not in more) for title in titles)]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that is more than text: ``state`` picks its look (``good``, ``bad``, ``strong``, ``quiet``).

    ``brief`` is its text in a terminal, where that is another.
    """

    text: str
    state: str = ""
    brief: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first cell of a row is its heading, and a row of one cell is the heading of those below it.

    ``name`` stands above the first column in a terminal, which shows the first ``most`` rows. ``folded`` puts it
    behind its caption, to be opened; so are the numbers of every figure. ``sortable`` lets readers sort its rows by
    a column, and show those that contain a text.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str | Cell]]
    folded: bool = False
    sortable: bool = False
    name: str = ""
    most: int | None = None
    medium: Medium = Medium.BOTH


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing and the table of its numbers, which a terminal shows instead if the figure is for it, too."""

    name: str
    title: str
    drawing: Markup
    caption: str
    table: Table
    medium: Medium = Medium.PAGE


@dataclass(frozen=True, slots=True)
class Line:
    """A labeled line of an answer.

    ``is_warning``: a reason to distrust it. ``is_command``: a command, maybe with a comment; it can be pasted as shown.
    """

    title: str
    text: str
    is_warning: bool = False
    is_command: bool = False


@dataclass(frozen=True, slots=True)
class Lines:
    """Labeled lines, each label in a column of its own if there is room."""

    items: Sequence[Line]
    medium: Medium = Medium.BOTH


@dataclass(frozen=True, slots=True)
class Heading:
    text: str
    medium: Medium = Medium.PAGE


def headed(title: str, items: Iterable[tuple[str, str]], kind: str = "plain") -> Iterator[Heading | Listing]:
    """A list below its heading; nothing without items."""
    if listed := list(items):
        yield Heading(title, Medium.BOTH)
        yield Listing(listed, kind)


Block: TypeAlias = Paragraph | Listing | Lines | Code | Table | Figure | Heading


def for_page(blocks: Iterable[Block]) -> Iterator[Block]:
    """These blocks, none of them for a terminal."""
    return (replace(block, medium=Medium.PAGE) for block in blocks)


def is_for(block: Block, medium: Medium) -> bool:
    if isinstance(block, Listing | Lines) and not block.items:
        return False
    return block.medium in (medium, Medium.BOTH)


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
        is_alarm: whether there is no answer.
        sections: in order.
        marker: what the file's first line says, so that tdelta knows its own files.
        footer: a closing line.
        is_compact: whether it is printed small, to be handed on as few sheets.
    """

    title: str
    eyebrow: str
    headline: str
    is_alarm: bool
    sections: Sequence[Section]
    marker: str
    footer: str = ""
    is_compact: bool = False

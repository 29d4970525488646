"""Blocks as text: the same characters for a pipe, a terminal and a golden file, colors only on request."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tdelta.document.blocks import Block, Cell, Code, Figure, Heading, Line, Lines, Listing, Medium, Paragraph, is_for
from tdelta.document.blocks import Table as BlockTable
from tdelta.document.quantities import printable, wrap, wrap_command

DEFAULT_WIDTH = 100

_NARROWEST = 40
"""Columns that text is laid out for at least."""

_ROOM_FOR_TABLES = 80
"""Below so many columns a table that does not fit is listed; from there on its texts fold within their columns."""

_UNBOUNDED = 1000

_KINDS = {"lead": "bold", "note": "dim", "caution": "yellow", "alarm": "bold red"}
_DECISIONS = {
    "slower": "bold yellow",
    "over": "bold red",
    "negligible": "bold green",
    "within": "bold green",
    "faster": "bold cyan",
    "undecided": "bold magenta",
    "invalid": "bold white on red",
}
_LISTINGS = {"cautions": "yellow", "facts": "dim", "faults": "red"}
_BULLETS = ("cautions", "faults")
_SET_OFF = (BlockTable, Figure, Lines, Code)
_MARKS = {"FAILED": "bold red", "warning": "yellow", "not shown": "yellow"}
_WITHIN = 78
"""Columns that an answer needs, however wide the terminal is."""

_BESIDE_FROM = 60
"""Columns from which on texts have their labels beside them."""
_STATES = {"good": "green", "bad": "bold red", "strong": "bold", "quiet": "dim"}


def draw(blocks: Iterable[Block], width: int = DEFAULT_WIDTH, *, color: bool = False) -> str:
    """Blocks as text without trailing blanks.

    Args:
        width: columns; at least 40 are used.
    """
    width = max(_NARROWEST, width)
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=color,
        force_jupyter=False,
        color_system="standard" if color else None,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
        _environ={},
    )
    for part in _parts(blocks, width):
        console.print(part, soft_wrap=isinstance(part, Text))
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())


def _parts(blocks: Iterable[Block], width: int) -> Iterator[Text | Table]:
    """Answers, headings, tables and commands have a blank line around or before them; a heading's table has none."""
    before: Block | None = None
    for block in blocks:
        drawn = _drawn(block, width) if is_for(block, Medium.TERMINAL) else []
        if not drawn:
            continue
        is_set_off = isinstance(block, Heading) or (isinstance(block, _SET_OFF) and not isinstance(before, Heading))
        if before is not None and (is_set_off or _is_apart(before)):
            yield Text()
        yield from drawn
        before = block


def _is_apart(block: Block) -> bool:
    """Whether a blank line follows."""
    return isinstance(block, _SET_OFF) or (isinstance(block, Listing) and block.kind in _BULLETS)


def _drawn(block: Block, width: int) -> list[Text | Table]:
    match block:
        case Paragraph(kind="answer"):
            return _answer(block, min(width, _WITHIN))
        case Paragraph():
            return [*_paragraph(block.text, width, _KINDS.get(block.kind, ""))]
        case Heading():
            return [*_paragraph(block.text, width, "dim")]
        case Code():
            text = printable(block.text)
            return [Text(f"{block.label}: {text}" if block.label else f"  {text}", "cyan")]
        case Lines():
            return _lines(block.items, min(width, _WITHIN))
        case Listing(kind="checks"):
            room = max((len(mark) for mark, _ in block.items), default=0) + 2
            return [
                line
                for mark, text in block.items
                for line in _paragraph(f"{mark:<{room}}{text}", width, _MARKS.get(mark, ""), indent=" " * room)
            ]
        case Listing():
            style, bullet = _LISTINGS.get(block.kind, ""), "- " if block.kind in _BULLETS else ""
            return [line for _, text in block.items for line in _item(f"{bullet}{text}", width, style)]
        case BlockTable():
            return _table(block, width)
        case Figure():
            return _table(block.table, width)
    return []


def _item(text: str, width: int, style: str) -> list[Text]:
    """An item of a list, whose folded lines are indented further than its first."""
    return _paragraph(text, width, style, indent=" " * (len(text) - len(text.lstrip()) + 2))


def _answer(block: Paragraph, width: int) -> list[Text | Table]:
    """The verdict word in its color; the rest as it is."""
    word, colon, _ = block.text.partition(":")
    first, *others = _paragraph(block.text, width)
    if colon:
        first.stylize(_DECISIONS.get(block.state, "bold"), 0, len(word))
    return [first, *others]


def _lines(given: Sequence[Line], width: int) -> list[Text | Table]:
    """Each line after its label; below it in a narrow terminal. The same label is shown once."""
    room = max((len(line.title) for line in given), default=0) + 2
    parts: list[Text | Table] = []
    before = ""
    for line in given:
        style = "yellow" if line.is_warning else ""
        if width < _BESIDE_FROM:
            parts += _paragraph(f"{line.title}: {line.text}", width, style, indent="  ")
            continue
        title = "" if line.title == before else line.title
        folded = wrap_command(line.text, width - room) if line.is_command else wrap(line.text, width - room)
        for at, text in enumerate(folded):
            parts.append(Text.assemble((f"{title if at == 0 else '':<{room}}", "dim"), (text, style)))
        before = line.title
    return parts


def _table(block: BlockTable, width: int) -> list[Text | Table]:
    """A table without lines; in a narrow terminal a list instead of one that is wider than it."""
    shown = [at for at, column in enumerate(block.columns) if column.is_brief]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    for at in shown:
        column = block.columns[at]
        title = (block.name if at == 0 else "") or column.title
        is_whole = column.is_number or column.is_whole
        table.add_column(title, justify="right" if column.is_number else "left", no_wrap=is_whole)
    indent = "  " if any(len(row) == 1 for row in block.rows) else ""
    for row in block.rows[: block.most]:
        if len(row) == 1:
            table.add_row(_cell(row[0], style="bold"))
        else:
            table.add_row(_cell(row[0], indent), *(_cell(row[at]) for at in shown[1:]))
    if _width(table) > width:
        table.padding = (0, 1, 0, 0)
        if width < _ROOM_FOR_TABLES and _width(table) > width:
            return [*_listed(table, width)]
    more = 0 if block.most is None else len(block.rows) - block.most
    return [table, *([Text(f"and {more} more: --json lists them all", "dim")] if more > 0 else [])]


def _cell(cell: str | Cell, indent: str = "", style: str = "") -> Text:
    if isinstance(cell, str):
        return Text(indent + printable(cell), style=style)
    text = printable(cell.text if cell.brief is None else cell.brief)
    return Text(indent + text, style=style or _STATES.get(cell.state) or _DECISIONS.get(cell.state, ""))


def _width(table: Table) -> int:
    """The columns that a table takes if nothing of it is folded."""
    return Console(width=_UNBOUNDED, force_jupyter=False).measure(table).maximum


def _listed(table: Table, width: int) -> Iterator[Text]:
    """A table row by row: its first cell, and below it the others, each after its heading."""
    headings = [str(column.header) for column in table.columns]
    for row, cells in zip(table.rows, zip(*(column.cells for column in table.columns), strict=True), strict=True):
        style = str(row.style or "")
        if first := str(cells[0]):
            yield from _paragraph(first, width, style, indent="  ")
        for heading, cell in zip(headings[1:], cells[1:], strict=True):
            if text := str(cell).strip():
                own = str(cell.style or style) if isinstance(cell, Text) else style
                yield from _paragraph(f"  {heading}  {text}" if heading else f"  {text}", width, own, indent="    ")


def _paragraph(text: str, width: int, style: str = "", indent: str = "") -> list[Text]:
    return [Text(line, style=style) for line in wrap(text, width, indent)]

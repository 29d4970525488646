"""Blocks and rich parts as text: the same characters for a pipe, a terminal and a golden file."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tdelta.document.blocks import Block, Cell, Figure, Heading, Line, Lines, Listing, Medium, Paragraph, is_for
from tdelta.document.blocks import Table as BlockTable
from tdelta.document.quantities import printable, wrap, wrap_command

NARROWEST = 40
"""Columns that text is laid out for at least."""

_ROOM_FOR_TABLES = 80
"""Below so many columns a table that does not fit is listed; from there on its texts fold within their columns."""

_UNBOUNDED = 1000

_KINDS = {"note": "dim", "caution": "yellow", "alarm": "bold red"}
_DECISIONS = {
    "slower": "bold yellow",
    "over": "bold red",
    "negligible": "bold green",
    "within": "bold green",
    "faster": "bold cyan",
    "undecided": "bold magenta",
    "invalid": "bold white on red",
}
_LISTINGS = {"cautions": "yellow", "facts": "dim"}
_MARKS = {"FAILED": "bold red", "not shown": "yellow"}
_WITHIN = 78
"""Columns that an answer needs, however wide the terminal is."""

_BESIDE_FROM = 60
"""Columns from which on texts have their labels beside them."""
_STATES = {"bad": "bold white on red", "strong": "bold"}


def draw(parts: Iterable[Text | Table], width: int, *, color: bool) -> str:
    """Turn rich parts into text of ``width`` columns without trailing blanks."""
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
    for part in _fitting(parts, width):
        console.print(part, soft_wrap=isinstance(part, Text))
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())


def parts_of(blocks: Iterable[Block], width: int) -> list[Text | Table]:
    """What a terminal shows of blocks: an answer, a heading and a table have a blank line around or before them."""
    parts: list[Text | Table] = []
    is_apart = False
    for block in blocks:
        drawn = _drawn(block, width) if is_for(block, Medium.TERMINAL) else []
        if not drawn:
            continue
        is_set_off = isinstance(drawn[0], Table) or isinstance(block, Heading | Lines)
        if parts and (is_apart or is_set_off):
            parts.append(Text())
        parts += drawn
        is_apart = isinstance(drawn[-1], Table) or isinstance(block, Lines)
    return parts


def _drawn(block: Block, width: int) -> list[Text | Table]:
    match block:
        case Paragraph(kind="answer"):
            return _answer(block, min(width, _WITHIN))
        case Paragraph():
            return [*paragraph(block.text, width, _KINDS.get(block.kind, ""))]
        case Heading():
            return [*paragraph(block.text, width, "dim")]
        case Lines():
            return _lines(block.items, min(width, _WITHIN))
        case Listing(kind="checks"):
            room = max((len(mark) for mark, _ in block.items), default=0) + 2
            return [
                line
                for mark, text in block.items
                for line in paragraph(f"{mark:<{room}}{text}", width, _MARKS.get(mark, ""), indent=" " * room)
            ]
        case Listing():
            style, bullet = _LISTINGS.get(block.kind, ""), "- " if block.kind == "cautions" else ""
            return [line for _, text in block.items for line in paragraph(f"{bullet}{text}", width, style, indent="  ")]
        case BlockTable():
            return [_table(block, width)]
        case Figure():
            return [_table(block.table, width)]
    return []


def _answer(block: Paragraph, width: int) -> list[Text | Table]:
    """The verdict word in its color; the rest as it is."""
    word, colon, _ = block.text.partition(":")
    first, *others = paragraph(block.text, width)
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
            parts += paragraph(f"{line.title}: {line.text}", width, style, indent="  ")
            continue
        title = "" if line.title == before else line.title
        folded = wrap_command(line.text, width - room) if line.is_command else wrap(line.text, width - room)
        for at, text in enumerate(folded):
            parts.append(Text.assemble((f"{title if at == 0 else '':<{room}}", "dim"), (text, style)))
        before = line.title
    return parts


def _table(block: BlockTable, width: int) -> Table:
    shown = [at for at, column in enumerate(block.columns) if column.is_brief]
    titles = [(block.columns[at].title, block.columns[at].is_number) for at in shown[1:]]
    table = plain_table([(block.name or block.columns[0].title, False), *titles])
    indent = "  " if any(len(row) == 1 for row in block.rows) else ""
    for row in block.rows[: block.most]:
        if len(row) == 1:
            table.add_row(_cell(row[0], style="bold"))
        else:
            table.add_row(_cell(row[0], indent), *(_cell(row[at]) for at in shown[1:]))
    if measured(table) > width:
        table.padding = (0, 1, 0, 0)
    return table


def _cell(cell: str | Cell, indent: str = "", style: str = "") -> Text:
    if isinstance(cell, str):
        return Text(indent + printable(cell), style=style)
    text = printable(cell.text if cell.brief is None else cell.brief)
    return Text(indent + text, style=style or _STATES.get(cell.state) or _DECISIONS.get(cell.state, ""))


def measured(table: Table) -> int:
    """The columns that a table takes if nothing of it is folded."""
    return Console(width=_UNBOUNDED, force_jupyter=False).measure(table).maximum


def _fitting(parts: Iterable[Text | Table], width: int) -> Iterator[Text | Table]:
    """The parts; in a narrow terminal, lists instead of tables that are wider than it."""
    for part in parts:
        if isinstance(part, Table) and width < _ROOM_FOR_TABLES and measured(part) > width:
            yield from _listed(part, width)
        else:
            yield part


def _listed(table: Table, width: int) -> Iterator[Text]:
    """A table row by row: its first cell, and below it the others, each after its heading."""
    headings = [str(column.header) for column in table.columns]
    for row, cells in zip(table.rows, zip(*(column.cells for column in table.columns), strict=True), strict=True):
        style = str(row.style or "")
        if first := str(cells[0]):
            yield from paragraph(first, width, style, indent="  ")
        for heading, cell in zip(headings[1:], cells[1:], strict=True):
            if text := str(cell).strip():
                own = str(cell.style or style) if isinstance(cell, Text) else style
                yield from paragraph(f"  {heading}  {text}" if heading else f"  {text}", width, own, indent="    ")


def plain_table(headings: Iterable[tuple[str, bool]]) -> Table:
    """A table without lines; each heading says whether its column holds numbers (to the right, never folded)."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    for title, is_number in headings:
        table.add_column(title, justify="right" if is_number else "left", no_wrap=is_number)
    return table


def bar(
    spans: Iterable[tuple[tuple[float, float], str]],
    at: float,
    axis: tuple[float, float],
    columns: int,
    mark: str = "●",
) -> str:
    """Spans on an axis, each in its own character over those before it, and a mark; what is outside, at the edge.

    Args:
        spans: from where to where, and the character.
        at: where the mark is.
        axis: the values at the left and the right end.
        columns: characters to use.
        mark: the character at ``at``.
    """
    cells = [" "] * columns

    def column(value: float) -> int:
        return round((min(max(value, axis[0]), axis[1]) - axis[0]) / (axis[1] - axis[0]) * (columns - 1))

    for (low, high), character in spans:
        left, right = column(low), column(high)
        cells[left : right + 1] = character * (right - left + 1)
    cells[column(at)] = mark
    return "".join(cells)


def paragraph(text: str, width: int, style: str = "", indent: str = "") -> list[Text]:
    return [Text(line, style=style) for line in wrap(text, width, indent)]

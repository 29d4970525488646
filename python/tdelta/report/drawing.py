"""Blocks and rich parts as text: the same characters for a pipe, a terminal and a golden file."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tdelta.report.page.blocks import Block, Cell, Figure, Listing, Medium, Paragraph, is_for
from tdelta.report.page.blocks import Table as BlockTable
from tdelta.report.quantities import wrap

NARROWEST = 40
"""Columns that text is laid out for at least."""

_ROOM_FOR_TABLES = 80
"""Below so many columns a table that does not fit is listed; from there on its texts fold within their columns."""

_UNBOUNDED = 1000

_KINDS = {"lead": "bold", "note": "dim", "caution": "yellow", "alarm": "bold red"}
_STATES = {"bad": "bold white on red"}


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
    """What a terminal shows of blocks: a table has blank lines around it."""
    parts: list[Text | Table] = []
    for block in blocks:
        drawn = _drawn(block, width) if is_for(block, Medium.TERMINAL) else []
        if parts and drawn and (isinstance(parts[-1], Table) or isinstance(drawn[0], Table)):
            parts.append(Text())
        parts += drawn
    return parts


def _drawn(block: Block, width: int) -> list[Text | Table]:
    match block:
        case Paragraph():
            return [*paragraph(block.text, width, _KINDS.get(block.kind, ""))]
        case Listing():
            return [line for _, text in block.items for line in paragraph(text, width, indent="  ")]
        case BlockTable():
            return [_table(block, width)]
        case Figure():
            return [_table(block.table, width)]
    return []


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
        return Text(indent + cell, style=style)
    text = cell.text if cell.brief is None else cell.brief
    return Text(indent + text, style=style or _STATES.get(cell.state, ""))


def measured(table: Table) -> int:
    """The columns that a table takes if nothing of it is folded."""
    return Console(width=_UNBOUNDED, force_jupyter=False).measure(table).maximum


def narrowest(table: Table) -> int:
    """The columns that a table takes if texts fold wherever they may."""
    return Console(width=_UNBOUNDED, force_jupyter=False).measure(table).minimum


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

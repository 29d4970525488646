"""Turning rich parts into text: the same characters for a pipe, a terminal and a golden file."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tdelta.report.quantities import wrap


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
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, Text))
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())


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
    """A folded paragraph, one styled line an item."""
    return [Text(line, style=style) for line in wrap(text, width, indent)]

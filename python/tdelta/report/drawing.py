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


def paragraph(text: str, width: int, style: str = "", indent: str = "") -> list[Text]:
    """A folded paragraph, one styled line an item."""
    return [Text(line, style=style) for line in wrap(text, width, indent)]

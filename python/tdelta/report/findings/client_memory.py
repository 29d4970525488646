"""The client's memory beside its fetch size or way of loading: a row for each condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from tdelta.records import ClientMemory, RunResult
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.labels import condition_label
from tdelta.report.page.blocks import Block, Column, Paragraph
from tdelta.report.page.blocks import Table as PageTable
from tdelta.report.page.wording import label
from tdelta.report.quantities import amounts

_NOTE = (
    "The largest resident set of the client's process in a trial, with its interpreter and driver, and the response"
    " time of one operation, medians over the trials. Memory is measured, and decides nothing."
)
_COLUMNS = ("trials", "peak memory", "response time")


def text(result: RunResult, width: int) -> list[Text | Table]:
    """The table with its note; nothing where the run did not vary how the client holds rows."""
    found = result.of(ClientMemory)
    if not found:
        return []
    table = plain_table((("Client memory", False), *((name, True) for name in _COLUMNS)))
    for one, cells in zip(found, _cells(found), strict=True):
        table.add_row(condition_label(one.condition, result.settings), *cells)
    return [table, Text(), *paragraph(_NOTE, width, "dim")]


def blocks(result: RunResult) -> list[Block]:
    found = result.of(ClientMemory)
    if not found:
        return []
    headings = [Column(""), *(Column(name, is_number=True) for name in _COLUMNS)]
    rows = [(label(one.condition, result.settings), *cells) for one, cells in zip(found, _cells(found), strict=True)]
    return [Paragraph(_NOTE), PageTable("Client memory, by condition", headings, rows)]


def _cells(found: Sequence[ClientMemory]) -> Iterator[tuple[str, str, str]]:
    """Trials, memory and time; a column has one unit, so that rows compare."""
    peaks = amounts([one.peak_rss_bytes.median for one in found], "bytes")
    times = amounts([one.response_us.median for one in found], "µs")
    return ((f"{one.trials:,}", peak, time) for one, peak, time in zip(found, peaks, times, strict=True))

"""The client's memory beside its fetch size or way of loading: a row for each condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tdelta.document.blocks import Block, Paragraph, Table, columns
from tdelta.document.quantities import amounts
from tdelta.document.wording import label
from tdelta.records import ClientMemory, RunResult

_NOTE = (
    "The largest resident set of the client's process in a trial, with its interpreter and driver, and the response"
    " time of one operation, medians over the trials. Memory is measured, and decides nothing."
)


def blocks(result: RunResult) -> list[Block]:
    """A row for each condition; nothing where the run did not vary how the client holds rows."""
    found = result.of(ClientMemory)
    if not found:
        return []
    titles = columns("trials", "peak memory", "response time")
    rows = [(label(one.condition, result.settings), *cells) for one, cells in zip(found, _cells(found), strict=True)]
    return [Table("Client memory, by condition", titles, rows, name="Client memory"), Paragraph(_NOTE, "note")]


def _cells(found: Sequence[ClientMemory]) -> Iterator[tuple[str, str, str]]:
    """Trials, memory and time; a column has one unit, so that rows compare."""
    peaks = amounts([one.peak_rss_bytes.median for one in found], "bytes")
    times = amounts([one.response_us.median for one in found], "µs")
    return ((f"{one.trials:,}", peak, time) for one, peak, time in zip(found, peaks, times, strict=True))

"""The checkpoint that follows a trial: how long it took, what it wrote, and both over the plain twins'."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from tdelta.records import CheckpointMeasure, Estimate, RunResult
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.labels import condition_label
from tdelta.report.page.blocks import Block, Column, Paragraph
from tdelta.report.page.blocks import Table as PageTable
from tdelta.report.page.wording import label
from tdelta.report.quantities import MISSING, amounts, ratio_cells
from tdelta.report.sentence import limits

_NOTE = (
    "Medians over the trials. What a trial leaves to be written is written after it, in no response time: on servers"
    " until they are at rest. Over plain is the ratio of means in the same blocks, from sixteen blocks on; nothing is"
    " decided on it."
)
_TITLES = ("time", "over plain", "95 % HDI", "written", "over plain")


def text(result: RunResult, width: int) -> list[Text | Table]:
    """The table with its note; nothing where no trial left anything to be written."""
    found = _shown(result)
    if not found:
        return []
    table = plain_table((("checkpoint after a trial", False), *((title, True) for title in _TITLES)))
    table.padding = (0, 1, 0, 0)
    for one in found:
        table.add_row(condition_label(one.condition, result.settings), *_cells(one, result)[:-1])
    return [table, Text(), *paragraph(_NOTE, width, "dim")]


def blocks(result: RunResult) -> list[Block]:
    """The same for the page, with the interval of what was written."""
    found = _shown(result)
    if not found:
        return []
    columns = [Column(""), *(Column(title, is_number=True) for title in (*_TITLES, "95 % HDI"))]
    rows = [(label(one.condition, result.settings), *_cells(one, result)) for one in found]
    return [PageTable("The checkpoint after a trial", columns, rows), Paragraph(_NOTE, "note")]


def _shown(result: RunResult) -> Sequence[CheckpointMeasure]:
    """All of them, unless none wrote anything."""
    found = result.of(CheckpointMeasure)
    wrote = any(one.written_bytes is None or one.written_bytes.median > 0 for one in found)
    return found if wrote else ()


def _cells(one: CheckpointMeasure, result: RunResult) -> tuple[str, ...]:
    (took,) = amounts((1e6 * one.seconds.median,), "µs")
    written = MISSING if one.written_bytes is None else amounts((one.written_bytes.median,), "bytes")[0]
    return (took, *_ratio(one.time_ratio, result), written, *_ratio(one.written_ratio, result))


def _ratio(ratio: Estimate | None, result: RunResult) -> tuple[str, str]:
    return (MISSING, MISSING) if ratio is None else ratio_cells(ratio, limits(result.settings))

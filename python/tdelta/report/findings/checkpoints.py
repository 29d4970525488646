"""The checkpoint that follows a trial: how long it took, what it wrote, and both over the plain twins'."""

from __future__ import annotations

from collections.abc import Sequence

from tdelta.records import CheckpointMeasure, Estimate, RunResult
from tdelta.report.page.blocks import Block, Column, Paragraph, Table, columns
from tdelta.report.page.wording import label
from tdelta.report.quantities import MISSING, amounts, ratio_cells
from tdelta.report.sentence import limits

_NOTE = (
    "Medians over the trials. What a trial leaves to be written is written after it, in no response time: on servers"
    " until they are at rest. Over plain is the ratio of means in the same blocks, from sixteen blocks on; nothing is"
    " decided on it."
)
_TITLES = ("time", "over plain", "95 % HDI", "written", "over plain")


def blocks(result: RunResult) -> list[Block]:
    """A row for each condition; nothing where no trial left anything to be written."""
    found = _shown(result)
    if not found:
        return []
    titles = [*columns(*_TITLES), Column("95 % HDI", is_number=True, is_brief=False)]
    rows = [(label(one.condition, result.settings), *_cells(one, result)) for one in found]
    table = Table("The checkpoint after a trial", titles, rows, name="checkpoint after a trial")
    return [table, Paragraph(_NOTE, "note")]


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

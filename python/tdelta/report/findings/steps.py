"""Loads, rebuilds and checkpoints: how long, how many rows and bytes per second, and what the files take."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from tdelta.document.blocks import Block, Cell, Column, Medium, Paragraph, Table, columns
from tdelta.document.effect import limits
from tdelta.document.quantities import MISSING, amounts, rate, ratio_cells
from tdelta.document.wording import label
from tdelta.records import CheckpointMeasure, Estimate, RunResult, StepMeasure, Typical

_CHECKPOINT_NOTE = (
    "Medians over the trials. What a trial leaves to be written is written after it, in no response time: on servers"
    " until they are at rest. Over plain is the ratio of means in the same blocks, from sixteen blocks on; nothing is"
    " decided on it."
)
_TITLES = ("time", "over plain", "95% interval", "written", "over plain")


def checkpoint_blocks(result: RunResult) -> list[Block]:
    """A row for each condition; nothing where no trial left anything to be written."""
    found = _shown(result)
    if not found:
        return []
    titles = [*columns(*_TITLES), Column("95% interval", is_number=True, is_brief=False)]
    rows = [(label(one.condition, result.settings), *_checkpoint_cells(one, result)) for one in found]
    table = Table("The checkpoint after a trial", titles, rows, name="checkpoint after a trial")
    return [table, Paragraph(_CHECKPOINT_NOTE, "note")]


def _shown(result: RunResult) -> Sequence[CheckpointMeasure]:
    """All of them, unless none wrote anything."""
    found = result.of(CheckpointMeasure)
    wrote = any(one.written_bytes is None or one.written_bytes.median > 0 for one in found)
    return found if wrote else ()


def _checkpoint_cells(one: CheckpointMeasure, result: RunResult) -> tuple[str, ...]:
    (took,) = amounts((1e6 * one.seconds.median,), "µs")
    written = MISSING if one.written_bytes is None else amounts((one.written_bytes.median,), "bytes")[0]
    return (took, *_ratio(one.time_ratio, result), written, *_ratio(one.written_ratio, result))


def _ratio(ratio: Estimate | None, result: RunResult) -> tuple[str, str]:
    return (MISSING, MISSING) if ratio is None else ratio_cells(ratio, limits(result.settings))


_NOTE = (
    "Medians over the trials, each one load or one rebuild of all rows. CPU is the database's; written is what it asked"
    " the system to write, logs and all; files is what they take afterwards."
)


def blocks(result: RunResult) -> list[Block]:
    """What each kind of load or rebuild took, plain and encrypted one below the other; nothing where there is none."""
    if not result.of(StepMeasure):
        return []
    rows: list[Sequence[str | Cell]] = []
    for work, found in groupby(result.of(StepMeasure), key=_work):
        group = list(found)
        rows.append((f"{work} of {group[0].rows:,} rows",))
        rows += [(label(one.condition, result.settings), *_cells(one)) for one in group]
    titles = columns("seconds", "CPU", "rows/s", "written/s", "files")
    quartiles = "Quartiles stand after medians. What this says against plain twins, the verdicts do."
    return [
        Table("Loads and rebuilds, side by side", titles, rows),
        Paragraph(_NOTE, "note"),
        Paragraph(quartiles, "note", Medium.PAGE),
    ]


def _work(measure: StepMeasure) -> str:
    return str(dict(measure.condition.levels).get("work", ""))


def _cells(measure: StepMeasure) -> tuple[str | Cell, ...]:
    return (
        _seconds(measure.seconds),
        _seconds(measure.cpu_seconds),
        rate(measure.rows_per_second.median),
        amounts((measure.written_bytes_per_second.median,), "bytes")[0],
        MISSING if measure.files_bytes is None else amounts((measure.files_bytes,), "bytes")[0],
    )


def _seconds(of: Typical) -> Cell:
    return Cell(f"{of.median:.3g} ({of.low:.3g} … {of.high:.3g})", brief=f"{of.median:.3g}")

"""Loads and rebuilds: how long, how many rows and bytes per second, and what the files take."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from tdelta.records import RunResult, StepMeasure, Typical
from tdelta.report.page.blocks import Block, Cell, Medium, Paragraph, Table, columns
from tdelta.report.page.wording import label
from tdelta.report.quantities import MISSING, amounts, rate

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

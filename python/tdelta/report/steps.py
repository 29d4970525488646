"""Loads and rebuilds in a terminal: how long, how many rows and bytes a second, and what the files take."""

from __future__ import annotations

from itertools import groupby

from rich.table import Table
from rich.text import Text

from tdelta.records import RunResult, StepMeasure
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.labels import condition_label
from tdelta.report.quantities import MISSING, amounts, rate

_NOTE = (
    "Medians over the trials, each one load or one rebuild of all rows. CPU is the database's; written is what it asked"
    " the system to write, logs and all; files is what they take afterwards."
)


def step_lines(result: RunResult, width: int) -> list[Text | Table]:
    """The loads and rebuilds of a run, plain and encrypted one below the other; nothing where it has none."""
    if not result.of(StepMeasure):
        return []
    headings = ("seconds", "CPU", "rows/s", "written/s", "files")
    table = plain_table((("", False), *((name, True) for name in headings)))
    table.padding = (0, 1, 0, 0)
    for work, found in groupby(result.of(StepMeasure), key=_work):
        group = list(found)
        table.add_row(Text(f"{work} of {group[0].rows:,} rows", style="bold"))
        for one in group:
            table.add_row(f"  {condition_label(one.condition, result.settings)}", *_cells(one))
    return [table, Text(), *paragraph(_NOTE, width, "dim")]


def _work(measure: StepMeasure) -> str:
    return str(dict(measure.condition.levels).get("work", ""))


def _cells(measure: StepMeasure) -> tuple[str, ...]:
    (written,) = amounts((measure.written_bytes_per_second.median,), "bytes")
    files = MISSING if measure.files_bytes is None else amounts((measure.files_bytes,), "bytes")[0]
    return (
        f"{measure.seconds.median:.3g}",
        f"{measure.cpu_seconds.median:.3g}",
        rate(measure.rows_per_second.median),
        written,
        files,
    )

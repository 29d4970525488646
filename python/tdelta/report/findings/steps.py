"""Loads and rebuilds: how long, how many rows and bytes per second, and what the files take."""

from __future__ import annotations

from itertools import groupby

from rich.table import Table
from rich.text import Text

from tdelta.records import RunResult, StepMeasure, Typical
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.labels import condition_label
from tdelta.report.page.blocks import Block, Column, Paragraph
from tdelta.report.page.blocks import Table as PageTable
from tdelta.report.page.wording import label
from tdelta.report.quantities import MISSING, amounts, rate

_NOTE = (
    "Medians over the trials, each one load or one rebuild of all rows. CPU is the database's; written is what it asked"
    " the system to write, logs and all; files is what they take afterwards."
)


def text(result: RunResult, width: int) -> list[Text | Table]:
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


_COLUMNS = ("rows", "elapsed, s", "CPU, s", "rows per second", "written per second", "files")


def blocks(result: RunResult) -> list[Block]:
    """What each kind of load or rebuild took, A/A twins included; None where the run has none."""
    if not result.of(StepMeasure):
        return []
    lead = Paragraph(
        "Each trial of these is one load or one rebuild of all rows: medians over the trials, quartiles behind them."
        " CPU is the database's; written is what it asked the system to write, logs and all; files is what they take"
        " afterwards. What this says against the plain twins, the verdicts do."
    )
    rows = [(label(one.condition, result.settings), *_page_cells(one)) for one in result.of(StepMeasure)]
    columns = [Column(""), *(Column(title, is_number=True) for title in _COLUMNS)]
    return [lead, PageTable("Loads and rebuilds, side by side", columns, rows)]


def _page_cells(measure: StepMeasure) -> tuple[str, ...]:
    return (
        f"{measure.rows:,}",
        _seconds(measure.seconds),
        _seconds(measure.cpu_seconds),
        rate(measure.rows_per_second.median),
        amounts((measure.written_bytes_per_second.median,), "bytes")[0],
        MISSING if measure.files_bytes is None else amounts((measure.files_bytes,), "bytes")[0],
    )


def _seconds(of: Typical) -> str:
    return f"{of.median:.3g} ({of.low:.3g} … {of.high:.3g})"

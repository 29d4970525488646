"""Loads and rebuilds on the page."""

from __future__ import annotations

from tdelta.records import RunResult, StepMeasure, Typical
from tdelta.report.page.blocks import Column, Paragraph, Section, Table
from tdelta.report.page.wording import label
from tdelta.report.quantities import MISSING, amounts, rate

_COLUMNS = ("rows", "elapsed, s", "CPU, s", "rows a second", "written a second", "files")


def step_section(result: RunResult) -> Section | None:
    """What each kind of load or rebuild took, A/A twins included; None where the run has none."""
    if not result.of(StepMeasure):
        return None
    lead = Paragraph(
        "Each trial of these is one load or one rebuild of all rows: medians over the trials, quartiles behind them."
        " CPU is the database's; written is what it asked the system to write, logs and all; files is what they take"
        " afterwards. What this says against the plain twins, the verdicts do."
    )
    rows = [(label(one.condition, result.settings), *_cells(one)) for one in result.of(StepMeasure)]
    columns = [Column(""), *(Column(title, is_number=True) for title in _COLUMNS)]
    return Section("steps", "Loads and rebuilds", [lead, Table("Loads and rebuilds, side by side", columns, rows)])


def _cells(measure: StepMeasure) -> tuple[str, ...]:
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

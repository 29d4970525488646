"""Bulk loads and rebuilds: how long, how many rows and bytes per second, and what the files take."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from tdelta.document.blocks import Block, Cell, Medium, Paragraph, Table, columns
from tdelta.document.quantities import MISSING, amounts, rate
from tdelta.document.wording import label, quartiles
from tdelta.findings.base import FinishedRun, Kind
from tdelta.records import Condition, Finding, RunResult, Typical
from tdelta.records.trials import by_condition

ROWS = "rows"
"""The counter that a load or a rebuild has, and no transaction."""

_NOTE = (
    "Medians over the trials, each one load or one rebuild of all rows. CPU is the database's; written is what it asked"
    " the system to write, logs and all; files is what they take afterwards."
)
_QUARTILES = "Quartiles stand after medians. What this says against plain twins, the verdicts do."


@dataclass(frozen=True, slots=True)
class StepMeasure(Finding):
    """The loads, or the rebuilds, of one condition, each a trial.

    ``rows`` are those of all tables, ``cpu_seconds`` the database's; a rate is a second of elapsed time. Written bytes
    are what the database asked the system to write, logs and all. ``files_bytes`` is what its files take afterwards,
    median; None where that is not known.
    """

    FINDING = "steps"

    condition: Condition
    trials: int
    rows: int
    seconds: Typical
    cpu_seconds: Typical
    rows_per_second: Typical
    written_bytes_per_second: Typical
    files_bytes: float | None


def of_run(run: FinishedRun) -> Iterator[StepMeasure]:
    by_key = by_condition(
        t for t in run.trials if ROWS in t.measurement.engine_counters and t.measurement.elapsed_ns > 0
    )
    for condition in run.settings.conditions:
        if measured := by_key.get(condition.key):
            sizes = [sum(m.files_bytes.values()) for m in measured if m.files_bytes]
            yield StepMeasure(
                condition=condition,
                trials=len(measured),
                rows=measured[0].engine_counters[ROWS],
                seconds=Typical.of(m.elapsed_ns / 1e9 for m in measured),
                cpu_seconds=Typical.of(m.cpu_seconds for m in measured),
                rows_per_second=Typical.of(m.engine_counters[ROWS] / (m.elapsed_ns / 1e9) for m in measured),
                written_bytes_per_second=Typical.of(
                    m.usage.syscall_written_bytes / (m.elapsed_ns / 1e9) for m in measured
                ),
                files_bytes=statistics.median(sizes) if sizes else None,
            )


def blocks(found: Sequence[StepMeasure], result: RunResult) -> Iterator[Block]:
    rows: list[Sequence[str | Cell]] = []
    for work, of_work in groupby(found, key=lambda one: str(dict(one.condition.levels).get("work", ""))):
        group = list(of_work)
        rows.append((f"{work} of {group[0].rows:,} rows",))
        rows += [(label(one.condition, result.settings), *_cells(one)) for one in group]
    titles = columns("seconds", "CPU", "rows/s", "written/s", "files")
    yield Table("Loads and rebuilds, side by side", titles, rows)
    yield Paragraph(_NOTE, "note")
    yield Paragraph(_QUARTILES, "note", Medium.PAGE)


def _cells(one: StepMeasure) -> tuple[str | Cell, ...]:
    return (
        quartiles(one.seconds),
        quartiles(one.cpu_seconds),
        rate(one.rows_per_second.median),
        amounts((one.written_bytes_per_second.median,), "bytes")[0],
        MISSING if one.files_bytes is None else amounts((one.files_bytes,), "bytes")[0],
    )


KIND = Kind(StepMeasure, of_run, blocks, "steps", "Bulk loads and rebuilds")

"""What loads and rebuilds took, condition by condition: medians between quartiles."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from tdelta.inference.serving import typical
from tdelta.records import RunSettings, StepMeasure, Trial
from tdelta.records.trials import by_condition

ROWS = "rows"
"""The counter that a load or a rebuild has, and no transaction."""


def step_measures(trials: Iterable[Trial], settings: RunSettings) -> tuple[StepMeasure, ...]:
    """The measures of every condition whose trials are loads or rebuilds, in the design's order."""
    by_key = by_condition(t for t in trials if ROWS in t.measurement.engine_counters and t.measurement.elapsed_ns > 0)
    found = []
    for condition in settings.conditions:
        if measured := by_key.get(condition.key):
            sizes = [sum(m.files_bytes.values()) for m in measured if m.files_bytes]
            found.append(
                StepMeasure(
                    condition=condition,
                    trials=len(measured),
                    rows=measured[0].engine_counters[ROWS],
                    seconds=typical(measured, lambda m: m.elapsed_ns / 1e9),
                    cpu_seconds=typical(measured, lambda m: m.cpu_seconds),
                    rows_per_second=typical(measured, lambda m: m.engine_counters[ROWS] / (m.elapsed_ns / 1e9)),
                    written_bytes_per_second=typical(
                        measured, lambda m: m.usage.syscall_written_bytes / (m.elapsed_ns / 1e9)
                    ),
                    files_bytes=statistics.median(sizes) if sizes else None,
                )
            )
    return tuple(found)

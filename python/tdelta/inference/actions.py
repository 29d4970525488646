"""What actions took, condition by condition: medians between quartiles."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from tdelta.driver.acting import COUNTED, SECONDS
from tdelta.inference.serving import typical
from tdelta.records import ActionMeasure, RunSettings, Trial
from tdelta.records.trials import by_condition


def action_measures(trials: Iterable[Trial], settings: RunSettings) -> tuple[ActionMeasure, ...]:
    """The measures of every condition whose trials are actions, or have one beside them, in the design's order."""
    by_key = by_condition(t for t in trials if SECONDS in t.measurement.engine_counters)
    found = []
    for condition in settings.conditions:
        if measured := by_key.get(condition.key):
            levels = dict(condition.levels)
            during = levels.get("during")
            names = [n for n in measured[0].engine_counters if n.startswith(COUNTED) and n != SECONDS]
            found.append(
                ActionMeasure(
                    condition=condition,
                    action=str(levels["work"] if during is None else during),
                    trials=len(measured),
                    seconds=typical(measured, lambda m: m.engine_counters[SECONDS] / 1e9),
                    load_seconds=None if during is None else typical(measured, lambda m: m.elapsed_ns / 1e9),
                    cpu_seconds=typical(measured, lambda m: m.cpu_seconds),
                    written_bytes=typical(measured, lambda m: float(m.usage.asked_written_bytes)),
                    counted={
                        name.removeprefix(COUNTED): float(
                            statistics.median(m.engine_counters.get(name, 0) for m in measured)
                        )
                        for name in names
                    },
                )
            )
    return tuple(found)

"""Replicas: how fast they apply, how far they are after a load, and both over the plain twins' replicas.

The ratios are fitted as the verdicts' costs are, from the same blocks, and decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tdelta.inference.described import described_ratios
from tdelta.inference.serving import typical
from tdelta.records import Measurement, ReplicationMeasure, RunSettings, Trial
from tdelta.records.replication import APPLY_NS, CPU_NS, LAG_BYTES, LAG_NS, LOG_BYTES, UNCONFIRMED
from tdelta.records.trials import by_condition

_TIME, _CPU = "time", "cpu"


def _count(name: str) -> Callable[[Measurement], float]:
    return lambda measured: float(measured.engine_counters.get(name, 0))


_COSTS: Mapping[str, Callable[[Measurement], float]] = {
    _TIME: lambda measured: float(measured.engine_counters.get(APPLY_NS, measured.engine_counters.get(LAG_NS, 0))),
    _CPU: _count(CPU_NS),
}


def replication_measures(trials: Iterable[Trial], settings: RunSettings) -> tuple[ReplicationMeasure, ...]:
    """The measures of every condition whose primary has a replica, in the design's order."""
    found = tuple(trial for trial in trials if LOG_BYTES in trial.measurement.engine_counters)
    if not found:
        return ()
    by_key = by_condition(found)
    ratios = described_ratios(found, settings, _COSTS)
    measures = []
    for condition in settings.conditions:
        if measured := by_key.get(condition.key):
            applied = _having(measured, APPLY_NS)
            lagged = _having(measured, LAG_NS)
            measures.append(
                ReplicationMeasure(
                    condition=condition,
                    mode=str(condition.level("replication")),
                    trials=len(measured),
                    response_seconds=typical(measured, lambda m: m.response_ns / 1e9),
                    load_rate=typical(measured, lambda m: m.operations / max(1, m.elapsed_ns) * 1e9),
                    apply_rate=typical(applied, _applied_a_second) if applied else None,
                    lag_bytes=typical(lagged, _count(LAG_BYTES)) if lagged else None,
                    lag_seconds=typical(lagged, lambda m: m.engine_counters[LAG_NS] / 1e9) if lagged else None,
                    log_bytes=typical(measured, _per_operation(LOG_BYTES)),
                    cpu_seconds=typical(measured, lambda m: _per_operation(CPU_NS)(m) / 1e9),
                    time_ratio=ratios.get((_TIME, condition.key)),
                    cpu_ratio=ratios.get((_CPU, condition.key)),
                    unconfirmed=sum(m.engine_counters.get(UNCONFIRMED, 0) for m in measured),
                )
            )
    return tuple(measures)


def _having(measured: Sequence[Measurement], counter: str) -> list[Measurement]:
    return [m for m in measured if counter in m.engine_counters]


def _applied_a_second(measured: Measurement) -> float:
    return measured.counted_operations / max(1, measured.engine_counters[APPLY_NS]) * 1e9


def _per_operation(counter: str) -> Callable[[Measurement], float]:
    return lambda m: m.engine_counters.get(counter, 0) / max(1, m.counted_operations)

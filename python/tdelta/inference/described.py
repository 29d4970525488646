"""Ratios of costs that are described and never judged, fitted as the verdicts' costs are, from the same blocks."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from tdelta.inference.cautions import FEWEST_BLOCKS
from tdelta.inference.costs import panels
from tdelta.inference.fits import fit_named
from tdelta.inference.serving import typical
from tdelta.records import (
    CheckpointMeasure,
    Estimate,
    Measurement,
    ReplicationMeasure,
    RunSettings,
    StepMeasure,
    Trial,
)
from tdelta.records.serving import APPLY_NS, CPU_NS, LAG_BYTES, LAG_NS, LOG_BYTES, UNCONFIRMED
from tdelta.records.trials import by_condition

# Replicas: how fast they apply, how far they are after a load, and both over the plain twins' replicas.
#
# The ratios are fitted as the verdicts' costs are, from the same blocks, and decide nothing.

_APPLY_TIME, _CPU = "time", "cpu"


def _count(name: str) -> Callable[[Measurement], float]:
    return lambda measured: float(measured.engine_counters.get(name, 0))


_REPLICATION_COSTS: Mapping[str, Callable[[Measurement], float]] = {
    _APPLY_TIME: lambda measured: float(
        measured.engine_counters.get(APPLY_NS, measured.engine_counters.get(LAG_NS, 0))
    ),
    _CPU: _count(CPU_NS),
}


def replication_measures(trials: Iterable[Trial], settings: RunSettings) -> tuple[ReplicationMeasure, ...]:
    """The measures of every condition whose primary has a replica, in the design's order."""
    found = tuple(trial for trial in trials if LOG_BYTES in trial.measurement.engine_counters)
    if not found:
        return ()
    by_key = by_condition(found)
    ratios = described_ratios(found, settings, _REPLICATION_COSTS)
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
                    time_ratio=ratios.get((_APPLY_TIME, condition.key)),
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


# The checkpoint that follows a trial: how long it took and what it wrote, beside the plain twins'.
#
# The ratios are fitted as the verdicts' costs are, from the same blocks, and decide nothing. A block counts
# where all of its twins had something to write; they did the same work, so that is so of all or of none. On a
# server the time has steps of 20 ms where coming to rest is waited for, and holds whatever the engine does at
# its own pace.

_TIME, _WRITTEN = "time", "written"
_COSTS: Mapping[str, Callable[[Measurement], float]] = {
    _TIME: lambda measured: float(measured.checkpoint.ns),
    _WRITTEN: lambda measured: float(measured.checkpoint.written_bytes or 0),
}


def checkpoint_measures(trials: Iterable[Trial], settings: RunSettings) -> tuple[CheckpointMeasure, ...]:
    """The checkpoints of every condition that had any, in the design's order."""
    found = tuple(trials)
    by_key = by_condition(found)
    had = {key: [m for m in measured if m.checkpoint.ns > 0] for key, measured in by_key.items()}
    if not any(had.values()):
        return ()
    ratios = described_ratios(found, settings, _COSTS)
    return tuple(
        CheckpointMeasure(
            condition=condition,
            trials=len(by_key[condition.key]),
            checkpoints=len(measured),
            seconds=typical(measured, lambda m: m.checkpoint.ns / 1e9),
            written_bytes=typical(written, _COSTS[_WRITTEN]) if (written := _counted(measured)) else None,
            time_ratio=ratios.get((_TIME, condition.key)),
            written_ratio=ratios.get((_WRITTEN, condition.key)),
        )
        for condition in settings.conditions
        if (measured := had.get(condition.key))
    )


def _counted(measured: Sequence[Measurement]) -> list[Measurement]:
    return [m for m in measured if m.checkpoint.written_bytes is not None]


def described_ratios(
    trials: Sequence[Trial], settings: RunSettings, costs: Mapping[str, Callable[[Measurement], float]]
) -> dict[tuple[str, str], Estimate]:
    """Each cost over the plain twins', of judged conditions in strata with enough blocks.

    Args:
        trials: of the run.
        settings: the run's.
        costs: by name, what a trial cost; a block in which any trial cost nothing is left out.

    Returns:
        By cost and the condition's key.
    """
    return {
        (name, answer.condition.key): answer.posterior.estimate(settings.tolerance)
        for name, fit in fit_named(panels(trials, settings), costs).items()
        for answer in fit.answers()
        if answer.condition.role.is_judged and int(answer.fitted.blocks.sum()) >= FEWEST_BLOCKS
    }

"""The checkpoint that follows a trial: how long it took and what it wrote, beside the plain twins'.

The ratios are fitted as the verdicts' costs are, from the same blocks, and decide nothing. A block counts where all of
its twins had something to write; they did the same work, so that is so of all or of none. On a server the time has
steps of 20 ms where coming to rest is waited for, and holds whatever the engine does at its own pace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tdelta.inference.described import described_ratios
from tdelta.inference.serving import typical
from tdelta.records import CheckpointMeasure, Measurement, RunSettings, Trial
from tdelta.records.trials import by_condition

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

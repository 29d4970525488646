"""What servers use while they run without any work: background work that no trial is charged with."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tdelta.inference.serving import typical_of
from tdelta.records import Condition, IdleMeasure


@dataclass(frozen=True, slots=True)
class IdleUse:
    """What one server used in so many seconds without work."""

    seconds: float
    cpu_seconds: float
    written_bytes: int


def idle_measures(found: Mapping[str, Sequence[IdleUse]], conditions: Iterable[Condition]) -> tuple[IdleMeasure, ...]:
    """The idle servers of every condition that were looked at, in the design's order.

    Args:
        found: by the condition's key, one for each round.
        conditions: of the run.
    """
    return tuple(
        IdleMeasure(
            condition=condition,
            rounds=len(uses),
            seconds=statistics.median(use.seconds for use in uses),
            cpu_share=typical_of([use.cpu_seconds / use.seconds for use in uses]),
            written_bytes_per_second=typical_of([use.written_bytes / use.seconds for use in uses]),
        )
        for condition in conditions
        if (uses := found.get(condition.key))
    )

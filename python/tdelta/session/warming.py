"""Whether a cache has come to rest: detected from the misses that trials count, never assumed.

A pool that holds all of the data stops missing, which two trials without a miss show; one that holds a part misses
about as often from some point on, and that takes three trials to see.
"""

from __future__ import annotations

from collections.abc import Sequence

from tdelta.records import Measurement

MISSES = "buffer_reads"
"""The counter of misses, by the name that all servers' adapters give it."""

LOOKED_AT = 3
"""How many trials in a row must agree."""

_WITHOUT = 2
"""How many in a row suffice that do not miss at all: there is nothing left to be read."""

MOST_LAPS = 15
"""After so many trials the run goes on, and says that the caches had not settled."""

_TOLERANCE = 0.05
_ALMOST_NONE = 0.02
"""Misses an operation below which a cache counts as warm, whatever they do."""


def misses_per_operation(measured: Measurement) -> float | None:
    """Pages that an operation did not find in the cache; None where the engine does not count them."""
    if MISSES not in measured.engine_counters:
        return None
    return measured.engine_counters[MISSES] / max(1, measured.counted_operations)


def is_settled(misses: Sequence[float]) -> bool:
    """Whether the last trials miss alike: none of them off their mean by more than a twentieth; or not at all.

    Args:
        misses: misses per operation, trial by trial.
    """
    if len(misses) >= _WITHOUT and not any(misses[-_WITHOUT:]):
        return True
    last = misses[-LOOKED_AT:]
    if len(last) < LOOKED_AT:
        return False
    mean = sum(last) / len(last)
    return max(last) <= _ALMOST_NONE or all(abs(value - mean) <= _TOLERANCE * mean for value in last)

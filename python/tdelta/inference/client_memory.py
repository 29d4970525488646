"""What memory the client took at each fetch size, or way of loading: set beside response times, never judged."""

from __future__ import annotations

from collections.abc import Iterable

from tdelta.inference.serving import typical, typical_of
from tdelta.records import ClientMemory, RunSettings, Trial
from tdelta.records.trials import by_condition

ARRAYS = ("fetch_size", "load_by")
"""The factors that decide how many rows a client holds."""

_US = 1e3


def client_memory(trials: Iterable[Trial], settings: RunSettings) -> tuple[ClientMemory, ...]:
    """The client's memory, in the design's order; nothing where no factor of `ARRAYS` varies, or none was read."""
    levels = [dict(condition.levels) for condition in settings.conditions]
    if not any(len({one.get(factor) for one in levels}) > 1 for factor in ARRAYS):
        return ()
    of = by_condition(trials)
    found = []
    for condition in settings.conditions:
        measured = [m for m in of.get(condition.key, ()) if m.operations]
        peaks = [float(m.client.peak_rss_bytes) for m in measured if m.client.peak_rss_bytes is not None]
        if peaks:
            response_us = typical(measured, lambda m: m.response_ns / _US)
            found.append(ClientMemory(condition, len(measured), typical_of(peaks), response_us))
    return tuple(found)

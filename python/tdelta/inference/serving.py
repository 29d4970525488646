"""What a server and its client did under each condition, and what held the load back. Descriptive, no intervals.

Medians over the trials of complete blocks, the same that the verdicts rest on. Where the time goes: the CPU time of the
server (its whole process tree, background threads and coming to rest included) and of the client over the time of all
threads; what is left, they waited. `bottleneck` has the rule by which that becomes a word.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence

from tdelta.inference.pictures import in_complete_blocks
from tdelta.messages import Caution
from tdelta.records import (
    Bottleneck,
    CacheUse,
    Condition,
    Measurement,
    Moved,
    Role,
    RunSettings,
    ServerMeasures,
    TimeSpent,
    Trial,
    Typical,
)

SATURATED = 0.85
"""The share of all CPUs in use from which on CPU is what holds a load back, whatever its threads wait for: the rest is
lost to wake-ups and to the moments in which too few threads are ready."""

ALIKE = 0.01
"""Twins whose caches meet shares of requests farther apart than this are not twins."""

_US = 1e6
_REQUESTS, _MISSES = "buffer_requests", "buffer_reads"


def server_measures(trials: Iterable[Trial], settings: RunSettings, cpus: int) -> tuple[ServerMeasures, ...]:
    """The measures of every condition with complete blocks, in the design's order.

    Args:
        trials: the run's. Empty is the answer for an engine that is no server: its client's CPU is not told apart.
        settings: the run's.
        cpus: how many the server and the client may use together.
    """
    found = list(trials)
    if not any(trial.measurement.client_cpu_seconds > 0 for trial in found):
        return ()
    by_key = in_complete_blocks(found, settings)
    return tuple(_measures(c, by_key[c.key], cpus) for c in settings.conditions if c.key in by_key)


def bottleneck(spent: TimeSpent, cpus: int, server_cpus: int | None = None) -> Bottleneck:
    """What holds a load back.

    If the server keeps more than `SATURATED` of the CPUs busy that it is kept to (``server_cpus``): its CPU. If server
    and client keep more than that of all CPUs busy: the CPU, of whichever uses more. Else the largest
    part of the threads' time: CPU of the server, CPU of the client, I/O, or other waiting. I/O is what the requests in
    flight on the server's device, so many for each thread, account for of the waiting, or where those are not known
    the pressure of I/O.
    """
    if server_cpus is not None and spent.server_cores >= SATURATED * server_cpus:
        return Bottleneck.SERVER_CPU
    if spent.server_cores + spent.client_cores >= SATURATED * cpus:
        return Bottleneck.SERVER_CPU if spent.server_cores >= spent.client_cores else Bottleneck.CLIENT_CPU
    on_io = spent.io_share or 0.0
    parts = {
        Bottleneck.SERVER_CPU: spent.server_share,
        Bottleneck.CLIENT_CPU: spent.client_share,
        Bottleneck.IO: on_io,
        Bottleneck.WAITING: spent.waiting_share - on_io,
    }
    return max(parts, key=lambda part: parts[part])


def cache_cautions(measures: Sequence[ServerMeasures]) -> Iterator[Caution]:
    """Twins of one stratum whose caches met other shares of the requests than their baseline's."""
    plain = {m.condition.stratum: m for m in measures if m.condition.role is Role.BASELINE}
    for measured in measures:
        baseline = plain.get(measured.condition.stratum)
        if baseline is None or baseline.cache is None or measured.cache is None:
            continue
        here, there = measured.cache.hit_ratio.median, baseline.cache.hit_ratio.median
        if abs(here - there) > ALIKE:
            yield Caution.of(
                "caches-differ",
                condition=measured.condition.key,
                met=here,
                baseline=baseline.condition.key,
                baseline_met=there,
            )


def _measures(condition: Condition, measured: Sequence[Measurement], cpus: int) -> ServerMeasures:
    spent = _spent(measured, int(condition.level("threads")), cpus)
    kept_to = dict(condition.levels).get("cores")
    return ServerMeasures(
        condition=condition,
        trials=len(measured),
        throughput=typical(measured, lambda m: m.operations / _seconds(m)),
        response_us=typical(measured, lambda m: m.response_ns / 1e3),
        server_cpu_us=typical(measured, lambda m: m.cpu_seconds * _US / m.operations),
        client_cpu_us=typical(measured, lambda m: m.client_cpu_seconds * _US / m.operations),
        time=spent,
        cache=_cache(measured),
        moved=_moved(measured),
        bottleneck=bottleneck(spent, cpus, None if kept_to is None else int(kept_to)),
    )


def _spent(measured: Sequence[Measurement], threads: int, cpus: int) -> TimeSpent:
    server = statistics.median(m.cpu_seconds / _seconds(m) for m in measured)
    client = statistics.median(m.client_cpu_seconds / _seconds(m) for m in measured)
    waiting = max(0.0, 1.0 - (server + client) / threads)
    io_pressure, in_flight = _pressure(measured, "io_some"), _pressure(measured, "io_in_flight")
    on_io = io_pressure if in_flight is None else in_flight / threads
    return TimeSpent(
        server_share=server / threads,
        client_share=client / threads,
        waiting_share=waiting,
        io_share=None if on_io is None else min(waiting, on_io),
        server_cores=server,
        client_cores=client,
        cores_at_most=min(threads, cpus),
        cpu_pressure=_pressure(measured, "cpu_some"),
        io_pressure=io_pressure,
    )


def _cache(measured: Sequence[Measurement]) -> CacheUse | None:
    counted = [m for m in measured if m.engine_counters.get(_REQUESTS, 0) > 0 and _MISSES in m.engine_counters]
    if not counted:
        return None
    return CacheUse(
        hit_ratio=typical(counted, lambda m: max(0.0, 1.0 - m.engine_counters[_MISSES] / m.engine_counters[_REQUESTS])),
        requests=statistics.median(m.engine_counters[_REQUESTS] / m.counted_operations for m in counted),
        misses=statistics.median(m.engine_counters[_MISSES] / m.counted_operations for m in counted),
    )


def _moved(measured: Sequence[Measurement]) -> Moved:
    return Moved(
        pages_read=_counted(measured, "pages_read"),
        pages_written=_counted(measured, "pages_written"),
        pages_encrypted=_counted(measured, "pages_encrypted"),
        pages_decrypted=_counted(measured, "pages_decrypted"),
        log_bytes=_counted(measured, "log_bytes"),
        device_read_bytes=statistics.median(m.usage.device_read_bytes / m.counted_operations for m in measured),
        device_written_bytes=statistics.median(m.usage.device_written_bytes / m.counted_operations for m in measured),
    )


def _counted(measured: Sequence[Measurement], name: str) -> float | None:
    """A counter of one operation; None where the engine has none of that name."""
    found = [m.engine_counters[name] / m.counted_operations for m in measured if name in m.engine_counters]
    return statistics.median(found) if found else None


def _pressure(measured: Sequence[Measurement], name: str) -> float | None:
    found = [m.pressure[name] for m in measured if name in m.pressure]
    return statistics.median(found) if found else None


def typical(measured: Sequence[Measurement], of: Callable[[Measurement], float]) -> Typical:
    """A quantity's median between its quartiles over some trials."""
    return typical_of([of(m) for m in measured])


def typical_of(values: Sequence[float]) -> Typical:
    """The median of some values between their quartiles; at least one value."""
    if len(values) == 1:
        return Typical(values[0], values[0], values[0])
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Typical(low, median, high)


def _seconds(measured: Measurement) -> float:
    """How long the recorded operations took; never 0, which only a clock that stands still would say."""
    return max(measured.elapsed_ns, 1) / 1e9

"""Files that are parts of one run: what threads of one process wrote side by side is put together again.

pgbench with ``--jobs`` writes a log for each thread (``pgbench_log.PID``, ``pgbench_log.PID.1``, …). Sums add up,
throughputs of the same interval too. Intervals are matched by their place from the start, since threads start within
the same second; where one log is shorter, the run is as long as the shortest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tdelta.importers.accumulating import side_by_side
from tdelta.messages import Caution
from tdelta.records.observed import Figure, Group, Observation, Origin, Samples, Series, Summary


def together(observations: Iterable[Observation]) -> Iterator[Observation]:
    """One observation for each group and kind, in the order in which they were first seen."""
    found: dict[tuple[Group, type[Observation]], list[Observation]] = {}
    for observation in observations:
        found.setdefault((observation.group, type(observation)), []).append(observation)
    for parts in found.values():
        if len(parts) == 1:
            yield parts[0]
            continue
        begin, end = _begin(parts), _end(parts)
        for merged in _merged(parts):
            lasted = None if begin is None or end is None else end - begin
            yield replace(merged, started_unix_seconds=begin, duration_seconds=lasted)


def _begin(parts: Iterable[Observation]) -> float | None:
    return min((it.started_unix_seconds for it in parts if it.started_unix_seconds is not None), default=None)


def _end(parts: Iterable[Observation]) -> float | None:
    return max(
        (
            it.started_unix_seconds + it.duration_seconds
            for it in parts
            if it.started_unix_seconds is not None and it.duration_seconds is not None
        ),
        default=None,
    )


def _merged(parts: list[Observation]) -> Iterator[Observation]:
    samples = [part for part in parts if isinstance(part, Samples)]
    summaries = [part for part in parts if isinstance(part, Summary)]
    series = [part for part in parts if isinstance(part, Series)]
    figures = [part for part in parts if isinstance(part, Figure)]
    if samples:
        yield side_by_side(samples)
    elif summaries:
        yield _summary(summaries)
    elif series:
        yield _series(series)
    elif figures and figures[0].group.is_throughput:
        first = figures[0]
        yield Figure(first.group, _origin(figures), math.fsum(part.value for part in figures), first.published)
    else:
        yield from parts


def _summary(parts: list[Summary]) -> Summary:
    """Counts, means and sds pooled exactly: the sum of squares within the parts and between their means."""
    count = sum(part.count for part in parts)
    mean = math.fsum(part.count * part.mean for part in parts) / count if count else 0.0
    sd: float | None = None
    if count > 1 and all(part.sd is not None for part in parts):
        within = math.fsum((part.count - 1) * (part.sd or 0.0) ** 2 for part in parts if part.count)
        between = math.fsum(part.count * (part.mean - mean) ** 2 for part in parts)
        sd = math.sqrt((within + between) / (count - 1))
    return Summary(parts[0].group, _origin(parts), count, mean, sd)


def _series(parts: list[Series]) -> Series:
    first = parts[0]
    length = min(len(part.values) for part in parts)
    cautions: tuple[Caution, ...] = ()
    if any(len(part.values) != length for part in parts):
        cautions = (Caution.of("logs-of-other-lengths", intervals=length),)
    origin = _origin(parts, cautions)
    if first.group.is_throughput:
        values = _sums(part.values[:length] for part in parts)
        return Series(first.group, origin, first.interval_seconds, values, first.starts_at_seconds)
    counts = _sums(part.counts[:length] for part in parts)
    totals = _sums([it * n for it, n in zip(part.values[:length], part.counts, strict=False)] for part in parts)
    means = tuple(total / count if count else 0.0 for total, count in zip(totals, counts, strict=True))
    return Series(first.group, origin, first.interval_seconds, means, first.starts_at_seconds, counts)


def _sums(parts: Iterable[Iterable[float]]) -> tuple[float, ...]:
    return tuple(math.fsum(column) for column in zip(*parts, strict=True))


def _origin(parts: Iterable[Samples | Summary | Series | Figure], more: tuple[Caution, ...] = ()) -> Origin:
    origins = [part.origin for part in parts]
    cautions = dict.fromkeys(caution for origin in origins for caution in origin.cautions)
    return replace(origins[0], line=None, cautions=(*cautions, *more))

"""Files that are parts of one run: what threads of one process wrote side by side is put together again.

pgbench with ``--jobs`` writes a log for each thread (``pgbench_log.PID``, ``pgbench_log.PID.1``, …). Sums add up,
throughputs of the same interval too. Intervals are matched by their place from the start, since threads start within
the same second; where one log is shorter, the run is as long as the shortest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tdelta.importers.samples import side_by_side
from tdelta.messages import Caution
from tdelta.records.conditions import Level
from tdelta.records.observed import ALL, Figure, Group, Observation, Origin, Samples, Series, Summary


def together(observations: Iterable[Observation]) -> Iterator[Observation]:
    """One observation for each group and kind, in the order in which they were first seen."""
    found: dict[tuple[Group, type[Observation]], list[Observation]] = {}
    for observation in observations:
        found.setdefault((observation.group, type(observation)), []).append(observation)
    for parts in found.values():
        if len(parts) == 1:
            yield parts[0]
            continue
        timed = [(begin, it.duration_seconds) for it in parts if (begin := it.started_unix_seconds) is not None]
        begin = min((begin for begin, _ in timed), default=None)
        end = max((begin + seconds for begin, seconds in timed if seconds is not None), default=None)
        lasted = None if begin is None or end is None else end - begin
        for merged in _merged(parts):
            yield replace(merged, started_unix_seconds=begin, duration_seconds=lasted)


def _merged(parts: list[Observation]) -> Iterator[Observation]:
    samples = [part for part in parts if isinstance(part, Samples)]
    summaries = [part for part in parts if isinstance(part, Summary)]
    series = [part for part in parts if isinstance(part, Series)]
    figures = [part for part in parts if isinstance(part, Figure)]
    if samples:
        yield side_by_side(samples)
    elif summaries:
        yield replace(pooled(summaries), origin=_origin(summaries))
    elif series:
        yield _series(series)
    elif figures and figures[0].group.is_throughput:
        first = figures[0]
        yield Figure(first.group, _origin(figures), math.fsum(part.value for part in figures), first.published)
    else:
        yield from parts


def pooled(parts: Sequence[Summary]) -> Summary:
    """Parts of one run as one: exact for count and mean, and for the sd if every part has one."""
    count = sum(part.count for part in parts)
    mean = math.fsum(part.count * part.mean for part in parts) / count if count else 0.0
    sd: float | None = None
    if count > 1 and all(part.sd is not None for part in parts):
        within = math.fsum((part.count - 1) * (part.sd or 0.0) ** 2 for part in parts if part.count)
        between = math.fsum(part.count * (part.mean - mean) ** 2 for part in parts)
        sd = math.sqrt((within + between) / (count - 1))
    return replace(parts[0], count=count, mean=mean, sd=sd, quantiles={})


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


# Files that are views of one run: pgbench's report and its log hold the same transactions, and count once.
#
# The report says how many clients there were, the log has the figures without rounding and in their order. They belong
# together where they are of one condition and count the same transactions, or else where their names say the same run.

_REPORT = "pgbench"
_LOGS = frozenset(("pgbench log", "pgbench aggregate log"))
_CLIENTS = "clients"

Key: TypeAlias = tuple[str, str, frozenset[tuple[str, Level]]]


@dataclass(slots=True)
class _View:
    group: Group
    observations: list[Observation] = field(default_factory=list)

    @property
    def count(self) -> int | None:
        whole = [it for it in self.observations if it.group.transaction == ALL]
        return next((it.count for kind in (Samples, Summary) for it in whole if isinstance(it, kind)), None)


def one_run_each(observations: Sequence[Observation]) -> Iterator[Observation]:
    """The observations, in their order: logs under the levels and the run of their reports, which then say less."""
    reports, logs = _views(observations, (_REPORT,)), _views(observations, _LOGS)
    of_log: dict[int, Group] = {}
    times: dict[int, tuple[float | None, float | None]] = {}
    shadowed: set[int] = set()
    for log in logs:
        report = _report_of(log, reports)
        if report is None:
            continue
        said = {(it.group.transaction, it.group.metric) for it in log.observations}
        of_log |= {id(it): report.group for it in log.observations}
        first = log.observations[0]
        times |= {id(it): (first.started_unix_seconds, it.duration_seconds) for it in report.observations}
        shadowed |= {
            id(it)
            for it in report.observations
            if (it.group.transaction, it.group.metric) in said and not isinstance(it, Figure)
        }
    for one in observations:
        if id(one) in shadowed:
            continue
        like = of_log.get(id(one))
        if like is not None:
            one = replace(one, group=replace(one.group, run=like.run, levels=like.levels))
        elif id(one) in times:
            began, lasted = times[id(one)]
            one = replace(one, started_unix_seconds=began, duration_seconds=lasted)
        yield one


def _views(observations: Iterable[Observation], formats: Iterable[str]) -> list[_View]:
    found: dict[Key, _View] = {}
    for one in observations:
        if one.origin.format in formats:
            key = (one.group.condition, one.group.run, frozenset(one.group.levels))
            found.setdefault(key, _View(one.group)).observations.append(one)
    return list(found.values())


def _report_of(log: _View, reports: Iterable[_View]) -> _View | None:
    """The one report of the same transactions; else the one whose name says the same run."""
    alike = [it for it in reports if _are_alike(log.group, it.group)]
    same = [it for it in alike if it.count == log.count]
    named = [it for it in alike if it.group.run == log.group.run]
    both = [it for it in same if it in named]
    return next((found[0] for found in (both, same, named) if len(found) == 1), None)


def _are_alike(log: Group, report: Group) -> bool:
    """Whether conditions and levels agree, but for the clients, which only a report says."""
    own, said = dict(log.levels), dict(report.levels)
    clients = said.pop(_CLIENTS, None)
    return log.condition == report.condition and own.pop(_CLIENTS, clients) == clients and own == said

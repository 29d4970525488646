"""Files that are views of one run: pgbench's report and its log hold the same transactions, and count once.

The report says how many clients there were, the log has the figures without rounding and in their order. They belong
together where they are of one condition and count the same transactions, or else where their names say the same run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tdelta.records.conditions import Level
from tdelta.records.observed import ALL, Figure, Group, Observation, Samples, Summary

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
        samples = [it.count for it in whole if isinstance(it, Samples)]
        counts = [*samples, *(it.count for it in whole if isinstance(it, Summary))]
        return counts[0] if counts else None


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
    for found in (both, same, named):
        if len(found) == 1:
            return found[0]
    return None


def _are_alike(log: Group, report: Group) -> bool:
    """Whether conditions and levels agree, but for the clients, which only a report says."""
    own, said = dict(log.levels), dict(report.levels)
    clients = said.pop(_CLIENTS, None)
    return log.condition == report.condition and own.pop(_CLIENTS, clients) == clients and own == said

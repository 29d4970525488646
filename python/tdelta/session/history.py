"""Runs of one experiment, beside each other: is the overhead larger than in an earlier run, and where did it change?

Which runs are of one experiment: the same engine, study, workload or database, primary metric, and options that
decide what a trial is. Libraries, servers, versions of tdelta and machines may differ: to see what they change is what
a history is for, and what two runs differ in stands beside their difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tdelta.errors import UsageError
from tdelta.inference.between import difference, find_changes, is_usable
from tdelta.messages import Refusal
from tdelta.records import Condition, Metric, RunResult, RunSettings, Verdict
from tdelta.records.history import (
    Against,
    AgainstRun,
    ChangePoint,
    History,
    HistoryPoint,
    LeftOut,
    Series,
)
from tdelta.records.kept import RunKind
from tdelta.session.request import OPTIONS
from tdelta.store import RunSummary, Store

_LIBRARY = "library under test"
_EXPERIMENT = ("size_bytes", "contrast")
_MACHINE = ("cpu_model", "logical_cpus", "usable_cpus", "memory_total_bytes", "kernel", "file_system")
INVALID, NO_DATA, UNLABELLED = "invalid", "no-data", "unlabelled"


class Order(StrEnum):
    DATE = "date"
    VERSION = "version"
    LABEL = "label"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which runs of the experiment: those with all of the labels, since then, the newest ``most``; in which order."""

    labels: Collection[str] = ()
    since_unix_seconds: float = 0.0
    most: int | None = None
    order: Order = Order.DATE


@dataclass(frozen=True, slots=True)
class Experiment:
    engine: str
    study: str
    workload: str
    database: str
    metric: Metric
    has_external_servers: bool
    options: tuple[tuple[str, str], ...]


def experiment_of(settings: RunSettings) -> Experiment:
    deciding = (option for option in OPTIONS.values() if option.decides_trial or option.name in _EXPERIMENT)
    return Experiment(
        engine=settings.engine,
        study=settings.study,
        workload=settings.workload,
        database="" if settings.database is None else settings.database.file,
        metric=settings.metric,
        has_external_servers=settings.external_servers is not None,
        options=tuple((one.name, repr(settings.options.get(one.name, one.default))) for one in deciding),
    )


def version_of(result: RunResult) -> str:
    """The library or server under test, as the run found it; empty where it did not say."""
    own = result.settings.external_servers
    if own is not None:
        return f"{own.encrypted.product} {own.encrypted.version}"
    return str(result.versions.get(_LIBRARY, ""))


def compare_runs(later: RunResult, earlier: RunResult) -> Against:
    """A run beside an earlier one: how much larger each overhead is that both measured."""
    ids = (later.settings.run_id, earlier.settings.run_id)
    if ids[0] == ids[1]:
        raise UsageError(Refusal.of("run-against-itself", run=ids[0]))
    before = {_key(verdict): verdict for verdict in earlier.primary}
    tolerance, is_valid = later.settings.tolerance, not (_is_invalid(later) or _is_invalid(earlier))
    found = tuple(
        AgainstRun(
            condition=verdict.condition,
            metric=verdict.metric,
            earlier=before[key].ratio,
            later=verdict.ratio,
            difference=difference(verdict.ratio, before[key].ratio, tolerance, is_valid=is_valid),
        )
        for verdict in later.primary
        if (key := _key(verdict)) in before
    )
    if not found:
        raise UsageError(
            Refusal.of(
                "nothing-in-common",
                run=ids[0],
                earlier=ids[1],
                conditions=_named(later.primary),
                others=_named(earlier.primary),
            )
        )
    return Against(ids[0], ids[1], tolerance, found, tuple(_differing(later, earlier)))


def history(store: Store, run_id: str, wanted: Wanted) -> History:
    """The history of the experiment that a run is of.

    Raises:
        UnknownName: the store has no such run.
        UsageError: no run of it fits.
        EnvironmentFault: Apache Otava is not installed.
    """
    asked = store.settings(run_id)
    experiment = experiment_of(asked)
    runs = [run for run in _summaries(store, wanted) if _is_of(store, run, experiment)][: wanted.most]
    results = {run.run_id: store.result(run.run_id) for run in runs}
    used, left_out = _usable(runs, results, wanted)
    if not used:
        raise UsageError(Refusal.of("no-history", run=run_id, left=len(left_out)))
    ordered = sorted(used, key=_place(wanted.order, results))
    conditions = dict.fromkeys(_key(v)[0] for run in ordered for v in results[run.run_id].primary)
    series = (_series(key, ordered, results, asked.tolerance) for key in conditions)
    return History(
        name="/".join(dict.fromkeys(filter(None, (asked.engine, asked.study, asked.workload)))),
        engine=asked.engine,
        study=asked.study,
        workload=asked.workload,
        metric=asked.metric,
        tolerance=asked.tolerance,
        order=wanted.order.value,
        series=tuple(one for one in series if one.points),
        left_out=tuple(left_out),
    )


def _summaries(store: Store, wanted: Wanted) -> Iterator[RunSummary]:
    for run in store.runs():
        is_asked = run.kind in (RunKind.RUN, RunKind.IMPORTED) and run.decision is not None
        if is_asked and run.created_unix_seconds >= wanted.since_unix_seconds and set(wanted.labels) <= set(run.labels):
            yield run


def _is_of(store: Store, run: RunSummary, experiment: Experiment) -> bool:
    is_like = (run.engine, run.study, run.workload) == (experiment.engine, experiment.study, experiment.workload)
    return is_like and experiment_of(store.settings(run.run_id)) == experiment


def _usable(
    runs: Iterable[RunSummary], results: Mapping[str, RunResult], wanted: Wanted
) -> tuple[list[RunSummary], list[LeftOut]]:
    used: list[RunSummary] = []
    left_out: list[LeftOut] = []
    for run in runs:
        result = results[run.run_id]
        why = ""
        if _is_invalid(result):
            why = INVALID
        elif not any(_has_data(verdict) for verdict in result.primary):
            why = NO_DATA
        elif wanted.order is Order.LABEL and not _own_labels(run, wanted):
            why = UNLABELLED
        if why:
            left_out.append(LeftOut(run.run_id, why))
        else:
            used.append(run)
    return used, left_out


def _own_labels(run: RunSummary, wanted: Wanted) -> tuple[str, ...]:
    return tuple(label for label in run.labels if label not in wanted.labels)


def _place(order: Order, results: Mapping[str, RunResult]) -> Callable[[RunSummary], tuple[object, ...]]:
    def place(run: RunSummary) -> tuple[object, ...]:
        by = {
            Order.DATE: "",
            Order.VERSION: version_of(results[run.run_id]),
            Order.LABEL: " ".join(run.labels),
        }[order]
        return _natural(by), run.created_unix_seconds

    return place


def _natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A key by which 10.11 comes after 10.9: digits as numbers, all else as it is."""
    parts = re.findall(r"\d+|\D+", text)
    return tuple((1, int(part), "") if part.isascii() and part.isdigit() else (0, 0, part) for part in parts)


def _series(key: str, runs: Sequence[RunSummary], results: Mapping[str, RunResult], tolerance: float) -> Series:
    points: list[HistoryPoint] = []
    last: Condition | None = None
    for run in runs:
        result = results[run.run_id]
        for verdict in result.primary:
            if _key(verdict)[0] == key and _has_data(verdict):
                last = verdict.condition
                points.append(_point(run, result, verdict))
    found = find_changes([point.ratio for point in points], tolerance)
    changes = tuple(
        ChangePoint(one.at, points[one.at].run_id, one.before, one.after, one.difference, one.probability)
        for one in found.found
    )
    condition = last or results[runs[-1].run_id].primary[0].condition
    return Series(condition, tuple(points), changes, found.between_runs_sd)


def _point(run: RunSummary, result: RunResult, verdict: Verdict) -> HistoryPoint:
    return HistoryPoint(
        run.run_id, run.created_unix_seconds, run.labels, version_of(result), verdict.ratio, verdict.decision
    )


def _key(verdict: Verdict) -> tuple[str, Metric]:
    return f"{verdict.condition.key} over {verdict.baseline.key}", verdict.metric


def _has_data(verdict: Verdict) -> bool:
    """Whether it rests on anything measured, and not on its prior alone."""
    return bool(verdict.baseline_value) and is_usable(verdict.ratio)


def _is_invalid(result: RunResult) -> bool:
    return result.decision.value == INVALID or any(check.is_invalid for check in result.validity)


def _named(verdicts: Iterable[Verdict]) -> str:
    return ", ".join(f"{verdict.condition.key} ({verdict.metric.value})" for verdict in verdicts) or "none"


def _differing(later: RunResult, earlier: RunResult) -> Iterator[tuple[str, str, str]]:
    """Differences between the runs that may explain their overheads: settings, versions, the machine."""
    now, before = experiment_of(later.settings), experiment_of(earlier.settings)
    for name in ("engine", "study", "workload", "database"):
        yield from _unlike(name, getattr(now, name), getattr(before, name))
    others = dict(before.options)
    for name, value in now.options:
        yield from _unlike(name.replace("_", " "), value, others[name])
    for name in dict.fromkeys((*earlier.versions, *later.versions)):
        yield from _unlike(name, later.versions.get(name, ""), earlier.versions.get(name, ""))
    for name in _MACHINE:
        yield from _unlike(name.replace("_", " "), later.machine.get(name, ""), earlier.machine.get(name, ""))


def _unlike(name: str, now: object, before: object) -> Iterator[tuple[str, str, str]]:
    if str(now) != str(before):
        yield name, str(before), str(now)

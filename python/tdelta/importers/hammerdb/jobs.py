"""The jobs of HammerDB's database, put together from their rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tdelta.importers.hammerdb.figures import (
    Result,
    counter_series,
    procedures,
    result_in,
    throughput,
    timestamp,
    users_in,
)
from tdelta.importers.importer import Belonging
from tdelta.importers.problems import Problems, number, shown, too_many, unexpected, whole
from tdelta.messages import Caution
from tdelta.records.conditions import Level
from tdelta.records.observed import Observation

MOST_JOBS = 1000

Row = Mapping[str, object]

_MINUTES = {key: re.compile(rf"\b(?:\w{{1,20}}_)?{key} (\d{{1,5}})\b", re.ASCII) for key in ("rampup", "duration")}
_SETTINGS = {
    words: re.compile(rf"\b(?:\w{{1,20}}_)?{key} (\w{{1,20}})\b", re.ASCII)
    for key, words in (
        ("count_ware", "warehouses"),
        ("driver", "driver"),
        ("rampup", "ramp-up, min"),
        ("duration", "measured, min"),
        ("allwarehouse", "all warehouses"),
        ("keyandthink", "keying and thinking time"),
    )
}
"""What a job's settings say of the test."""


@dataclass(slots=True)
class Job:
    """One TPROC-C job.

    ``window_minutes`` is how long its ramp-up and its measured time were, where its settings say so.
    """

    started_at: str
    window_minutes: tuple[int, int] | None
    settings: Mapping[str, Level | None] = field(default_factory=dict)
    users: int | None = None
    result: Result | None = None
    counter: list[tuple[datetime, float]] = field(default_factory=list)
    timings: list[Row] = field(default_factory=list)

    @property
    def has_figures(self) -> bool:
        return self.result is not None or bool(self.counter) or bool(self.timings)

    def observations(self, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        belonging = belonging.with_level("threads", self.users).with_settings(self.settings)
        if self.result is not None:
            yield from throughput(self.result, belonging, None)
        readings, caution = self._measured_counter()
        series = counter_series(readings, belonging, None, caution)
        if series is not None:
            yield series
        rows, cautions = together(self.timings)
        yield from procedures(rows, belonging.noting(*cautions), None, problems)

    def _measured_counter(self) -> tuple[list[tuple[datetime, float]], Caution]:
        """The counter within the measured time, counted from its first reading under load."""
        loaded = [at for at, count in self.counter if count]
        if self.window_minutes is None or not loaded:
            return self.counter, Caution.of("ramp-up-included")
        rampup, duration = self.window_minutes
        try:
            begin = min(loaded) + timedelta(minutes=rampup)
            end = begin + timedelta(minutes=duration)
        except OverflowError:  # behind the year 9999
            return self.counter, Caution.of("ramp-up-included")
        measured = [(at, count) for at, count in self.counter if begin <= at <= end]
        return measured, Caution.of("left-out", what=f"the ramp-up of {rampup} min")


class Jobs:
    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._jobs: dict[str, Job] = {}

    @property
    def takers(self) -> Mapping[str, Callable[[Row], None]]:
        """What takes the rows of each table; in this order, since the first one names the jobs."""
        return {
            "JOBMAIN": self._take_job,
            "JOBOUTPUT": self._take_output,
            "JOBTCOUNT": self._take_reading,
            "JOBTIMING": self._take_timing,
        }

    def in_order(self) -> tuple[Job, ...]:
        """Those that left figures, by their start."""
        return tuple(sorted((job for job in self._jobs.values() if job.has_figures), key=lambda job: job.started_at))

    def _take_job(self, row: Row) -> None:
        if row["bm"] != "TPC-C":
            return
        if len(self._jobs) < MOST_JOBS:
            said = row.get("jobdict")
            self._jobs[_identity(row)] = Job(str(row.get("timestamp"))[:40], _window_minutes(said), _settings(said))
        else:
            self._problems.add(too_many("TPROC-C jobs", MOST_JOBS))

    def _take_output(self, row: Row) -> None:
        job, output = self._jobs.get(_identity(row)), row["output"]
        if job is None or not isinstance(output, str):
            return
        job.users = users_in(output, job.users)
        if "TEST RESULT :" in output:
            job.result = result_in(output)
            if job.result is None:
                self._problems.add(unexpected("System achieved N NOPM from N TPM", shown(output)))

    def _take_reading(self, row: Row) -> None:
        job = self._jobs.get(_identity(row))
        if job is None or row["metric"] != "tpm":
            return
        at, count = timestamp(row["timestamp"]), number(row["counter"])
        if at is None or count is None or count < 0:
            found = shown(f"{row['timestamp']}"[:40]), shown(f"{row['counter']}"[:40])
            self._problems.add(unexpected("a time and a count in JOBTCOUNT", f"{found[0]} and {found[1]}"))
        else:
            job.counter.append((at, count))

    def _take_timing(self, row: Row) -> None:
        job = self._jobs.get(_identity(row))
        if job is not None:
            job.timings.append({key: _short(value) for key, value in row.items()})


def together(timings: list[Row]) -> tuple[dict[str, Row], tuple[Caution, ...]]:
    """The procedures of all virtual users, and what must be said of them.

    Until HammerDB 5.0 the rows marked as summary repeat the last virtual user's. Where theirs are not the calls of all
    users, the users' own rows are put together: calls, mean and extremes; their percentiles cannot be.
    """
    of_users: dict[str, list[Row]] = {}
    summaries: dict[str, Row] = {}
    for row in timings:
        name = str(row["procname"])
        if row["summary"] == 1:
            summaries[name] = row
        else:
            of_users.setdefault(name, []).append(row)
    rows, is_put_together = dict(summaries), False
    for name, users in of_users.items():
        calls = [whole(row["calls"]) or 0 for row in users]
        if name in summaries and whole(summaries[name]["calls"]) == sum(calls):
            continue
        rows[name] = _pooled(users, calls) if len(users) > 1 else users[0]
        is_put_together = is_put_together or len(users) > 1
    said = Caution.of("put-together")
    return rows, (said,) if is_put_together else ()


def _pooled(users: list[Row], calls: list[int]) -> Row:
    """Several users' rows of one procedure as one. A row that is damaged is given back alone: it will be refused."""
    called = [(row, count) for row, count in zip(users, calls, strict=True) if count]
    figures = [[number(row[key]) for key in ("min_ms", "avg_ms", "max_ms")] for row, _ in called]
    minima: list[float] = []
    weighted: list[float] = []
    maxima: list[float] = []
    for (row, count), (minimum, mean, maximum) in zip(called, figures, strict=True):
        if minimum is None or mean is None or maximum is None:
            return row
        minima.append(minimum)
        weighted.append(mean * count)
        maxima.append(maximum)
    if not called:
        return users[0]
    total = sum(calls)
    return {"calls": total, "min_ms": min(minima), "avg_ms": sum(weighted) / total, "max_ms": max(maxima)}


def _window_minutes(settings: object) -> tuple[int, int] | None:
    """Ramp-up and measured minutes from a job's settings, a Tcl dict: ``… pg_rampup 2 pg_duration 5 …``."""
    if not isinstance(settings, str):
        return None
    found = {key: pattern.findall(settings) for key, pattern in _MINUTES.items()}
    if any(len(values) != 1 for values in found.values()) or "timed" not in settings:
        return None
    return int(found["rampup"][0]), int(found["duration"][0])


def _settings(said: object) -> Mapping[str, Level | None]:
    if not isinstance(said, str):
        return {}
    found = {words: pattern.findall(said) for words, pattern in _SETTINGS.items()}
    return {words: values[0] for words, values in found.items() if len(values) == 1}


def _short(value: object) -> object:
    """A value without the megabyte that a stranger may have put there."""
    return value[:60] if isinstance(value, str | bytes) else value


def _identity(row: Row) -> str:
    return str(row["jobid"])[:100]

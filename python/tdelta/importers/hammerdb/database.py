"""HammerDB's jobs database, ``hammer.DB``: every job of an installation, each of TPROC-C a run.

A database is a program that a stranger wrote: it is opened read-only, immutable, without trusted schema; an authorizer
lets nothing through but reading the tables named here, and a budget of steps ends what does not end. Views, virtual
tables and generated columns are refused, since to read them is to run them.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import quote

from tdelta.importers.hammerdb.figures import (
    Result,
    counter_series,
    procedures,
    result_in,
    throughput,
    timestamp,
    users_in,
)
from tdelta.importers.importer import Belonging, Importer
from tdelta.importers.problems import Problems, number, shown, whole
from tdelta.importers.reading import Source
from tdelta.inputs import missing, opened, too_many, unexpected
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
        yield from counter_series(readings, belonging, None, caution)
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
            # without the megabyte that a stranger may have put there
            job.timings.append(
                {key: (value[:60] if isinstance(value, str | bytes) else value) for key, value in row.items()}
            )


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


def _identity(row: Row) -> str:
    return str(row["jobid"])[:100]


LARGEST_PACKED_BYTES = 64 * 1024 * 1024  # of a database within gzip, which has to be unpacked into memory
MOST_STEPS = 2_000_000_000  # instructions of SQLite's machine for one file: a minute or two
LONGEST_VALUE_BYTES = 1024 * 1024
_STEPS_A_LOOK = 100_000
_MAGIC = b"SQLite format 3\x00"
_TIMES = ("min_ms", "avg_ms", "max_ms", "total_ms", "p99_ms", "p95_ms", "p75_ms", "p50_ms", "p25_ms", "sd", "ratio_pct")
_COLUMNS = {
    "JOBMAIN": ("jobid", "bm", "jobdict", "timestamp"),
    "JOBOUTPUT": ("jobid", "output"),
    "JOBTCOUNT": ("jobid", "counter", "metric", "timestamp"),
    "JOBTIMING": ("jobid", "vu", "procname", "calls", *_TIMES, "elapsed_ms", "summary"),
}
"""What is read. p75 and p25 came in April 2026; a column that is not there is left out of the rows."""

_NEEDED = {
    "JOBMAIN": ("jobid", "bm"),
    "JOBOUTPUT": ("jobid", "output"),
    "JOBTCOUNT": ("jobid", "counter", "metric", "timestamp"),
    "JOBTIMING": ("jobid", "procname", "calls", "min_ms", "avg_ms", "max_ms", "sd", "summary"),
}
MOST_ROWS = {"JOBMAIN": 100_000, "JOBOUTPUT": 10_000_000, "JOBTCOUNT": 400_000, "JOBTIMING": 50_000}
"""Those of the two last ones are held until the end."""


class JobsDatabaseImporter(Importer):
    name = "HammerDB database"

    def recognizes(self, source: Source) -> bool:
        head = source.head
        others = (b"JOBOUTPUT", b"JOBTCOUNT", b"JOBTIMING")
        return head.startswith(_MAGIC) and b"JOBMAIN" in head and any(table in head for table in others)

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        jobs = _read(source, problems)
        if len(jobs) > 1:
            belonging = belonging.noting(Caution.of("jobs-as-runs", jobs=len(jobs), runs=len(jobs)))
        for position, job in enumerate(jobs, 1):
            yield from job.observations(belonging.of_run(position, len(jobs)), problems)
        if not jobs and not problems:
            problems.add(missing("a TPROC-C job with results"))


def _read(source: Source, problems: Problems) -> tuple[Job, ...]:
    jobs = Jobs(problems)
    try:
        with closing(_opened(source)) as database:
            tables = _Guarded(database, problems)
            for table, take in jobs.takers.items():
                for row in tables.rows(table):
                    take(row)
    except (sqlite3.Error, OSError, MemoryError, UnicodeError, OverflowError, ValueError) as error:
        found = "one that takes too long to read" if str(error) == "interrupted" else str(error) or "one too large"
        problems.add(unexpected("an undamaged SQLite database", shown(found)))
    return jobs.in_order()


def _opened(source: Source) -> sqlite3.Connection:
    """The database, where it lies if it is not packed, else in memory."""
    with opened(source.path) as file:
        is_plain = file.read(len(_MAGIC)) == _MAGIC
    if is_plain:
        uri = f"file:{quote(str(source.path.absolute()))}?mode=ro&immutable=1"
        database = sqlite3.connect(uri, uri=True, isolation_level=None)
    else:
        database = sqlite3.connect(":memory:", isolation_level=None)
        database.deserialize(source.content(LARGEST_PACKED_BYTES))
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE_BYTES)
    database.text_factory = lambda raw: raw.decode("utf-8", errors="replace")
    for pragma in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "mmap_size=0", "temp_store=MEMORY"):
        database.execute(f"PRAGMA {pragma}")
    return database


class _Guarded:
    """The tables that are read, once their schema has been looked at."""

    def __init__(self, database: sqlite3.Connection, problems: Problems) -> None:
        self._database = database
        self._problems = problems
        self._looks_left = MOST_STEPS // _STEPS_A_LOOK
        database.set_progress_handler(self._is_spent, _STEPS_A_LOOK)
        self._columns = {table: self._columns_of(table) for table in _COLUMNS}
        database.set_authorizer(_only_reading)

    def rows(self, table: str) -> Iterator[Mapping[str, object]]:
        """The rows of a table, at most so many. A table that is missing or refused has none."""
        columns, most = self._columns[table], MOST_ROWS[table]
        if not columns:
            return
        cursor = self._database.execute(f'SELECT {", ".join(columns)} FROM "{table}" LIMIT {most + 1}')
        for position, row in enumerate(cursor):
            if position == most:
                self._problems.add(too_many(f"rows in {table}", most))
                return
            yield dict(zip(columns, row, strict=True))

    def _is_spent(self) -> bool:
        """Whether SQLite has to stop: called by it after every so many steps."""
        self._looks_left -= 1
        return self._looks_left < 0

    def _columns_of(self, table: str) -> tuple[str, ...]:
        """Which of the wanted columns a table has; none, with a fault, if it is anything but a plain table."""
        found = self._database.execute(
            "SELECT type, rootpage FROM sqlite_master WHERE name = ? COLLATE NOCASE LIMIT 2", (table,)
        ).fetchall()
        if not found:
            if table in ("JOBMAIN", "JOBOUTPUT"):
                self._problems.add(missing(f"table {table}"))
            return ()
        if len(found) > 1 or found[0][0] != "table" or not found[0][1]:
            self._problems.add(unexpected(f"{table} as a plain table", "a view or a virtual one"))
            return ()
        columns = self._database.execute(f'PRAGMA table_xinfo("{table}")').fetchmany(1000)
        if any(column[6] for column in columns):
            self._problems.add(unexpected(f"plain columns in {table}", "generated or hidden ones"))
            return ()
        names = {str(column[1]).lower() for column in columns}
        absent = [name for name in _NEEDED[table] if name not in names]
        if absent:
            self._problems.add(missing(f"column {absent[0]} of {table}, among {', '.join(_NEEDED[table])},"))
            return ()
        return tuple(name for name in _COLUMNS[table] if name in names)


def _only_reading(action: int, table: str | None, *_rest: str | None) -> int:
    """SQLite asks before each statement what it may do: read the named tables, and nothing else."""
    is_reading = action == sqlite3.SQLITE_SELECT or (
        action == sqlite3.SQLITE_READ and (table or "").upper() in _COLUMNS
    )
    return sqlite3.SQLITE_OK if is_reading else sqlite3.SQLITE_DENY

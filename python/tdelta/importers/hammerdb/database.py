"""HammerDB's jobs database, ``hammer.DB``: every job of an installation, each of TPROC-C a run.

A database is a program that a stranger wrote: it is opened read-only, immutable, without trusted schema; an authorizer
lets nothing through but reading the tables named here, and a budget of steps ends what does not end. Views, virtual
tables and generated columns are refused, since to read them is to run them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from urllib.parse import quote

from tdelta.importers.hammerdb.jobs import Job, Jobs
from tdelta.importers.importer import Belonging, Importer
from tdelta.importers.problems import Problems, shown, too_many, unexpected
from tdelta.importers.reading import Source
from tdelta.inputs import opened
from tdelta.messages import Caution, Refusal
from tdelta.records.observed import Observation

LARGEST_PACKED_BYTES = 64 * 1024 * 1024
"""Of a database within gzip, which has to be unpacked into memory."""

MOST_STEPS = 2_000_000_000
"""Instructions of SQLite's machine for one file: a minute or two."""

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
        """An SQLite database whose schema, in its first pages, names HammerDB's tables."""
        head = source.head
        others = (b"JOBOUTPUT", b"JOBTCOUNT", b"JOBTIMING")
        return head.startswith(_MAGIC) and b"JOBMAIN" in head and any(table in head for table in others)

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        """Throughput, counter series and procedure times of every TPROC-C job, in the order of their start."""
        jobs = _read(source, problems)
        if len(jobs) > 1:
            belonging = belonging.noting(Caution.of("jobs-as-runs", jobs=len(jobs), runs=len(jobs)))
        for position, job in enumerate(jobs, 1):
            yield from job.observations(belonging.of_run(position, len(jobs)), problems)
        if not jobs and not problems:
            problems.add(Refusal.of("missing", what="a TPROC-C job with results"))


def _read(source: Source, problems: Problems) -> tuple[Job, ...]:
    """The jobs; what is damaged is noted, and what was read before stays."""
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
                self._problems.add(Refusal.of("missing", what=f"table {table}"))
            return ()
        if len(found) > 1 or found[0][0] != "table" or not found[0][1]:
            self._problems.add(unexpected(f"{table} as a plain table", "a view or a virtual one"))
            return ()
        columns = self._database.execute(f'PRAGMA table_xinfo("{table}")').fetchmany(1000)
        if any(column[6] for column in columns):
            self._problems.add(unexpected(f"plain columns in {table}", "generated or hidden ones"))
            return ()
        names = {str(column[1]).lower() for column in columns}
        missing = [name for name in _NEEDED[table] if name not in names]
        if missing:
            self._problems.add(
                Refusal.of("missing", what=f"column {missing[0]} of {table}, among {', '.join(_NEEDED[table])},")
            )
            return ()
        return tuple(name for name in _COLUMNS[table] if name in names)


def _only_reading(action: int, table: str | None, *_rest: str | None) -> int:
    """SQLite asks before each statement what it may do: read the named tables, and nothing else."""
    is_reading = action == sqlite3.SQLITE_SELECT or (
        action == sqlite3.SQLITE_READ and (table or "").upper() in _COLUMNS
    )
    return sqlite3.SQLITE_OK if is_reading else sqlite3.SQLITE_DENY

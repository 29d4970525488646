"""Marker rows on their way through every kind of file a twin has, and the search of all its files meanwhile.

At rest, a database's rows lie in one file. Under way they lie in others: in the write-ahead log, in the temporary
files of sorts and temporary tables. So a connection of its own puts the markers there and keeps them there while a
trial of the workload runs, and everything that the worker has open is searched:

- A transaction rewrites the marker rows and commits (by changing them twice, back to what they
  were: SQLite leaves pages alone whose bytes do not change), and a snapshot keeps the log from being reset.
- A temporary table of markers larger than its cache, and a sort of it larger than SQLite sorts in memory, spill, unless
  temporary data is kept in memory.

Rows are the same before and after. Limits: a statement journal under 64 KiB stays in memory and is not tested, nor is
``VACUUM``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tdelta.engines.embedded.exposure import Exposure
from tdelta.evidence import TABLE
from tdelta.evidence.markers import MARKER_BYTES, MARKER_ROWS
from tdelta.processes.workers import Worker

_LOOK_SECONDS = 600.0
_CACHE_PAGES = 10
_SORTED_PAGES = 250
"""SQLite sorts so many pages in memory before it spills, or as many as its cache holds (SQLITE_SORTER_PMASZ)."""

_HALF = MARKER_BYTES // 2
_CHANGE = (
    f"UPDATE {TABLE} SET marker ="
    f" CAST(substr(marker, {_HALF + 1}) || substr(marker, 1, {_HALF}) AS BLOB)"  # halves change places, and stay whole
)
_SPILLED = "temp.tdelta_spill"


class SqliteExposure(Exposure):
    def __init__(self, worker: Worker, database: Path, needles: Sequence[bytes]) -> None:
        super().__init__(worker, database, needles)
        self._page_bytes = int(worker.ask("facts", queries={"page_size": "PRAGMA page_size"})["page_size"])

    @contextmanager
    def under_way(self) -> Iterator[None]:
        statements = [
            *(f"PRAGMA cache_size={_CACHE_PAGES}", f"PRAGMA temp.cache_size={_CACHE_PAGES}"),
            *("BEGIN IMMEDIATE", _CHANGE, _CHANGE, "COMMIT", "BEGIN", f"SELECT count(*) FROM {TABLE}"),
            self._spill(),
        ]
        cursors = [f"SELECT marker FROM {_SPILLED} ORDER BY n % 7, marker"]
        with self.exposed(statements=statements, cursors=cursors):
            yield

    def scan_afterwards(self) -> None:
        self._worker.ask("facts", seconds=_LOOK_SECONDS, queries={"checkpoint": "PRAGMA wal_checkpoint(TRUNCATE)"})
        self.scan()

    def _spill(self) -> str:
        """Twice as many bytes of markers as are sorted in memory."""
        copies = -(-2 * _SORTED_PAGES * self._page_bytes // (MARKER_ROWS * MARKER_BYTES))
        return (
            f"CREATE TEMP TABLE {_SPILLED.removeprefix('temp.')} AS"
            f" WITH RECURSIVE copy(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copy WHERE n < {copies})"
            f" SELECT n, marker FROM copy, main.{TABLE}"
        )

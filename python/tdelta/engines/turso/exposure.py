"""Marker rows on their way through every kind of file a Turso twin has, and the search of all its files meanwhile.

- Into the write-ahead log go copies of the marker rows, which stay there while a trial runs, since a snapshot keeps the
  log from being moved into the file; afterwards they are deleted, and a checkpoint moves all of it.
- Into temporary files go a temporary table of markers, larger than its cache.

Rows are the same before and after. Sorts that do not fit into memory are not provoked: their files are temporary ones
like the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tdelta.driver.file_scanner import FileScanner
from tdelta.engines.turso.files import turso_files
from tdelta.evidence import TABLE, TwinFile
from tdelta.evidence.markers import MARKER_BYTES, MARKER_ROWS

_LOOK_SECONDS = 600.0
_CACHE_PAGES = 10
_SPILLED_BYTES = 4_000_000
_COPIES = _SPILLED_BYTES // (MARKER_ROWS * MARKER_BYTES)
_SPILL = (
    f"PRAGMA cache_size={_CACHE_PAGES}",
    f"PRAGMA temp.cache_size={_CACHE_PAGES}",
    f"CREATE TEMP TABLE tdelta_spill AS"
    f" WITH RECURSIVE copy(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copy WHERE n < {_COPIES})"
    f" SELECT n, marker FROM copy, main.{TABLE}",
)
_APART = 1_000_000
_COPY = f"INSERT INTO {TABLE} SELECT id + {_APART}, marker FROM {TABLE} WHERE id <= {MARKER_ROWS}"
_REMOVE = f"DELETE FROM {TABLE} WHERE id > {_APART}"
_HELD = ("BEGIN", f"SELECT count(*) FROM {TABLE}")


class TursoExposure(FileScanner):
    """The markers of one twin on their way, and what every look at its files found."""

    def _files(self) -> tuple[TwinFile, ...]:
        return turso_files(self._worker.pid, self._database)

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Within the block, markers are in the log and in temporary files, and the workload may run."""
        order = {"statements": (_COPY, *_SPILL), "held": _HELD, "afterwards": (_REMOVE,)}
        self._worker.ask("expose", seconds=_LOOK_SECONDS, **order)
        yield  # what fails in here ends the run and the worker with it, so nothing is put back then
        self._worker.ask("conceal", seconds=_LOOK_SECONDS)

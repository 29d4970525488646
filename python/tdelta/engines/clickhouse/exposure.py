"""Marker rows on their way through every kind of file a ClickHouse twin has, and the search of all its files meanwhile.

- On the twin's disk lie the parts with the marker rows, and a second part with copies of them, which is written while
  markers are on their way and removed afterwards.
- Into temporary files goes a sort of markers that is larger than the memory it may have. They are searched until the
  sort has ended; they go with it.

Rows are the same before and after.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tdelta.driver.file_scanner import FileScanner
from tdelta.engines.clickhouse.files import clickhouse_files
from tdelta.evidence import TABLE, TwinFile
from tdelta.evidence.markers import MARKER_BYTES, MARKER_ROWS

_LOOK_SECONDS = 600.0
_SORTED_BYTES = 30_000_000
_MEMORY_BYTES = 5_000_000
_COPIES = _SORTED_BYTES // (MARKER_ROWS * MARKER_BYTES)
_SORT = (
    f"SELECT marker FROM numbers({_COPIES}) AS copy, {TABLE} AS of ORDER BY cityHash64(number, marker)"
    f" SETTINGS max_bytes_before_external_sort = {_MEMORY_BYTES}, max_bytes_ratio_before_external_sort = 0,"
    " max_threads = 1 FORMAT Null"
)
_COPY = "tdelta_copy"


class ClickhouseExposure(FileScanner):
    """The markers of one twin on their way, and what every look at its files found."""

    def _files(self) -> tuple[TwinFile, ...]:
        return clickhouse_files(self._worker.pid, self._database)

    def scan_during_sort(self) -> None:
        """Search all files while a sort has markers in temporary ones."""
        self._worker.send("run", statements=[_SORT])
        self.scan_until_answered(_LOOK_SECONDS)
        self._worker.answer(_LOOK_SECONDS)

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Within the block a new table has the markers as well, and the workload may run."""
        made = f"CREATE TABLE {_COPY} ENGINE = MergeTree ORDER BY id AS SELECT * FROM {TABLE}"
        self._worker.ask("run", seconds=_LOOK_SECONDS, statements=[made])
        yield  # what fails in here ends the run and the worker with it, so nothing is put back then
        self._worker.ask("run", seconds=_LOOK_SECONDS, statements=[f"DROP TABLE {_COPY} SYNC"])

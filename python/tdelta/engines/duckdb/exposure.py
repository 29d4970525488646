"""Marker rows on their way through every kind of file a DuckDB twin has, and the search of all its files meanwhile.

- Into temporary files goes a temporary table of markers, larger than the memory that DuckDB is left with for so long.
- Into the write-ahead log go copies of the marker rows, which stay there while a trial runs, since a snapshot keeps the
  log from being reset; afterwards they are deleted, and a checkpoint moves all of it into the database file.

Rows are the same before and after. Temporary files are encrypted on every twin, so that no plain twin can show that a
search finds what is in them; `spilled` is the control for that: the same table, spilled by a DuckDB of its own whose
temporary files are not encrypted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tdelta.engines.embedded.exposure import Exposure
from tdelta.evidence import TABLE, FileClass, MarkerHit
from tdelta.evidence.markers import MARKER_BYTES, MARKER_ROWS
from tdelta.processes.workers import Worker

_LOG = ".wal"
_TEMPORARY = "duckdb_temp_"


def duckdb_file_class(
    name: str,
    database: str,
    *,
    is_unlinked: bool = False,  # noqa: ARG001 - it keeps the name of a temporary file
    is_stream: bool = False,
) -> FileClass:
    if is_stream:
        return FileClass.OTHER
    if name == database:
        return FileClass.DATABASE
    if name.startswith(database + _LOG):  # a checkpoint writes a second log beside the first
        return FileClass.WAL
    return FileClass.TEMP if name.startswith(_TEMPORARY) else FileClass.OTHER


_SPILLED_BYTES = 120_000_000
_ROW_BYTES = MARKER_BYTES + 20
"""A marker, eight digits behind it, their offset, and the number beside them."""

_COPIES = -(-_SPILLED_BYTES // (MARKER_ROWS * _ROW_BYTES))
_SPILL = (
    f"CREATE TEMP TABLE tdelta_spill AS SELECT n, marker || encode(lpad(CAST(n AS VARCHAR), 8, '0')) AS marker"
    f" FROM range({_COPIES}) AS copy(n), {TABLE}"  # no two alike, so that no dictionary makes the table small
)
_APART = 1_000_000
_COPY = f"INSERT INTO {TABLE} SELECT id + {_APART}, marker FROM {TABLE} WHERE id <= {MARKER_ROWS}"
_REMOVE = f"DELETE FROM {TABLE} WHERE id > {_APART}"
_HELD = ("BEGIN", f"SELECT count(*) FROM {TABLE}")

CONTROL = " (control: temporary files not encrypted)"
"""Ends the name of a file that only shows that a search finds markers in files of its kind."""


class DuckdbExposure(Exposure):
    has_folder = True
    class_of = staticmethod(duckdb_file_class)

    def begin(self) -> None:
        with self.exposed(statements=[_SPILL], held=(), afterwards=(), squeezes=True):
            self.scan()

    @contextmanager
    def under_way(self) -> Iterator[None]:
        with self.exposed(statements=[_COPY], held=_HELD, afterwards=(_REMOVE,), squeezes=False):
            yield


def spilled(program: str, options: Mapping[str, object], needles: Sequence[bytes]) -> tuple[MarkerHit, ...]:
    """The control: the markers that a search finds in temporary files that are not encrypted."""
    with Worker(program=program) as worker:
        worker.ask("open", options=options)
        control = DuckdbExposure(worker, Path(str(options["path"])), needles)
        control.begin()
    return tuple(
        dataclasses.replace(found, name=found.name + CONTROL)
        for found in control.found()
        if found.file_class is FileClass.TEMP
    )

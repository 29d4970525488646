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
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tdelta.driver.file_scanner import FileScanner
from tdelta.driver.workers import Worker
from tdelta.evidence import TABLE, FileClass, MarkerHit, TwinFile
from tdelta.evidence.markers import MARKER_BYTES, MARKER_ROWS
from tdelta.evidence.search import in_order, open_files

_LOG = ".wal"
_TEMPORARY = "duckdb_temp_"


def duckdb_file_class(name: str, database: str, *, is_stream: bool = False) -> FileClass:
    """The class of a file.

    Args:
        name: its name, without folder.
        database: the name of the database file that it belongs to.
        is_stream: whether it is a standard stream of the process that has it open.
    """
    if is_stream:
        return FileClass.OTHER
    if name == database:
        return FileClass.DATABASE
    if name.startswith(database + _LOG):  # a checkpoint writes a second log beside the first
        return FileClass.WAL
    return FileClass.TEMP if name.startswith(_TEMPORARY) else FileClass.OTHER


def duckdb_files(pid: int, database: Path) -> tuple[TwinFile, ...]:
    """Every regular file of a twin: those below its database's folder, and those its worker has open.

    Args:
        database: the database file, in a folder that holds this twin's files only.

    Raises:
        EnvironmentFault: the files that the worker has open cannot be listed.
    """
    return in_order((*_below(database), *_open_in(pid, database)))


def _below(database: Path) -> Iterator[TwinFile]:
    for path in sorted(database.parent.rglob("*")):
        try:
            found = path.lstat()
        except FileNotFoundError:
            continue
        if stat.S_ISREG(found.st_mode):
            of = duckdb_file_class(path.name, database.name)
            yield TwinFile(path.name, str(path), of, (found.st_dev, found.st_ino))


def _open_in(pid: int, database: Path) -> Iterator[TwinFile]:
    for file in open_files(pid):
        of = duckdb_file_class(file.target.name, database.name, is_stream=file.is_stream)
        yield TwinFile(file.label, file.path, of, file.identity)


_LOOK_SECONDS = 600.0
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
"""What is added to the name of a file that only shows that a search finds what is in files of its kind."""


class DuckdbExposure(FileScanner):
    """The markers of one twin on their way, and what every look at its files found."""

    def _files(self) -> tuple[TwinFile, ...]:
        return duckdb_files(self._worker.pid, self._database)

    def scan_during_spill(self) -> None:
        """Search all files while temporary ones hold markers."""
        with self._exposed([_SPILL], squeezes=True):
            self.scan()

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Within the block, markers are in the log, and the workload may run."""
        with self._exposed([_COPY], held=_HELD, afterwards=(_REMOVE,)):
            yield

    @contextmanager
    def _exposed(
        self,
        statements: Sequence[str],
        held: Sequence[str] = (),
        afterwards: Sequence[str] = (),
        *,
        squeezes: bool = False,
    ) -> Iterator[None]:
        order = {"statements": statements, "held": held, "afterwards": afterwards, "squeezes": squeezes}
        self._worker.ask("expose", seconds=_LOOK_SECONDS, **order)
        yield  # what fails in here ends the run and the worker with it, so nothing is put back then
        self._worker.ask("conceal", seconds=_LOOK_SECONDS)


def spilled(program: str, options: Mapping[str, object], needles: Sequence[bytes]) -> tuple[MarkerHit, ...]:
    """What a search finds in temporary files that are not encrypted: the control.

    Args:
        program: the module that a worker runs.
        options: how it opens a plain file with the markers' table, to be read only.
    """
    with Worker(program=program) as worker:
        worker.ask("open", options=options)
        control = DuckdbExposure(worker, Path(str(options["path"])), needles)
        control.scan_during_spill()
    return tuple(
        dataclasses.replace(found, name=found.name + CONTROL)
        for found in control.found()
        if found.file_class is FileClass.TEMP
    )

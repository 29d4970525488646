"""All files of a DuckDB twin, which has a folder of its own: the database, its write-ahead log, temporary files."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from tdelta.evidence.classes import FileClass
from tdelta.evidence.search import TwinFile, in_order, open_files

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
        pid: the worker's process.
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

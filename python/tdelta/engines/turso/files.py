"""All files of a Turso twin, which has a folder of its own: the database, its write-ahead log, temporary files."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from tdelta.evidence.classes import FileClass
from tdelta.evidence.search import TwinFile, in_order, open_files

_LOG = "-wal"
_TEMPORARY = ("tursodb-temp", "tursodb_temp")
"""How temporary databases, and what queries sort, are named."""


def turso_file_class(name: str, database: str, *, is_unlinked: bool = False, is_stream: bool = False) -> FileClass:
    """The class of a file.

    Args:
        name: its name, without folder.
        database: the name of the database file that it belongs to.
        is_unlinked: whether it is open and has no name any more.
        is_stream: whether it is a standard stream of the process that has it open.
    """
    if is_stream:
        return FileClass.OTHER
    if name == database:
        return FileClass.DATABASE
    if name == database + _LOG:
        return FileClass.WAL
    return FileClass.TEMP if is_unlinked or name.startswith(_TEMPORARY) else FileClass.OTHER


def turso_files(pid: int, database: Path) -> tuple[TwinFile, ...]:
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
            of = turso_file_class(path.name, database.name)
            yield TwinFile(path.name, str(path), of, (found.st_dev, found.st_ino))


def _open_in(pid: int, database: Path) -> Iterator[TwinFile]:
    for file in open_files(pid):
        of = turso_file_class(file.target.name, database.name, is_unlinked=file.is_unlinked, is_stream=file.is_stream)
        yield TwinFile(file.label, file.path, of, file.identity)

"""All files of a ClickHouse twin, which has a folder of its own: parts on its disk, definitions, temporary files."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from tdelta.engines.clickhouse.engine import FILES, STATE
from tdelta.evidence.classes import FileClass
from tdelta.evidence.search import TwinFile, in_order, open_files

_TEMPORARY = "tmp"
_SHOWN_PARTS = 2
"""Of a path the parts that tell files apart: each column of each part is a file, and all parts have the same names."""


def clickhouse_file_class(path: Path, home: Path, *, is_unlinked: bool = False, is_stream: bool = False) -> FileClass:
    """The class of a file.

    Args:
        path: where it lies.
        home: the folder of the twin that it belongs to.
        is_unlinked: whether it is open and has no name any more.
        is_stream: whether it is a standard stream of the process that has it open.
    """
    if is_stream:
        return FileClass.OTHER
    if path.is_relative_to(home / FILES):
        return FileClass.DATABASE
    return FileClass.TEMP if is_unlinked or path.is_relative_to(home / STATE / _TEMPORARY) else FileClass.OTHER


def clickhouse_files(pid: int, home: Path) -> tuple[TwinFile, ...]:
    """Every regular file of a twin: those below its folder, and those its worker has open.

    Raises:
        EnvironmentFault: the files that the worker has open cannot be listed.
    """
    return in_order((*files_below(home), *_open_in(pid, home)))


def files_below(home: Path) -> Iterator[TwinFile]:
    """Those below a twin's folder."""
    for path in sorted(home.rglob("*")):
        try:
            found = path.lstat()
        except FileNotFoundError:
            continue
        if stat.S_ISREG(found.st_mode):
            name = "/".join(path.relative_to(home).parts[-_SHOWN_PARTS:])
            of = clickhouse_file_class(path, home)
            yield TwinFile(name, str(path), of, (found.st_dev, found.st_ino))


def _open_in(pid: int, home: Path) -> Iterator[TwinFile]:
    for file in open_files(pid):
        of = clickhouse_file_class(file.target, home, is_unlinked=file.is_unlinked, is_stream=file.is_stream)
        yield TwinFile(file.label, file.path, of, file.identity)

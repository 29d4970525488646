"""All files of a twin, those without a name included, and what a search of them finds.

A file that a process has open can be read through ``/proc/PID/fd`` even when it never had a name or has lost it, which
is how SQLite keeps its temporary files. Files come and go while a twin is at work; one that is gone before it is read
is left out.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tdelta import _native
from tdelta.errors import EnvironmentFault
from tdelta.evidence.classes import FileClass, file_class

_DELETED = " (deleted)"
_IN_MEMORY = "/memfd:"
_STREAMS = ("0", "1", "2")
_READ_FIRST = (FileClass.TEMP, FileClass.JOURNAL, FileClass.WAL, FileClass.OTHER, FileClass.DATABASE)
"""What is soonest gone is read first."""


@dataclass(frozen=True, slots=True)
class TwinFile:
    """One file of a twin. ``name`` is for people, without folder; ``path`` is by what it can be opened."""

    name: str
    path: str
    file_class: FileClass


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in one file: how many markers, in how many bytes."""

    name: str
    file_class: FileClass
    scanned_bytes: int
    markers_found: int


def files_of(pid: int, database: Path) -> tuple[TwinFile, ...]:
    """Every regular file of a twin: those beside its database that share its name, and those its worker has open.

    Args:
        pid: the worker's process.
        database: the database file.

    Raises:
        EnvironmentFault: the files that the worker has open cannot be listed.
    """
    files: dict[tuple[int, int], TwinFile] = {}
    for identity, file in (*_beside(database), *_open_in(pid, database)):
        files.setdefault(identity, file)
    return tuple(sorted(files.values(), key=lambda file: (_READ_FIRST.index(file.file_class), file.name)))


def search(files: Sequence[TwinFile], needles: Sequence[bytes]) -> tuple[Found, ...]:
    """Search files for byte strings, several at once.

    Raises:
        EnvironmentFault: some cannot be read; all of them are named.
    """
    if not files:
        return ()
    answers = json.loads(_native.search_files([file.path for file in files], needles, os.cpu_count() or 1))
    pairs = list(zip(files, answers, strict=True))
    faults = [f"{file.name}: {answer['fault']['message']}" for file, answer in pairs if _is_fault(answer["fault"])]
    if faults:
        raise EnvironmentFault(f"files of a twin cannot be searched for plaintext: {'; '.join(faults)}")
    return tuple(
        Found(file.name, file.file_class, answer["scanned_bytes"], sum(answer["matches"]))
        for file, answer in pairs
        if answer["fault"] is None
    )


def merged(looks: Iterable[Found]) -> tuple[Found, ...]:
    """Several looks at the same files as one: the most markers that any saw in a file, and all bytes that were read."""
    files: dict[tuple[FileClass, str], Found] = {}
    for found in looks:
        known = files.setdefault((found.file_class, found.name), replace(found, scanned_bytes=0))
        files[found.file_class, found.name] = replace(
            known,
            scanned_bytes=known.scanned_bytes + found.scanned_bytes,
            markers_found=max(known.markers_found, found.markers_found),
        )
    return tuple(files.values())


def _is_fault(fault: Mapping[str, object] | None) -> bool:
    return fault is not None and fault["errno"] not in (errno.ENOENT, errno.ESRCH)


_Identified = tuple[tuple[int, int], TwinFile]


def _beside(database: Path) -> Iterator[_Identified]:
    for entry in os.scandir(database.parent):
        if entry.name.startswith(database.name):
            try:
                found = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if stat.S_ISREG(found.st_mode):
                file = TwinFile(entry.name, entry.path, file_class(entry.name, database.name))
                yield (found.st_dev, found.st_ino), file


def _open_in(pid: int, database: Path) -> Iterator[_Identified]:
    folder = f"/proc/{pid}/fd"
    try:
        numbers = os.listdir(folder)  # noqa: PTH208 - these are no paths to walk
    except OSError as error:
        raise EnvironmentFault(
            f"the open files of worker {pid} cannot be listed ({folder}: {error.strerror}), so unlinked ones cannot be"
            " searched: run tdelta where /proc shows a user's own processes"
        ) from error
    for number in sorted(numbers, key=int):  # standard streams first: what they are decides, whoever else shares them
        path = Path(folder, number)
        try:
            target, found = str(path.readlink()), path.stat()
        except FileNotFoundError:
            continue
        if stat.S_ISREG(found.st_mode) and not target.startswith(_IN_MEMORY):
            yield (found.st_dev, found.st_ino), _open_file(str(path), target, database, is_stream=number in _STREAMS)


def _open_file(path: str, target: str, database: Path, *, is_stream: bool) -> TwinFile:
    is_unlinked = target.endswith(_DELETED)
    name = Path(target.removesuffix(_DELETED)).name
    found = file_class(name, database.name, is_unlinked=is_unlinked, is_stream=is_stream)
    return TwinFile(f"{name} (unlinked)" if is_unlinked else name, path, found)

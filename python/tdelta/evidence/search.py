"""All files of a twin, those without a name included, and what a search of them finds.

A file that a process has open can be read through ``/proc/PID/fd`` even when it never had a name or has lost it, which
is how SQLite keeps its temporary files. Files come and go while a twin is at work; one that is gone before it is read
is left out, and so is one whose descriptor has become another's: what is read is what was listed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias

from tdelta import _native
from tdelta.errors import EnvironmentFault
from tdelta.inputs import open_quietly
from tdelta.messages import Refusal

# Which class a file of a twin belongs to. Encryption may reach one class and miss another: each counts by itself.


class FileClass(StrEnum):
    """The purpose of a file: the words are the engines' own, and one word is one thing on all engines that have it.

    ``database``, ``wal`` and ``journal`` are what SQLite has. On a server rows lie in ``tables``; ``system tablespace``
    is InnoDB's ``ibdata1`` with all that no other file was made for (MariaDB keeps undo and doublewrite in it),
    ``temp tables`` those that users make, ``on-disk temp tables`` those that queries make, ``temp`` the files of sorts
    and of transactions larger than their buffers. ``storage`` is what lies below the twin's file system where a run
    varies that: an image, or encrypted files. ``dump`` is a logical backup. ``other`` holds no rows by design: shared
    memory, an error stream.
    """

    DATABASE = "database"
    TABLES = "tables"
    SYSTEM = "system tablespace"
    UNDO = "undo"
    DOUBLEWRITE = "doublewrite"
    WAL = "wal"
    REDO = "redo log"
    JOURNAL = "journal"
    BINLOG = "binlog"
    RELAY = "relay log"
    TEMP_TABLES = "temp tables"
    DISK_TABLES = "on-disk temp tables"
    TEMP = "temp"
    DICTIONARY = "dictionary"
    LOGS = "server logs"
    STORAGE = "storage"
    DUMP = "dump"
    OTHER = "other"


_BY_SUFFIX = {"": FileClass.DATABASE, "-wal": FileClass.WAL, "-journal": FileClass.JOURNAL, "-shm": FileClass.OTHER}
_TEMP_PREFIX = "etilqs_"  # how SQLite names temporary files where the system has no unnamed ones


def file_class(name: str, database: str, *, is_unlinked: bool = False, is_stream: bool = False) -> FileClass:
    """The class of a file by its name and that of the database that it belongs to, both without folder.

    `is_unlinked`: it is open and has no name any more, as temporary files do; `is_stream`: it is a standard stream of
    the process that has it open.
    """
    if is_stream:
        return FileClass.OTHER
    if name.startswith(database) and name.removeprefix(database) in _BY_SUFFIX:
        return _BY_SUFFIX[name.removeprefix(database)]
    return FileClass.TEMP if is_unlinked or name.startswith(_TEMP_PREFIX) else FileClass.OTHER


Inflate: TypeAlias = Callable[[bytes], bytes]
"""The bytes of a page before it was compressed; none of one that was not, or that is encrypted."""

PAGE_BYTES = 16 << 10
_PAGES_AT_ONCE = 4096  # 64 MiB of pages in memory at most

_DELETED = " (deleted)"
_IN_MEMORY = ("/memfd:", "/dev/shm/", "/SYSV", "/[aio]")  # noqa: S108 - names of what is not read
_STREAMS = ("0", "1", "2")
_GONE = (errno.ENOENT, errno.ESRCH, errno.ENXIO)
"""Errors of opening a file or a descriptor that is gone (the last: it is a socket's by now)."""

_READ_FIRST = (
    FileClass.TEMP,
    FileClass.DISK_TABLES,
    FileClass.JOURNAL,
    FileClass.TEMP_TABLES,
    FileClass.DOUBLEWRITE,
    FileClass.WAL,
    FileClass.REDO,
    FileClass.UNDO,
    FileClass.BINLOG,
    FileClass.RELAY,
    FileClass.SYSTEM,
    FileClass.LOGS,
    FileClass.OTHER,
    FileClass.DICTIONARY,
    FileClass.TABLES,
    FileClass.DATABASE,
    FileClass.STORAGE,
    FileClass.DUMP,
)
"""Files that are soonest gone are read first."""

_OF_PAGES = frozenset((FileClass.TABLES, FileClass.DOUBLEWRITE))
"""Classes of files that have pages of tables, one after another."""


@dataclass(frozen=True, slots=True)
class TwinFile:
    """One file of a twin.

    ``name`` is for people, without folder; ``path`` is by what it can be opened, ``identity`` its device and inode.
    """

    name: str
    path: str
    file_class: FileClass
    identity: tuple[int, int]


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A regular file that a process has open. ``target`` is where it lies, or lay before it lost its name."""

    target: Path
    path: str
    is_unlinked: bool
    is_stream: bool
    identity: tuple[int, int]

    @property
    def label(self) -> str:
        return f"{self.target.name} (unlinked)" if self.is_unlinked else self.target.name


@dataclass(frozen=True, slots=True)
class MarkerHit:
    """Markers found in one file: how many, in how many bytes."""

    name: str
    file_class: FileClass
    scanned_bytes: int
    markers_found: int


def files_of(
    pid: int, database: Path, class_of: Callable[..., FileClass] = file_class, *, has_folder: bool = False
) -> tuple[TwinFile, ...]:
    """Every regular file of a twin: those beside its database that share its name, and those its worker has open.

    `class_of`: the class of a file of this engine's; `has_folder`: the folder of the database, with all below it, holds
    this twin's files only. Raises `EnvironmentFault`: the files that the worker has open cannot be listed.
    """
    named = (path for path in database.parent.iterdir() if path.name.startswith(database.name))
    found = _named(database.parent.rglob("*") if has_folder else named, database, class_of)
    return in_order((*found, *_open_in(pid, database, class_of)))


def in_order(files: Iterable[TwinFile]) -> tuple[TwinFile, ...]:
    """Each file once, as it is listed first, in the order in which they are best read."""
    once: dict[tuple[int, int], TwinFile] = {}
    for file in files:
        once.setdefault(file.identity, file)
    return tuple(sorted(once.values(), key=lambda file: (_READ_FIRST.index(file.file_class), file.name)))


def search(
    files: Sequence[TwinFile], needles: Sequence[bytes], inflate: Inflate | None = None
) -> tuple[MarkerHit, ...]:
    """Search files for byte strings, several at once. Raises `EnvironmentFault`: some cannot be read; all are named.

    `inflate`: where pages of tables are compressed, what was in one before; these are searched as well.
    """
    with ExitStack() as stack:
        opened = _opened(files, stack)
        if not opened:
            return ()
        paths = [f"/proc/self/fd/{descriptor}" for _, descriptor in opened]
        answers = _native.search_files(paths, needles, os.cpu_count() or 1)
        within = [0 if inflate is None else _within(file, of, needles, inflate) for file, of in opened]
    read = [(file, of, more) for (file, _), of, more in zip(opened, answers, within, strict=True) if not _is_gone(of)]
    _refuse([f"{file.name}: {answer['fault']['message']}" for file, answer, _ in read if answer["fault"] is not None])
    return tuple(
        MarkerHit(file.name, file.file_class, answer["scanned_bytes"], sum(answer["matches"]) + more)
        for file, answer, more in read
    )


def _is_gone(answer: Mapping[str, Any]) -> bool:
    """Whether a file lost its name since it was opened here: FUSE does not open such a one again by its descriptor."""
    return answer["fault"] is not None and answer["fault"]["errno"] in _GONE


def _within(file: TwinFile, descriptor: int, needles: Sequence[bytes], inflate: Inflate) -> int:
    """How many are in pages of a file that were compressed."""
    if file.file_class not in _OF_PAGES:
        return 0
    with inflated_parts(descriptor, inflate) as parts:
        return sum(sum(_native.search_files([part], needles, 1)[0]["matches"]) for part in parts)


@contextmanager
def inflated_parts(descriptor: int, inflate: Inflate) -> Iterator[Iterator[str]]:
    """Within the block: paths of files in memory, each with the next pages of an open file as they were, one at a time.

    A marker never lies across two pages, which are between others with headers.
    """
    memory = os.memfd_create("pages", os.MFD_CLOEXEC)
    try:
        yield _parts(descriptor, inflate, memory)
    finally:
        os.close(memory)


def _parts(descriptor: int, inflate: Inflate, memory: int) -> Iterator[str]:
    position = 0
    while chunk := os.pread(descriptor, PAGE_BYTES * _PAGES_AT_ONCE, position):
        position += len(chunk)
        os.ftruncate(memory, 0)
        os.lseek(memory, 0, os.SEEK_SET)
        for at in range(0, len(chunk), PAGE_BYTES):
            if part := inflate(chunk[at : at + PAGE_BYTES]):
                os.write(memory, part)
        yield f"/proc/self/fd/{memory}"


def _opened(files: Iterable[TwinFile], stack: ExitStack) -> list[tuple[TwinFile, int]]:
    """The files that are still what they were listed as, open until the stack ends."""
    opened, faults = [], []
    for file in files:
        try:
            descriptor = open_quietly(file.path)
        except OSError as error:
            if error.errno not in _GONE:
                faults.append(f"{file.name}: {error.strerror}")
            continue
        stack.callback(os.close, descriptor)
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode) and (found.st_dev, found.st_ino) == file.identity:
            opened.append((file, descriptor))
    _refuse(faults)
    return opened


def _refuse(faults: Sequence[str]) -> None:
    if faults:
        raise EnvironmentFault(Refusal.of("twin-not-searchable", faults="; ".join(faults)))


def merged(looks: Iterable[MarkerHit]) -> tuple[MarkerHit, ...]:
    """Several looks at the same files as one: the most markers that any saw in a file, and all bytes that were read."""
    files: dict[tuple[FileClass, str], MarkerHit] = {}
    for found in looks:
        known = files.setdefault((found.file_class, found.name), replace(found, scanned_bytes=0))
        files[found.file_class, found.name] = replace(
            known,
            scanned_bytes=known.scanned_bytes + found.scanned_bytes,
            markers_found=max(known.markers_found, found.markers_found),
        )
    return tuple(files.values())


def _named(paths: Iterable[Path], database: Path, class_of: Callable[..., FileClass]) -> Iterator[TwinFile]:
    for path in sorted(paths):
        try:
            found = path.lstat()
        except FileNotFoundError:
            continue
        if stat.S_ISREG(found.st_mode):
            of = class_of(path.name, database.name)
            yield TwinFile(path.name, str(path), of, (found.st_dev, found.st_ino))


def _open_in(pid: int, database: Path, class_of: Callable[..., FileClass]) -> Iterator[TwinFile]:
    for file in open_files(pid):
        of = class_of(file.target.name, database.name, is_unlinked=file.is_unlinked, is_stream=file.is_stream)
        yield TwinFile(file.label, file.path, of, file.identity)


def open_files(pid: int) -> Iterator[OpenFile]:
    """The regular files that a process has open but in memory. Raises `EnvironmentFault`: they cannot be listed."""
    folder = f"/proc/{pid}/fd"
    try:
        numbers = os.listdir(folder)  # noqa: PTH208 - these are no paths to walk
    except OSError as error:
        raise EnvironmentFault(
            Refusal.of("open-files-hidden", process=pid, folder=folder, fault=error.strerror)
        ) from error
    for number in sorted(numbers, key=int):  # standard streams first: what they are decides, whoever else shares them
        path = Path(folder, number)
        try:
            target, found = str(path.readlink()), path.stat()
        except (FileNotFoundError, ProcessLookupError):  # closed by now
            continue
        if stat.S_ISREG(found.st_mode) and not target.startswith(_IN_MEMORY):
            yield OpenFile(
                target=Path(target.removesuffix(_DELETED)),
                path=str(path),
                is_unlinked=target.endswith(_DELETED),
                is_stream=number in _STREAMS,
                identity=(found.st_dev, found.st_ino),
            )

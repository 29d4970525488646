"""Copies a user's database without opening it as one: plain reads, nothing else.

A database library must not come near the original: even to read a database with a write-ahead log it makes files
beside it, and may fold the log into it at its close. So the file, its log (``-wal``) and its rollback journal
(``-journal``) are read as bytes into a folder of tdelta's own, and what a crash would leave to be recovered is
recovered there, in the copy. No lock is taken, so a file that is being written is told by its size, its time of
modification and its inode: those of all three must be the same before and after. Access times are left alone where the
kernel allows it (``O_NOATIME``: to the owner of a file, and to root).

Limits: a writer that leaves size and time as they were is not seen. ``-shm`` is not copied: it is made anew.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tdelta.engines.sqlite.messages import SqliteRefusal
from tdelta.errors import DatabaseFault, StorageFault
from tdelta.evidence.headers import Meaning, header_of
from tdelta.inputs import NotRegular, require_regular
from tdelta.measure.private import private
from tdelta.messages import Refusal

OnProgress = Callable[[int, int], None]
"""Told how many bytes of how many are copied."""

SUFFIXES = ("", "-wal", "-journal")
"""The files that make a database: itself, the write-ahead log, the rollback journal."""

HEADER_BYTES = 100
"""https://sqlite.org/fileformat2.html#the_database_header"""

_MAGIC = b"SQLite format 3\x00"
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_CHUNK_BYTES = 1 << 22
_TRIES = 5
_PAUSE_SECONDS = 0.2
_SETTLED_NS = 50_000_000
"""Longer than a tick of the clock that stamps files (at most 10 ms): a later write gets another time."""

_SHOWN_BYTES = 16
_FOREIGN = (
    (0, b"** This file contains an SQLite 2", "a database of SQLite 2"),
    (8, b"DUCK", "a DuckDB database"),
    (0, b"\x1f\x8b", "a gzip file"),
    (0, b"PK\x03\x04", "a zip file"),
    (0, b"\x28\xb5\x2f\xfd", "a zstd file"),
    (0, b"\xfd7zXZ", "an xz file"),
    (0, b"\x37\x7f\x06\x82", "a write-ahead log: name the database itself"),
    (0, b"\x37\x7f\x06\x83", "a write-ahead log: name the database itself"),
    (0, _JOURNAL_MAGIC, "a rollback journal: name the database itself"),
)
_PLAIN_COPY = (
    "use an unencrypted copy (SQLCipher: sqlcipher_export into a file attached with KEY ''; SQLite3 Multiple Ciphers:"
    " PRAGMA rekey='' on a copy)"
)


class FileStat(NamedTuple):
    size_bytes: int
    modified_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Original:
    """A user's database as it was found: how it was named, where it is, and what its files looked like by suffix."""

    named: Path
    path: Path
    files: Mapping[str, FileStat]

    @property
    def file_name(self) -> str:
        """The file's name without folder, as text that can be written anywhere."""
        return os.fsencode(self.named.name).decode("utf-8", "replace")

    @property
    def size_bytes(self) -> int:
        return sum(seen.size_bytes for seen in self.files.values())

    def as_json(self) -> dict[str, list[int] | None]:
        """The file's appearance as JSON values: size and time of modification by suffix."""
        return {suffix: [*self.files[suffix][:2]] if suffix in self.files else None for suffix in SUFFIXES}


def find_original(named: Path) -> Original:
    """Look at a database's files, and at the first bytes of the database; symbolic links are followed."""
    try:
        path = named.resolve(strict=True)
        found = Original(named, path, _look(path))
        require_regular(path)
        header, is_encrypted_behind = _looked_at(path)
    except NotRegular as error:
        raise DatabaseFault(named, Refusal.of("unexpected", expected="a SQLite database", found=error.kind)) from error
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else "its symbolic links go round in circles"
        raise DatabaseFault(named, Refusal.of("unreadable", fault=why)) from error
    _require_plain(named, header, is_encrypted_behind=is_encrypted_behind)
    return found


def copy_original(
    original: Original,
    target: Path,
    on_progress: OnProgress = lambda _done, _total: None,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> Original:
    """Copy a database with its log and journal under a new name, as they are at the moment that is returned."""
    for attempt in range(_TRIES):
        if attempt:
            sleep(_PAUSE_SECONDS * 2 ** (attempt - 1))
        before = _settled(original, sleep)
        if before is None:
            continue
        if _copy_all(original, before, target, on_progress) and _look(original.path) == before:
            copied = Original(original.named, original.path, before)
            _require_whole_journal(copied, target)
            return copied
        _remove(target)
    raise DatabaseFault(original.named, SqliteRefusal.of("database-written-to", tries=_TRIES))


def _look(path: Path) -> dict[str, FileStat]:
    """Those of its files that are there."""
    found = {}
    for suffix in SUFFIXES:
        with suppress(FileNotFoundError):
            seen = Path(f"{path}{suffix}").stat()
            found[suffix] = FileStat(seen.st_size, seen.st_mtime_ns, seen.st_ino)
    return found


def _settled(original: Original, sleep: Callable[[float], None]) -> dict[str, FileStat] | None:
    """A look that no write of the same tick of the clock can hide behind; None while writes go on."""
    for wait_seconds in (_SETTLED_NS / 1e9, 0.0):
        seen = _look(original.path)
        if "" not in seen:
            raise DatabaseFault(original.named, Refusal.of("unreadable", fault="it was removed"))
        newest = max(file.modified_ns for file in seen.values())
        if not 0 <= time.time_ns() - newest < _SETTLED_NS:
            return seen
        sleep(wait_seconds)
    return None


def _copy_all(original: Original, seen: Mapping[str, FileStat], target: Path, on_progress: OnProgress) -> bool:
    """Copy every file that was seen. Returns False if one has gone since."""
    total_bytes, done_bytes = sum(file.size_bytes for file in seen.values()), 0
    for suffix in seen:
        source = Path(f"{original.path}{suffix}")
        try:
            descriptor = _open(source)
        except FileNotFoundError:
            return False
        except OSError as error:
            said = Refusal.of("unreadable", fault=f"{source.name}: {error.strerror}")
            raise DatabaseFault(original.named, said) from error
        try:
            for copied_bytes in _copied(original, descriptor, Path(f"{target}{suffix}")):
                done_bytes += copied_bytes
                on_progress(done_bytes, total_bytes)
        finally:
            os.close(descriptor)
    return True


def _copied(original: Original, descriptor: int, target: Path) -> Iterator[int]:
    try:
        with private(target) as writer:
            while chunk := _read(original, descriptor):
                writer.write(chunk)
                yield len(chunk)
    except OSError as error:
        said = Refusal.of("cannot-copy", source=original.named, target=target, fault=error.strerror)
        raise StorageFault(said) from error


def _read(original: Original, descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK_BYTES)
    except OSError as error:
        raise DatabaseFault(original.named, Refusal.of("unreadable", fault=error.strerror)) from error


def _open(path: Path) -> int:
    """Open for reading, without a trace in the time of access where that is allowed."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    try:
        return os.open(path, flags | os.O_NOATIME)
    except PermissionError:  # O_NOATIME is the owner's; whether the file may be read at all shows now
        return os.open(path, flags)


def _remove(target: Path) -> None:
    for suffix in SUFFIXES:
        Path(f"{target}{suffix}").unlink(missing_ok=True)


def _looked_at(path: Path) -> tuple[bytes, bool]:
    """The header, and whether only that is plain, as SQLCipher and SQLite3 Multiple Ciphers can leave it."""
    descriptor = _open(path)
    try:
        header = os.read(descriptor, HEADER_BYTES)
        found = header_of(lambda offset, count: os.pread(descriptor, count, offset), os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)
    return header, found is not None and found.meaning is Meaning.ENCRYPTED


def _require_plain(named: Path, header: bytes, *, is_encrypted_behind: bool) -> None:
    if not header:
        raise DatabaseFault(named, Refusal.of("missing", what="its content"))
    if not header.startswith(_MAGIC) or len(header) < HEADER_BYTES:
        expected = f"an unencrypted SQLite database, which begins with {_MAGIC[:-1].decode()!r}"
        found = f"{header[:_SHOWN_BYTES].hex(' ')}: {_what(header)}"
        raise DatabaseFault(named, Refusal.of("unexpected", expected=expected, found=found))
    if is_encrypted_behind:
        raise DatabaseFault(named, SqliteRefusal.of("plain-header", remedy=_PLAIN_COPY))


def _what(header: bytes) -> str:
    for at, magic, name in _FOREIGN:
        if header[at:].startswith(magic):
            return name
    if header.startswith(_MAGIC):
        return "it ends within its header"
    if _has_clear_page_size(header):
        return f"a SQLite database that is encrypted already, as SQLite3 Multiple Ciphers does: {_PLAIN_COPY}"
    return f"if this is a database that is encrypted already, {_PLAIN_COPY}"


def _has_clear_page_size(header: bytes) -> bool:
    """Whether bytes 16 to 23 are those of a SQLite header, which SQLite3 Multiple Ciphers leaves readable."""
    if len(header) < HEADER_BYTES:
        return False
    size = int.from_bytes(header[16:18], "big")
    is_size = size == 1 or (size >= 512 and size & (size - 1) == 0)  # 1 stands for 65,536
    return is_size and set(header[18:20]) <= {1, 2} and header[21:24] == b"\x40\x20\x20"


def _require_whole_journal(original: Original, target: Path) -> None:
    """Refuse a journal that names others.

    A transaction over several databases ends its journals with the name of a file beside the originals; to recover the
    copy, SQLite would look at that file, and could remove it.
    """
    journal = Path(f"{target}-journal")
    if not journal.exists() or journal.stat().st_size <= 2 * len(_JOURNAL_MAGIC):
        return
    with journal.open("rb") as file:
        begins = file.read(len(_JOURNAL_MAGIC))
        file.seek(-len(_JOURNAL_MAGIC), os.SEEK_END)
        ends = file.read()
    if begins == ends == _JOURNAL_MAGIC:
        _remove(target)
        raise DatabaseFault(original.named, SqliteRefusal.of("journal-of-several"))

"""What can go wrong with a store, in words a user can act on. No traceback for a full disk."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from tdelta.errors import StorageFault, StoreError, StoreTooNew, TdeltaError

ELSEWHERE = "name another store with --store FILE or TDELTA_STORE"

_FULL = frozenset({"SQLITE_FULL"})
_NOT_WRITABLE = frozenset({"SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_PERM"})
_HELD = frozenset({"SQLITE_BUSY", "SQLITE_LOCKED"})


@contextlib.contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system raise about the store at ``path`` into tdelta's own exceptions.

    Raises:
        StorageFault: disk full, folder missing or not writable, input/output error.
        StoreError: another process holds the store, or it is damaged or no database at all.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise _from_sqlite(path, error) from error
    except (UnicodeError, OverflowError) as error:  # a table's own name, or a number, that a flipped bit made
        raise StoreError(f"store {path}: it is damaged ({error}); {ELSEWHERE}") from error
    except OSError as error:
        raise StorageFault(f"store {path}: {error.strerror or error}; {ELSEWHERE}") from error


@contextlib.contextmanager
def decoding(path: Path) -> Iterator[None]:
    """Say of which store it is that something in it cannot be read.

    Raises:
        StoreError: what is there is not what any version wrote.
    """
    try:
        yield
    except StoreError as error:
        raise StoreError(f"store {path}: {error}; {ELSEWHERE}") from error
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise StoreError(f"store {path}: it is damaged ({type(error).__name__}: {error}); {ELSEWHERE}") from error


def changed(path: Path, part: str) -> StoreError:
    """Say that what is there is not what was written."""
    return StoreError(
        f"store {path}: {part} is not what tdelta wrote: the file was damaged, or edited; take a copy of it that is"
        f" not, or {ELSEWHERE}"
    )


def too_new(path: Path, found: int, known: int) -> StoreTooNew:
    """Say that a newer tdelta wrote this store."""
    return StoreTooNew(
        f"store {path}: expected schema version {known} or older, found {found}: a newer tdelta wrote it. "
        f"Upgrade tdelta, or {ELSEWHERE}"
    )


def not_a_store(path: Path, found: str) -> StoreError:
    """Say that this file is not a store of tdelta's."""
    return StoreError(f"store {path}: expected a store of tdelta's, found {found}; {ELSEWHERE}")


def _from_sqlite(path: Path, error: sqlite3.Error) -> TdeltaError:
    name: str = getattr(error, "sqlite_errorname", "")
    primary = "_".join(name.split("_")[:2])  # SQLITE_IOERR_WRITE is an SQLITE_IOERR
    if primary in _FULL:
        return StorageFault(f"store {path}: the disk is full ({error}); free some space, or {ELSEWHERE}")
    if primary in _NOT_WRITABLE:
        return StorageFault(f"store {path}: cannot be opened or written ({error}); check the folder, or {ELSEWHERE}")
    if primary in _HELD:
        return StoreError(f"store {path}: another process holds it ({error}); wait for that one, or {ELSEWHERE}")
    if primary == "SQLITE_NOTADB":
        return not_a_store(path, "a file that is not an SQLite database")
    return StoreError(f"store {path}: {error} ({name or type(error).__name__}); {ELSEWHERE}")

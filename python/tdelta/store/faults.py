"""What can go wrong with a store, in words a user can act on. No traceback for a full disk."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from tdelta.errors import StorageFault, StoreError, StoreTooNew, TdeltaError
from tdelta.messages import Refusal

_FULL = frozenset({"SQLITE_FULL"})
_NOT_WRITABLE = frozenset({"SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_PERM"})
_HELD = frozenset({"SQLITE_BUSY", "SQLITE_LOCKED"})


@contextlib.contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system raise about the store at ``path`` into tdelta's own exceptions.

    Raises:
        StorageFault: disk full, folder missing or not writable, input/output error.
        StoreError: another process holds the store, or it is damaged or no database at all.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise _from_sqlite(path, error) from error
    except UnicodeEncodeError as error:
        fault = "its name, or that of another file of the run, is no text"
        raise StorageFault(Refusal.of("store-unusable", path=path, fault=fault)) from error
    except (UnicodeError, OverflowError) as error:  # a table's own name, or a number, that a flipped bit made
        raise StoreError(Refusal.of("store-damaged", path=path, fault=error)) from error
    except OSError as error:
        raise StorageFault(Refusal.of("store-unusable", path=path, fault=error.strerror or error)) from error


@contextlib.contextmanager
def decoding(path: Path) -> Iterator[None]:
    """Say of which store it is that something in it cannot be read.

    Raises:
        StoreError: what is there is not what any version wrote.
    """
    try:
        yield
    except StoreError as error:
        raise StoreError(Refusal.of("store-unusable", path=path, fault=error)) from error
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise StoreError(Refusal.of("store-damaged", path=path, fault=f"{type(error).__name__}: {error}")) from error


def changed(path: Path, part: str) -> StoreError:
    """Say that what is there is not what was written."""
    return StoreError(Refusal.of("store-changed", path=path, part=part))


def too_new(path: Path, found: int, known: int) -> StoreTooNew:
    return StoreTooNew(Refusal.of("store-too-new", path=path, known=known, found=found))


def not_a_store(path: Path, found: str) -> StoreError:
    return StoreError(Refusal.of("not-a-store", path=path, found=found))


def _from_sqlite(path: Path, error: sqlite3.Error) -> TdeltaError:
    name: str = getattr(error, "sqlite_errorname", "")
    primary = "_".join(name.split("_")[:2])  # SQLITE_IOERR_WRITE is an SQLITE_IOERR
    if primary in _FULL:
        return StorageFault(Refusal.of("store-disk-full", path=path, fault=error))
    if primary in _NOT_WRITABLE:
        return StorageFault(Refusal.of("store-unusable", path=path, fault=f"not writable ({error})"))
    if primary in _HELD:
        return StoreError(Refusal.of("store-unusable", path=path, fault=f"another process uses it ({error})"))
    if primary == "SQLITE_NOTADB":
        return not_a_store(path, "a file that is not an SQLite database")
    return StoreError(Refusal.of("store-unusable", path=path, fault=f"{error} ({name or type(error).__name__})"))

"""Where a page goes: whole or not at all, and never over a file that tdelta did not write."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from tdelta.document.blocks import MARKER
from tdelta.errors import StorageFault, UsageError
from tdelta.inputs import real_path, written_to
from tdelta.messages import Refusal
from tdelta.store.export import replacing

_FIRST_LINE_BYTES = 200
_PRIVATE = 0o600
"""A page tells of names of tables, statements and servers: who else may read it, its owner says."""


def write_page(text: str, path: Path, *, force: bool = False) -> None:
    """Write a page to a file, beside it first and then renamed; a device or a pipe is written to.

    Raises:
        UsageError: something is there that is no report of tdelta's, and ``force`` is not given.
        StorageFault: the file cannot be written.
    """
    with _faults(path):
        if path.exists() and not path.is_file():
            with written_to(path) as out:
                out.write(text)
            return
        _require_ours(path, force=force)
        with replacing(real_path(path), _PRIVATE) as out:
            out.write(text)


def require_place(path: Path, *, force: bool = False) -> None:
    """See that a page can go there, before what it is to show is measured; raises as `write_page` does."""
    with _faults(path):
        if path.exists():
            _require_ours(path, force=force)
            return
        folder = real_path(path).parent
        folder.stat()
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@contextlib.contextmanager
def _faults(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise StorageFault(Refusal.of("report-not-writable", path=path, fault=reason)) from error


def _require_ours(path: Path, *, force: bool) -> None:
    if path.is_file() and not force and not is_report(path):
        raise UsageError(Refusal.of("report-elsewhere", path=str(path)))


def is_report(path: Path) -> bool:
    with path.open("rb") as file:
        first = file.readline(_FIRST_LINE_BYTES)
    return first.startswith(f"<!DOCTYPE html><!-- {MARKER}".encode())

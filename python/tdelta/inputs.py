"""The files that users name: regular ones only, opened without waiting for anybody, and read up to a limit.

Beside that, the refusals that are said most often of what they wrote.

A pipe would wait for its writer, a device has no end, and a file may be larger than memory. What reads a user's file
opens it here. What is written may go to a terminal or a pipe (`/dev/stdout`), but not to a disk.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, TextIO

from tdelta.messages import Refusal

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class NotRegular(OSError):
    """The path leads to something that is not a regular file; ``strerror`` says so, ``kind`` names it."""

    def __init__(self, kind: str, path: Path) -> None:
        self.kind = kind
        super().__init__(None, f"expected a regular file, found {kind}", str(path))


class TextFault(ValueError):
    """A file that is not the text that it should be; ``line`` counts from 1, and is 0 for the file as a whole."""

    def __init__(self, line: int, said: Refusal) -> None:
        self.line = line
        self.said = said
        super().__init__(said)


def unexpected(expected: str, found: object, where: object = "") -> Refusal:
    return Refusal.of("unexpected", expected=expected, found=found).at(where)


def out_of_range(what: str, wanted: str, found: object, where: object = "") -> Refusal:
    return Refusal.of("out-of-range", what=what, wanted=wanted, found=found).at(where)


def too_many(what: str, most: object, where: object = "") -> Refusal:
    return Refusal.of("too-many", what=what, most=most).at(where)


def too_large(what: str, most: object, where: object = "") -> Refusal:
    return Refusal.of("too-large", what=what, most=most).at(where)


def missing(what: str) -> Refusal:
    return Refusal.of("missing", what=what)


def requires(what: str, needs: str) -> Refusal:
    return Refusal.of("requires", what=what, needs=needs)


def conflict(one: str, other: str) -> Refusal:
    return Refusal.of("conflict", one=one, other=other)


def opened(path: Path) -> BinaryIO:
    """A regular file, links followed, opened for reading.

    A file of the system that has nothing to read at the moment (``/proc/kmsg``) reads as an empty one.

    Raises:
        NotRegular: it is a folder, a pipe, a socket or a device.
        OSError: it cannot be opened.
    """
    require_regular(path)  # before it is opened, which alone can rewind a tape
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _require_regular(os.fstat(descriptor), path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def open_quietly(path: Path | str) -> int:
    """A descriptor to read from. A pipe is never waited for; the access time stays where the owner may ask for that."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        return os.open(path, flags | os.O_NOATIME)
    except PermissionError:  # not the owner's, or not readable at all, which the second try tells
        return os.open(path, flags)


def require_regular(path: Path) -> None:
    """See that a path leads to a regular file.

    Raises:
        NotRegular: it does not.
        OSError: there is nothing, or it cannot be looked at.
    """
    _require_regular(path.stat(), path)


def real_path(path: Path) -> Path:
    """Where a path leads, links followed, be there something or not.

    Raises:
        OSError: its links lead in a circle.
    """
    found = Path(os.path.realpath(path))
    if found.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return found


def written_to(path: Path) -> TextIO:
    """A terminal, a pipe or the like that is there, opened for writing as UTF-8.

    Raises:
        OSError: it is a disk, nobody reads from it, or it cannot be opened.
    """
    if stat.S_ISBLK(path.stat().st_mode):
        raise OSError(None, "expected a file, a pipe or a terminal, found a disk", str(path))
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(errno.ENXIO, "nobody reads from it", str(path)) from None
        raise
    os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "w", encoding="utf-8", newline="")


def text_of(path: Path, most_bytes: int) -> str:
    r"""The content of a text file, its line ends as ``\n``.

    Raises:
        TextFault: it is longer than ``most_bytes``, not UTF-8, or has a zero byte.
        OSError: as `opened`.
    """
    with opened(path) as file:
        content = file.read(most_bytes + 1) or b""
    if len(content) > most_bytes:
        raise TextFault(0, too_large("the file", size_words(most_bytes)))
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TextFault(line, Refusal.of("not-utf-8", byte=content[error.start])) from None
    if "\0" in text:
        raise TextFault(text.count("\n", 0, text.index("\0")) + 1, unexpected("text", "a zero byte"))
    return text.replace("\r\n", "\n").replace("\r", "\n")


def size_words(size_bytes: int) -> str:
    """A limit as messages give it: ``1 MiB``."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:.3g} {name}"
    return f"{size_bytes} bytes"


def _require_regular(found: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(found.st_mode)), "something else")
        raise NotRegular(kind, path)

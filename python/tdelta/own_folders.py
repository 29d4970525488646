"""Folders of this user's own, opened and changed so that no other user of the machine can redirect it.

What tdelta removes, changes the mode of or unmounts may lie where others can write, such as ``/tmp``: they could put a
link in its place, or a folder of theirs under its name. So a folder is opened first, without following its last
component, nor a link of another user's on the way; its owner is checked; and all that follows goes by the descriptor.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

_MODE = 0o700
_MOST_LINKS = 40
_PASSED = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def is_trusted(found: os.stat_result) -> bool:
    return found.st_uid in (0, os.geteuid())


def opened(path: Path) -> int:
    """A descriptor of a folder that is this user's.

    Raises ``PermissionError`` where it is another's, or a link of another's is on the way.
    """
    with _above(path) as above:
        return _opened_in(above, path)


def make(path: Path, *, is_new: bool = False) -> int:
    """Make a folder for this user alone, whatever the umask, and those above it that are missing; returns a descriptor.

    One that is there must be this user's, and is closed to others; with `is_new` it must not be there.
    """
    ensure(path.absolute().parent)
    with _above(path) as above:
        try:
            os.mkdir(path.name, _MODE, dir_fd=above)
        except FileExistsError:
            if is_new:
                raise
        descriptor = _opened_in(above, path)
    try:
        os.fchmod(descriptor, _MODE)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def ensure(path: Path) -> None:
    """See that a folder is there, whoever's it is; one that is missing is made as `make` does."""
    try:
        with _reached(path):
            pass
    except FileNotFoundError:
        os.close(make(path))


def empty(descriptor: int, but: str = "") -> bool:
    """Remove all that is in an opened folder, ``but`` excepted. Returns whether there was nothing."""
    with os.scandir(descriptor) as entries:
        found = [(one.name, one.is_dir(follow_symlinks=False)) for one in entries if one.name != but]
    for name, is_folder in found:
        if is_folder:
            shutil.rmtree(name, ignore_errors=True, dir_fd=descriptor)
        else:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=descriptor)
    return not found


def remove(path: Path) -> None:
    """Remove a folder of this user's with all that is in it; a link or another user's is left alone, without a word."""
    with contextlib.suppress(OSError):
        descriptor = opened(path)
        try:
            empty(descriptor)
            remove_empty(path, descriptor)
        finally:
            os.close(descriptor)


def remove_of_dead(place: Path, prefix: str) -> None:
    """Remove folders that a process with their number (``PREFIX123-…``) left, and that is no more."""
    for folder in place.glob(f"{prefix}*"):
        owner = folder.name.removeprefix(prefix).partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            remove(folder)


def remove_empty(path: Path, descriptor: int | None = None) -> None:
    """Remove a folder of this user's that is empty; ``descriptor``: only if it is the one that was opened."""
    with _above(path) as above:
        found = os.stat(path.name, dir_fd=above, follow_symlinks=False)
        if found.st_uid != os.geteuid() or not (descriptor is None or os.path.samestat(found, os.fstat(descriptor))):
            raise _refused(path)
        os.rmdir(path.name, dir_fd=above)


def unlink(path: Path) -> None:
    """Remove a file from a folder, which must be this user's."""
    descriptor = opened(path.absolute().parent)
    try:
        os.unlink(path.name, dir_fd=descriptor)
    finally:
        os.close(descriptor)


def _opened_in(above: int, path: Path) -> int:
    descriptor = os.open(path.name, _FOLDER, dir_fd=above)
    if os.fstat(descriptor).st_uid != os.geteuid():
        os.close(descriptor)
        raise _refused(path)
    return descriptor


@contextlib.contextmanager
def _above(path: Path) -> Iterator[int]:
    """A descriptor of the folder that a path is in; what fails within the block names the path."""
    try:
        with _reached(path.absolute().parent) as above:
            yield above
    except OSError as error:
        error.filename = str(path)
        raise


@contextlib.contextmanager
def _reached(path: Path) -> Iterator[int]:
    """A descriptor to reach what is in a folder; links on the way are followed if they are this user's or root's."""
    here = os.open("/", _PASSED)
    try:
        names, links = list(path.absolute().parts[:0:-1]), 0
        while names:
            name = names.pop()
            following = os.open(name, _PASSED, dir_fd=here)
            found = os.fstat(following)
            if not stat.S_ISLNK(found.st_mode):
                os.close(here)
                here = following
                continue
            try:
                target = os.readlink("", dir_fd=following)
            finally:
                os.close(following)
            links += 1
            if not is_trusted(found):
                raise _refused(path)
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
            if target.startswith("/"):
                os.close(here)
                here = os.open("/", _PASSED)
            names.extend(part for part in reversed(target.split("/")) if part)
        if not stat.S_ISDIR(os.fstat(here).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
        yield here
    finally:
        os.close(here)


def _refused(path: Path) -> PermissionError:
    return PermissionError(errno.EPERM, "it belongs to another user, or a link of another user leads to it", str(path))

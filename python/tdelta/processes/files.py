"""Where twins live on disk: one folder a run, owned by one process, and gone when that process is.

A keeper process, started before the folder is made, removes it when the owner dies without having done so
(`tdelta.processes.cleanup`). The owner holds a lock on a file in the folder; where the keeper was killed, too, the next
command finds the lock free and removes the folder (`sweep_all`). Only folders of this user's with that file in them,
which only tdelta makes, are ever removed, by `tdelta.own_folders`. What is in them may be rows of a database that only
its owner may read: folders are 0700 and files 0600 from their first byte.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from tdelta import own_folders
from tdelta.errors import StorageFault
from tdelta.measure.children import Child
from tdelta.measure.private import FILE_MODE, private
from tdelta.messages import Refusal
from tdelta.processes.mounts import unmount_below
from tdelta.processes.templates import Templates

_KEEPER = "tdelta.processes.cleanup"
_KEEPER_SECONDS = 90.0
_LOCK = ".tdelta-owner"
_NEW_LOCK = os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
_PREFIX = "twins-"
_ELSEWHERE = "elsewhere"
"""In the default place, links to the folders of runs that are in other places: `sweep_all` finds them there."""

_GONE = (errno.ENOENT, errno.ENOTCONN)
"""Errors of files that are gone, or whose file system's process has died."""

_COPY_BYTES = 1 << 24
_REMOVAL_SECONDS = 3.0
_LOOK_AGAIN_SECONDS = 0.05


class TwinFolder:
    """The folder of one run's twins, removed on exit; ``templates`` is where loaded data are kept beyond that."""

    def __init__(self, base: Path, run_id: str, templates: Templates | None = None) -> None:
        self.run_id = run_id
        self.templates = templates
        self.path = base.absolute() / f"{_PREFIX}{run_id}"  # servers change to folders of their own
        self._keeper = Child(_KEEPER, os.environ)
        try:
            self._keeper.send("keep", folder=str(self.path))  # nobody waits: the request is in the pipe
            self._held, self._lock = _owned(self.path)
        except BaseException:
            self._keeper.kill()
            self._keeper.close(_KEEPER_SECONDS)
            raise

    def __enter__(self) -> TwinFolder:
        return self

    def __exit__(self, *_: object) -> None:
        _remove(self.path, self._held)
        os.close(self._lock)
        os.close(self._held)
        if not self.path.exists():
            self._keeper.kill()  # there is nothing left to do for it
        self._keeper.close(_KEEPER_SECONDS)

    def file(self, name: str) -> Path:
        return self.path / f"{name}.db"

    def copy(self, source: Path, name: str) -> Path:
        """Copy a loaded file for an instance. Plain reads and writes: a shared extent would tie twins together."""
        target = self.file(name)
        try:
            with source.open("rb") as reader, private(target) as writer:
                shutil.copyfileobj(reader, writer, _COPY_BYTES)
                writer.flush()
                os.fsync(writer.fileno())
        except OSError as error:
            raise StorageFault(
                Refusal.of("cannot-copy", source="the copy", target=target, fault=error.strerror)
            ) from error
        return target

    def remove(self, path: Path) -> None:
        for suffix in ("", "-wal", "-shm", "-journal"):
            try:
                own_folders.unlink(Path(f"{path}{suffix}"))
            except OSError as error:
                if error.errno not in _GONE:
                    raise


def default_base() -> Path:
    """Where twins go by default: a cache folder of the user's, which is on a real disk more often than /tmp is."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "tdelta"


def default_templates() -> Templates:
    return Templates(default_base().absolute() / "templates")


def sweep(base: Path) -> tuple[Path, ...]:
    return tuple(folder for folder in sorted(base.glob(f"{_PREFIX}*")) if remove_abandoned(folder))


def sweep_all() -> tuple[Path, ...]:
    """Remove the folders that killed runs left, wherever they were made. Returns them."""
    base = default_base()
    found = list(sweep(base))
    for link in sorted((base / _ELSEWHERE).glob("*")):
        with contextlib.suppress(OSError):
            folder = link.readlink()
            if remove_abandoned(folder):
                found.append(folder)
            elif not folder.exists():
                _forget(folder)
    return tuple(found)


def remove_abandoned(folder: Path) -> bool:
    """Remove a run's folder whose owner is gone, holding its lock meanwhile. Returns whether it was such a one."""
    with contextlib.suppress(OSError), _opened(folder) as (descriptor, lock):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(folder, descriptor)
        return True
    return False


def is_owned(base: Path, run_id: str) -> bool:
    with contextlib.suppress(OSError), _opened(base / f"{_PREFIX}{run_id}") as (_, lock):
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def is_of_a_run(folder: Path) -> bool:
    """Whether this is a run's folder, its owner living or not; also one that went with its run and was made again by a
    supervisor that read its first request when tdelta was dead already."""
    return folder.name.startswith(_PREFIX) or (folder / _LOCK).exists()


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[tuple[int, int]]:
    """Descriptors of a run's folder and of its lock, both of this user's; raises ``OSError`` where it is none."""
    descriptor = own_folders.opened(folder)
    try:
        lock = os.open(_LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=descriptor)
        try:
            found = os.fstat(lock)
            if found.st_uid != os.geteuid() or not stat.S_ISREG(found.st_mode):
                raise OSError(errno.EPERM, "it is no run's folder", str(folder))
            yield descriptor, lock
        finally:
            os.close(lock)
    finally:
        os.close(descriptor)


def _owned(folder: Path) -> tuple[int, int]:
    try:
        _remember(folder)
        if (held := _make_owned(folder)) is not None:
            return held
    except OSError as error:
        raise StorageFault(Refusal.of("folder-unusable", folder=folder, fault=error.strerror)) from error
    raise StorageFault(Refusal.of("folder-in-use", folder=folder))


def _make_owned(folder: Path) -> tuple[int, int] | None:
    """Make a folder and lock it; None if another holds the lock and does not let go soon, as one that removes would."""
    give_up = time.monotonic() + _REMOVAL_SECONDS
    while time.monotonic() < give_up:
        try:
            descriptor = own_folders.make(folder)
            try:
                lock = os.open(_LOCK, _NEW_LOCK, FILE_MODE, dir_fd=descriptor)
            except BaseException:
                os.close(descriptor)
                raise
        except FileNotFoundError:  # a supervisor that outlives a killed run removed it between two of these calls
            if not folder.parent.is_dir():
                raise
            time.sleep(_LOOK_AGAIN_SECONDS)
            continue
        if _is_locked(lock, descriptor):
            return descriptor, lock
        os.close(lock)
        os.close(descriptor)
        time.sleep(_LOOK_AGAIN_SECONDS)
    return None


def _is_locked(lock: int, folder: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(lock), os.stat(_LOCK, dir_fd=folder, follow_symlinks=False))
    except OSError:
        return False


def _remove(folder: Path, descriptor: int) -> None:
    """Remove all of it, the lock last: what is killed on the way leaves a folder that is still known as a run's.

    A worker that is about to die may write a file meanwhile, so that is done until nothing is left.
    """
    unmount_below(descriptor)  # else the files would be removed through a mount, or a dead one would keep the folder
    give_up = time.monotonic() + _REMOVAL_SECONDS
    while not own_folders.empty(descriptor, but=_LOCK) and time.monotonic() < give_up:
        time.sleep(_LOOK_AGAIN_SECONDS)
    if all(name == _LOCK for name in os.listdir(descriptor)):
        with contextlib.suppress(OSError):
            own_folders.empty(descriptor)
            own_folders.remove_empty(folder, descriptor)
        _forget(folder)


def _link(folder: Path) -> Path:
    """The link by which `sweep_all` finds a folder that is not in the default place."""
    digest = hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:12]
    return default_base() / _ELSEWHERE / f"{folder.name}-{digest}"


def _remember(folder: Path) -> None:
    """Leave a link to a folder that is not in the default place; without a writable one none is left."""
    if folder.absolute().parent != default_base().absolute():
        link = _link(folder)
        with contextlib.suppress(OSError):
            os.close(own_folders.make(link.parent))
            link.symlink_to(folder.absolute())


def _forget(folder: Path) -> None:
    link = _link(folder)
    with contextlib.suppress(OSError):
        link.unlink()
        link.parent.rmdir()  # where it is the last one

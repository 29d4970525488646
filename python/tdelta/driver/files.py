"""Where twins live on disk: one folder a run, owned by one process, and gone when that process is.

The owner holds a lock on a file in the folder. A folder whose lock is free belongs to a run that was killed; the next
run removes it. Only folders with that file in them, which only tdelta makes, are ever removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from tdelta.driver.servers.mounts import unmount_below
from tdelta.errors import StorageFault

_LOCK = ".tdelta-owner"
_PREFIX = "twins-"
_COPY_BYTES = 1 << 24
_REMOVAL_SECONDS = 3.0
_LOOK_AGAIN_SECONDS = 0.05


class TwinFolder:
    """The folder of one run's twins, removed on exit.

    Raises:
        StorageFault: the folder cannot be made or written to.
    """

    def __init__(self, base: Path, run_id: str) -> None:
        self.run_id = run_id
        self.path = base / f"{_PREFIX}{run_id}"
        try:
            lock = _make_owned(self.path)
        except OSError as error:
            raise StorageFault(
                f"cannot make the twins' folder {self.path}: {error.strerror}; choose a writable one with --dir"
            ) from error
        if lock is None:
            raise StorageFault(f"{self.path} is in use by another tdelta: wait for it to end, or use --dir")
        self._lock = lock
        self._once_removed: list[Callable[[], object]] = []

    def once_removed(self, call: Callable[[], object]) -> None:
        """Call this when the folder is gone."""
        self._once_removed.append(call)

    def __enter__(self) -> TwinFolder:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        _remove(self.path)
        os.close(self._lock)
        while self._once_removed:
            self._once_removed.pop()()

    def file(self, name: str) -> Path:
        """The path of a database file of that name."""
        return self.path / f"{name}.db"

    def copy(self, source: Path, name: str) -> Path:
        """Copy a loaded file for a new instance. Plain reads and writes: a shared extent would tie the twins together.

        Raises:
            StorageFault: there is no room.
        """
        target = self.file(name)
        try:
            with source.open("rb") as reader, target.open("wb") as writer:
                shutil.copyfileobj(reader, writer, _COPY_BYTES)
                writer.flush()
                os.fsync(writer.fileno())
        except OSError as error:
            raise StorageFault(
                f"cannot copy a twin to {target}: {error.strerror}; free some space, or use --dir or a smaller --size"
            ) from error
        return target

    def remove(self, path: Path) -> None:
        """Remove a database file with its log and journal."""
        for suffix in ("", "-wal", "-shm", "-journal"):
            with contextlib.suppress(FileNotFoundError):
                Path(f"{path}{suffix}").unlink()


def sweep(base: Path) -> tuple[Path, ...]:
    """Remove the folders that killed runs left in ``base``. Returns them."""
    return tuple(folder for folder in sorted(base.glob(f"{_PREFIX}*")) if remove_abandoned(folder))


def remove_abandoned(folder: Path) -> bool:
    """Remove a run's folder whose owner is gone, holding its lock meanwhile. Returns whether it was such a one."""
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(folder)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def is_of_a_run(folder: Path) -> bool:
    """Whether this is a run's folder, its owner living or not; also one that went with its run and was made again.

    A supervisor may read its first order when tdelta is dead already, and the folder removed by another supervisor.
    """
    return folder.name.startswith(_PREFIX) or (folder / _LOCK).exists()


def _make_owned(folder: Path) -> int | None:
    """Make a folder and lock it; None if another holds the lock and does not let go soon, as one that removes would."""
    give_up = time.monotonic() + _REMOVAL_SECONDS
    while time.monotonic() < give_up:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o700)  # twins may hold the rows of a database that only its owner may read
            lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:  # a supervisor that outlives a killed run removed it between two of these calls
            if not folder.parent.is_dir():
                raise
            time.sleep(_LOOK_AGAIN_SECONDS)
            continue
        if _is_locked(lock, folder / _LOCK):
            return lock
        os.close(lock)
        time.sleep(_LOOK_AGAIN_SECONDS)
    return None


def _is_locked(descriptor: int, path: Path) -> bool:
    """Lock a file, and make sure that nobody removed it meanwhile."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


def _remove(folder: Path) -> None:
    """Remove all of it, the lock last: what is killed on the way leaves a folder that is still known as a run's."""
    unmount_below(folder)  # else the files would be removed through a mount, or a dead one would keep the folder
    with contextlib.suppress(OSError):
        for path in list(folder.iterdir()):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != _LOCK:
                path.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)

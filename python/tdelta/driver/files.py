"""Where twins live on disk: one folder a run, owned by one process, and gone when that process is.

The owner holds a lock on a file in the folder. A folder whose lock is free belongs to a run that was killed; the next
run removes it. Only folders with that file in them, which only tdelta makes, are ever removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from pathlib import Path
from types import TracebackType

from tdelta.errors import StorageFault

_LOCK = ".tdelta-owner"
_PREFIX = "twins-"
_COPY_BYTES = 1 << 24


class TwinFolder:
    """The folder of one run's twins, removed on exit.

    Raises:
        StorageFault: the folder cannot be made or written to.
    """

    def __init__(self, base: Path, run_id: str) -> None:
        self.path = base / f"{_PREFIX}{run_id}"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.path.chmod(0o700)  # twins may hold the rows of a database that only its owner may read
            self._lock = os.open(self.path / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StorageFault(
                f"cannot make the twins' folder {self.path}: {error.strerror}; choose a writable one with --dir"
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise StorageFault(f"{self.path} is in use by another tdelta: wait for it to end, or use --dir") from error

    def __enter__(self) -> TwinFolder:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)

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
    return tuple(folder for folder in sorted(base.glob(f"{_PREFIX}*")) if _remove_abandoned(folder))


def _remove_abandoned(folder: Path) -> bool:
    """Remove a folder whose owner is gone, holding its lock meanwhile."""
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True

"""Loaded data directories that outlive their run: the next run of the same work copies them and loads nothing.

A template is a folder in its store, named by a digest of all that decides its content. It is filled under another name
and renamed, so one that is there is whole. Who reads it holds a lock on it, and it is not removed meanwhile; what a
killed process left half-filled has no lock, and goes with the next template. The store holds the secret that the keys
of its encrypted templates come of, for their owner only. Without room or rights a run does without.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import hmac
import json
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tdelta import _native, own_folders
from tdelta.errors import StorageFault
from tdelta.measure.private import FILE_MODE, private
from tdelta.measure.space import allocated

MOST_BYTES = 8 << 30

_FACTS = "facts.json"
_SECRET = "secret"  # noqa: S105 - the name of its file
_SECRET_BYTES = 32
_OPENED = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = ".new-"
_MOST_NEW_SECONDS = 3600.0
"""Nobody writes a new file for longer."""

_FREE_TIMES = 8
"""So many times as much as a template takes has to be free: other loads and a round's copies are still to come."""


NO_FOLDER = Path("/template")
"""Stands for its folder in what a template's digest is of."""


def digest_of(programs: Iterable[Path], *parts: Any) -> str:
    """A template's digest: of the programs that make it, tdelta's included, and all else that decides its content."""
    found = [(path, path.stat()) for path in (*programs, Path(_native.__file__))]
    made_by = [(str(path), status.st_size, status.st_mtime_ns) for path, status in found]
    return hashlib.sha256(json.dumps([made_by, *parts], default=str, sort_keys=True).encode()).hexdigest()


class Template:
    """One template, locked against removal until `close`."""

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder = folder
        self._lock = lock
        self.facts: dict[str, Any] = json.loads((folder / _FACTS).read_text())

    def remember(self, **facts: Any) -> None:
        """Add to its facts, JSON values, where the disk allows."""
        self.facts |= facts
        with contextlib.suppress(OSError):
            _write_facts(self.folder, self.facts)

    def discard(self) -> None:
        """Have nobody take it any more; who copies from it goes on."""
        with contextlib.suppress(OSError):
            own_folders.unlink(self.folder / _FACTS)

    def close(self) -> None:
        os.close(self._lock)


class Templates:
    """A store of templates in one folder, made when something is kept.

    One that may hold rows of a user's database (``of_users``) is cleared by its maker. Where all take more than
    ``most_bytes``, those go first that were not used for longest.
    """

    def __init__(self, root: Path, *, of_users: bool = False, most_bytes: int = MOST_BYTES) -> None:
        self.root = root
        self.of_users = of_users
        self._most_bytes = most_bytes

    def key(self, cipher: str) -> str:
        root = own_folders.make(self.root)
        try:
            secret = os.open(_SECRET, os.O_RDWR | os.O_CREAT | _OPENED, FILE_MODE, dir_fd=root)
        finally:
            os.close(root)
        with os.fdopen(secret, "r+b", buffering=0) as file:
            found = os.fstat(secret)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
                raise PermissionError(errno.EPERM, "it is not this user's alone", str(self.root / _SECRET))
            fcntl.flock(secret, fcntl.LOCK_EX)
            drawn = file.read()
            if len(drawn) != _SECRET_BYTES:  # it is new, or its maker was killed
                drawn = secrets.token_bytes(_SECRET_BYTES)
                os.pwrite(secret, drawn, 0)
                os.fsync(secret)
        return hmac.digest(drawn, cipher.encode(), "sha256").hex()

    def taken(self, digest: str) -> Template | None:
        folder = self.root / digest
        with contextlib.suppress(OSError, ValueError):
            lock = own_folders.opened(folder)
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(lock), folder.stat()):  # else it was removed before it was locked
                    os.utime(lock)
                    return Template(folder, lock)
            except BaseException:
                os.close(lock)
                raise
            os.close(lock)
        return None

    def kept(
        self, digest: str, size_bytes: int, facts: Mapping[str, Any], fill: Callable[[Path], None]
    ) -> Template | None:
        """Keep what ``fill`` writes into a folder; returns it to copy from. None where there is no room or right to."""
        try:
            os.close(own_folders.make(self.root))
            if not self._makes_room(size_bytes):
                return None
            self._fill(digest, {**facts, "bytes": size_bytes}, fill)
        except (OSError, StorageFault):
            return None
        return self.taken(digest)

    def clear(self) -> int:
        """Remove all that nobody is at; returns their bytes."""
        return sum(self._removed(folder) for folder in self._oldest_first()) if self.root.is_dir() else 0

    def size_bytes(self) -> int:
        return sum(map(_size_bytes, self._oldest_first())) if self.root.is_dir() else 0

    def _fill(self, digest: str, facts: Mapping[str, Any], fill: Callable[[Path], None]) -> None:
        folder = self._new()
        with _locked(own_folders.make(folder, is_new=True)):
            try:
                fill(folder)
                _write_facts(folder, facts)
                folder.rename(self.root / digest)
            except OSError:  # it is there by now, or the disk is full
                own_folders.remove(folder)
            except BaseException:
                own_folders.remove(folder)
                raise

    def _new(self) -> Path:
        return self.root / f"{_NEW}{secrets.token_hex(8)}"

    def _makes_room(self, size_bytes: int) -> bool:
        """Remove what was left, and templates only where the new one then fits."""
        found = {folder: _size_bytes(folder) for folder in self._oldest_first()}
        for folder, size in found.items():
            if folder.name.startswith(_NEW) or not (folder / _FACTS).exists():
                found[folder] -= min(size, self._removed(folder))
            else:
                _remove_left(folder)
        if size_bytes > self._most_bytes or shutil.disk_usage(self.root).free <= _FREE_TIMES * size_bytes:
            return False
        for folder, size in found.items():
            if sum(found.values()) + size_bytes > self._most_bytes:
                found[folder] -= min(size, self._removed(folder))
        return sum(found.values()) + size_bytes <= self._most_bytes

    def _oldest_first(self) -> list[Path]:
        folders = [path for path in self.root.iterdir() if path.is_dir() and not path.is_symlink()]
        return sorted(folders, key=lambda path: path.stat().st_mtime)

    def _removed(self, folder: Path) -> int:
        """Remove a template unless it is locked; returns its bytes, 0 if it stays."""
        with contextlib.suppress(OSError), _locked(own_folders.opened(folder)):
            size = _size_bytes(folder)
            left = self._new()
            folder.rename(left)  # first: what is killed from here on is no template
            own_folders.remove(left)
            return size
        return 0


@contextlib.contextmanager
def _locked(descriptor: int) -> Iterator[None]:
    """Raises BlockingIOError if another holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _size_bytes(folder: Path) -> int:
    return sum(map(allocated, folder.rglob("*")))


def _remove_left(folder: Path) -> None:
    for path in folder.glob(f"*{_NEW}*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _MOST_NEW_SECONDS:
                own_folders.unlink(path)


def _write_facts(folder: Path, facts: Mapping[str, Any]) -> None:
    new = folder / f"{_FACTS}{_NEW}{os.getpid()}"
    with private(new) as file:
        file.write(json.dumps(facts).encode())
        file.flush()
        os.fsync(file.fileno())
    new.replace(folder / _FACTS)

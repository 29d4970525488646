"""The folders of one private server: made for their owner only, and gone with it, mounts and all."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from pathlib import Path

from tdelta import own_folders
from tdelta.processes.mounts import unmount_below
from tdelta.processes.servers.recipes import ServerPaths

_SOCKET_BYTES = 107
_SOCKET_NAME = "s"


def place_for(folder: Path, socket_name: str = _SOCKET_NAME) -> ServerPaths:
    """The place of a server in ``folder``. Makes nothing: the supervisor does, and removes it.

    The socket lies in the folder if its path is short enough, else in one of its own, which nobody else may enter.
    """
    near = folder / socket_name
    if len(os.fsencode(near)) <= _SOCKET_BYTES:
        return ServerPaths(folder, near)
    return ServerPaths(folder, _runtime_folder() / f"tdelta-{secrets.token_hex(6)}" / socket_name)


def _runtime_folder() -> Path:
    named = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    if named.is_absolute() and os.access(named, os.W_OK):
        return named
    return Path(tempfile.gettempdir())


_NO_ROOM_BYTES = 1 << 20
_LAST_BYTES = 8192
_WAITING = b"aiting for someone to free"


class ServerDirectories:
    """Where one server stands. What another made there meanwhile, under the same name, is left alone."""

    def __init__(self, place: ServerPaths) -> None:
        self._place = place
        self._held: dict[Path, int] = {}
        self._make(place.folder)
        place.keys.mkdir(mode=0o700)
        place.temporary.mkdir(mode=0o700)
        if place.socket.parent != place.folder:
            self._make(place.socket.parent)

    def clear(self) -> None:
        """Remove all of it. Nothing of the server may run any more."""
        for folder, descriptor in self._held.items():
            remove_opened(folder, descriptor)
            os.close(descriptor)
        self._held.clear()

    def _make(self, folder: Path) -> None:
        self._held[folder] = own_folders.make(folder, is_new=True)


def remove_opened(folder: Path, descriptor: int) -> None:
    """Undo what is mounted below an opened folder, and remove it with all that is in it."""
    unmount_below(descriptor)
    own_folders.empty(descriptor)
    with contextlib.suppress(OSError):  # another is there now, which is left alone
        own_folders.remove_empty(folder, descriptor)


def has_no_room(folder: Path) -> bool:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize <= _NO_ROOM_BYTES


def waits_for_room(place: ServerPaths) -> bool:
    """Whether a server, or what makes its data, waits until space is freed, as MariaDB does without end."""
    return has_no_room(place.folder) and _WAITING in last_of(place.log)


def last_of(log: Path) -> bytes:
    """The end of a log; nothing where it cannot be read."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LAST_BYTES))
            return file.read()
    except OSError:
        return b""

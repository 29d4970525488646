"""A private server as data: how it is made and run, and where its folders are; and the removal of these.

Every private server has its folder (`ServerPaths`): data directory, configuration, keyring, log and socket.
A recipe goes to its supervisor through a pipe, since keys are in it.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import os
import pickle
import secrets
import signal
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tdelta import own_folders
from tdelta.processes.mounts import unmount_below


@dataclass(frozen=True, slots=True)
class ServerPaths:
    """Where one server lives. ``socket`` must be short: a Unix socket's path has at most 107 bytes."""

    folder: Path
    socket: Path

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    @property
    def keys(self) -> Path:
        """Keyring files, readable by their owner only, never inside the data directory."""
        return self.folder / "keys"

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"


@dataclass(frozen=True, slots=True)
class Command:
    """One program to run. ``environment`` is added to tdelta's own, less ``OPENSSL_ia32cap``; it holds no secret.

    ``as_user``: the program refuses to run as root (PostgreSQL): where tdelta is root it is run in a user namespace in
    which it is not. ``secret`` goes to its standard input.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    as_user: bool = False
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Mount:
    """An encrypted file system under a twin's data directory: made once, mounted while the server runs.

    ``ciphertext`` is the folder in which it keeps its encrypted files, ``at`` where it is mounted.
    """

    make: Command
    serve: Command
    ciphertext: Path
    at: Path


@dataclass(frozen=True, slots=True)
class Service:
    """A program beside a server that needs it: it is there once the file ``ready`` is, and ends with the server."""

    serve: Command
    ready: Path


@dataclass(frozen=True, slots=True)
class Greeting:
    """How a server that takes connections tells itself from one that does not yet.

    The client connects to the socket and ``says`` this (nothing: the server speaks first); the bytes of what it reads
    then that begin at ``at`` must be ``answer``.
    """

    says: bytes = b""
    answer: bytes = b""
    at: int = 0


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one server is made and run.

    ``files`` are texts by absolute path, written with mode 0600 before anything is started (configuration, keyrings;
    keys are in here, so a recipe is never printed), ``links`` symbolic links by their paths. ``initialize`` makes the
    data directory and is left out where a loaded one was copied. ``connect`` are the options of
    `tdelta._native.ServerTwin` without ``database``. ``cores`` is how many CPUs its processes may use; 0 for all.
    """

    place: ServerPaths
    files: Mapping[Path, str] = field(repr=False)
    initialize: tuple[Command, ...]
    serve: Command
    connect: Mapping[str, object]
    stop_signal: signal.Signals = signal.SIGTERM
    greeting: Greeting = Greeting()
    links: Mapping[Path, Path] = field(default_factory=dict)
    mount: Mount | None = None
    service: Service | None = None
    cores: int = 0


def packed(recipe: Recipe) -> str:
    """A recipe as text. It holds the keys: for a pipe, never for a file."""
    return base64.b64encode(pickle.dumps(recipe)).decode()


def unpacked(text: str) -> Recipe:
    recipe: Recipe = pickle.loads(base64.b64decode(text))  # noqa: S301 - from tdelta itself, by a pipe
    return recipe


def content(recipe: Recipe) -> str:
    """All that decides what a recipe makes, keys included, for a digest."""
    return repr(dataclasses.astuple(recipe))


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


def remove_opened(folder: Path, descriptor: int) -> None:
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
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LAST_BYTES))
            return file.read()
    except OSError:
        return b""

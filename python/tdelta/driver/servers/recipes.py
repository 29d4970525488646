"""How one private server is made and run: data.

Every private server has its folder (`ServerPaths`): data directory, configuration, keyring, log and socket.
A recipe goes to its supervisor as JSON, through a pipe, since keys are in it.
"""

from __future__ import annotations

import base64
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]


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
    cores: int = 0


def as_json(recipe: Recipe) -> Json:
    """What `from_json` makes a recipe of. It holds the keys: for a pipe, never for a file."""
    return {
        "folder": str(recipe.place.folder),
        "socket": str(recipe.place.socket),
        "files": {str(path): text for path, text in recipe.files.items()},
        "links": {str(path): str(target) for path, target in recipe.links.items()},
        "initialize": [_command_as_json(command) for command in recipe.initialize],
        "serve": _command_as_json(recipe.serve),
        "connect": dict(recipe.connect),
        "stop_signal": int(recipe.stop_signal),
        "greeting": {
            "says": base64.b64encode(recipe.greeting.says).decode(),
            "answer": base64.b64encode(recipe.greeting.answer).decode(),
            "at": recipe.greeting.at,
        },
        "mount": recipe.mount and _mount_as_json(recipe.mount),
        "cores": recipe.cores,
    }


def from_json(found: Mapping[str, Any]) -> Recipe:
    greeting = found["greeting"]
    return Recipe(
        place=ServerPaths(Path(found["folder"]), Path(found["socket"])),
        files={Path(path): text for path, text in found["files"].items()},
        links={Path(path): Path(target) for path, target in found["links"].items()},
        initialize=tuple(_command(stored) for stored in found["initialize"]),
        serve=_command(found["serve"]),
        connect=found["connect"],
        stop_signal=signal.Signals(found["stop_signal"]),
        greeting=Greeting(
            base64.b64decode(greeting["says"]), base64.b64decode(greeting["answer"]), int(greeting["at"])
        ),
        mount=found["mount"] and _mount(found["mount"]),
        cores=int(found["cores"]),
    )


def _command_as_json(command: Command) -> Json:
    return {
        "argv": list(command.argv),
        "environment": dict(command.environment),
        "as_user": command.as_user,
        "secret": command.secret,
    }


def _command(stored: Mapping[str, Any]) -> Command:
    return Command(tuple(stored["argv"]), stored["environment"], as_user=stored["as_user"], secret=stored["secret"])


def _mount_as_json(mount: Mount) -> Json:
    return {
        "make": _command_as_json(mount.make),
        "serve": _command_as_json(mount.serve),
        "ciphertext": str(mount.ciphertext),
        "at": str(mount.at),
    }


def _mount(stored: Mapping[str, Any]) -> Mount:
    return Mount(_command(stored["make"]), _command(stored["serve"]), Path(stored["ciphertext"]), Path(stored["at"]))

"""The parent's handle on one private server, which a supervisor process of its own holds."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tdelta import own_folders
from tdelta.errors import EnvironmentFault, ServerFault, ServerLost, StorageFault, TdeltaError, WorkerFault
from tdelta.measure.children import Child, Declined
from tdelta.measure.space import disk_refusal
from tdelta.messages import Refusal
from tdelta.processes import process_tree as tree
from tdelta.processes.servers.recipes import (
    Greeting,
    Recipe,
    has_no_room,
    last_of,
    packed,
    remove_opened,
    waits_for_room,
)
from tdelta.processes.workers import Supervisor
from tdelta.records import Usage

PULSE_SECONDS = 240.0
"""How long a server stays frozen without a break. InnoDB ends itself over a lock that has been held for 600 s
(innodb_fatal_semaphore_wait_threshold), and other engines have limits of their own."""

_SUPERVISOR = "tdelta.processes.servers.supervisor"
_START_SECONDS = 120.0
_STOP_SECONDS = 300.0
_INITIALIZE_SECONDS = 300.0
_GRACE_SECONDS = 90.0
_CLEAR_SECONDS = 10.0
_GREETING_SECONDS = 1.0
_LOOK_AGAIN_SECONDS = 0.02
_DEATH_SECONDS = 1.0
_LAST_LINES = 12
_LAST_COMPLAINTS = 5
_COMPLAINTS = ("ERROR", "FATAL", "PANIC", "error:")
_FULL = (
    *("No space left on device", "errno: 28", "Errcode: 28", "error: 28", "error 28", "Disk is full"),
    "Cannot set log file",  # MariaDB's way to say that there is no room for its redo log
)
"""How servers say that the disk is full."""


class Server:
    """One private server. Use as a context manager, or call `end`; a tdelta that dies takes it along.

    Its folder must not be there yet. Others can read the variables of its environment, so these must not be secret. It
    may be frozen for ``pulse_seconds`` without a break.
    """

    def __init__(
        self, recipe: Recipe, environment: Mapping[str, str] | None = None, *, pulse_seconds: float = PULSE_SECONDS
    ) -> None:
        self.recipe = recipe
        self._pid: int | None = None
        self._has_ended = False
        self._supervisor = Supervisor(Child.called, _SUPERVISOR)
        try:
            self._ask("adopt", recipe=packed(recipe), environment=dict(environment or {}), pulse_seconds=pulse_seconds)
        except BaseException:
            self._supervisor.close(_GRACE_SECONDS)
            raise

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def pid(self) -> int:
        """The process id of the server's first process; raises ``ServerFault`` where it was not started."""
        if self._pid is None:
            raise ServerFault(Refusal.of("server-not-started"), self.last_words())
        return self._pid

    @property
    def supervisor_pid(self) -> int:
        return self._supervisor.pid

    @property
    def measured_pid(self) -> int:
        """The root of the process tree that is measured: the supervisor, or the server itself if a service runs too."""
        return self.supervisor_pid if self.recipe.service is None else self.pid

    def start(self, *, initialize: bool = False, seconds: float = _START_SECONDS) -> None:
        """Start the server and wait until it takes connections; make its data directory first where none was copied.

        Raises:
            ServerFault: it does not start, or takes no connection in time; the message has its log's last lines.
            StorageFault: the disk is full.
        """
        if initialize:
            self.initialize(seconds=max(seconds, _INITIALIZE_SECONDS))
        self._pid = self._ask("start")["pid"]
        self._await_greeting(time.monotonic() + seconds, seconds)

    def initialize(self, *, seconds: float = _INITIALIZE_SECONDS) -> None:
        self._ask("initialize", seconds=seconds)

    def alive(self) -> bool:
        """Whether the server's first process runs, frozen or not, and the file system under it, if there is one."""
        try:
            status = self._ask("status")
        except ServerFault:
            return False
        return bool(status["running"] and status["mounted"])

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Whatever fails within the block because the server died is a loss.

        A death may show as a connection that broke, a command that failed, a file that is not there, a supervisor that
        is gone or has nothing to thaw.

        Raises:
            ServerLost: it died, or hung up.
            StorageFault: the disk is full.
        """
        try:
            yield
        except StorageFault:
            # A disk that is full is that, whatever it did to the server; a file system that died looks like a disk.
            if self.recipe.mount is None or (death := self._death()) is None:
                raise
            raise death from None
        except TdeltaError as error:
            if (death := self._death()) is not None:
                raise death from error
            if waits_for_room(self.recipe.place):
                raise self._full(Refusal.of("server-waits")) from error
            raise

    def _death(self) -> EnvironmentFault | None:
        """The error for a server that is gone; None if it still lives after a while.

        Who loses a connection hears of it before the process has ended.
        """
        give_up = time.monotonic() + _DEATH_SECONDS
        while self.alive():
            if time.monotonic() > give_up:
                return None
            time.sleep(_LOOK_AGAIN_SECONDS)
        words = self.last_words()
        if _says_full(words):
            return self._full(Refusal.of("server-died-of-that"))
        return ServerLost(Refusal.of("server-died", server=self.recipe.place.folder.name), words)

    def pids(self) -> tuple[int, ...]:
        return tuple(self._ask("processes")["pids"])

    def file_system_pids(self) -> tuple[int, ...]:
        """Those among them that are the encrypted file system under the server; none where it has none."""
        return tuple(self._ask("processes")["file_systems"])

    def usage(self) -> Usage:
        """Resources that all its processes used so far, those of earlier starts and of its file system included.

        What passes through that file system is counted once: asked for by the others, and read or written by it.
        """
        found = self._ask("processes")
        used, passed = tree.usage(self.supervisor_pid, found["beside"]), found["passed"]
        if self.recipe.mount is None:
            return used
        return dataclasses.replace(
            used,
            syscall_read_bytes=used.syscall_read_bytes - passed.get("rchar", 0),
            syscall_written_bytes=used.syscall_written_bytes - passed.get("wchar", 0),
            device_read_bytes=passed.get("read_bytes", 0),
            device_written_bytes=passed.get("write_bytes", 0),
        )

    def freeze(self) -> None:
        """Stop the whole tree of processes until `thaw`. The supervisor lets it breathe every few minutes."""
        self._ask("freeze")

    def thaw(self) -> None:
        self._ask("thaw")

    def stop(self, *, seconds: float = _STOP_SECONDS) -> None:
        """Shut the server down cleanly, in time or with a ``ServerFault``; its folder stays. A frozen one is thawed."""
        self._ask("stop", seconds=seconds)
        self._pid = None

    def kill(self) -> None:
        """End all its processes now, as a crash would; its folder stays."""
        self._ask("kill")
        self._pid = None

    def end(self) -> None:
        self._pid = None
        if not self._has_ended:
            self._has_ended = True
            if self._supervisor.close(_GRACE_SECONDS) != 0:
                self._clear()

    def last_words(self) -> str:
        return "\n".join(telling(last_of(self.recipe.place.log).decode(errors="replace").strip().splitlines()))

    def _await_greeting(self, give_up: float, seconds: float) -> None:
        while not greets(self.recipe.place.socket, self.recipe.greeting):
            status = self._ask("status")
            if not status["running"]:
                raise self._fault(Refusal.of("server-ended", status=status["status"]))
            if waits_for_room(self.recipe.place):
                self.kill()
                raise self._full(Refusal.of("server-waits"))
            if time.monotonic() > give_up:
                self.kill()
                raise self._fault(Refusal.of("server-takes-no-connection", seconds=seconds))
            time.sleep(_LOOK_AGAIN_SECONDS)

    def _ask(self, do: str, *, seconds: float = 0.0, **arguments: object) -> dict[str, Any]:
        try:
            self._supervisor.send(do, seconds=seconds, **arguments)
            found: dict[str, Any] = self._supervisor.answer(seconds + _GRACE_SECONDS)
        except Declined as error:
            raise self._refused(error) from error
        except WorkerFault as error:
            gone = Refusal.of("supervisor-gone", server=self.recipe.place.folder.name, fault=error)
            raise ServerFault(gone) from error
        return found

    def _refused(self, error: Declined) -> TdeltaError:
        said = Refusal.of("database-says", said=error)
        if error.kind == "storage":
            return StorageFault(disk_refusal(error))
        return ServerLost(said) if error.kind == "stopped" else self._fault(said)

    def _fault(self, said: Refusal) -> TdeltaError:
        words = self.last_words()
        # On a full disk a server may have no room for a word of it, or die of what came of it.
        is_full = _says_full(words) or has_no_room(self.recipe.place.folder)
        return self._full(said) if is_full else ServerFault(said, words)

    def _full(self, said: Refusal) -> StorageFault:
        return StorageFault(Refusal.of("server-disk-full", folder=self.recipe.place.folder, said=said))

    def _clear(self) -> None:
        """Do what a supervisor does that was killed."""
        place = self.recipe.place
        tree.kill_in(place.folder, _CLEAR_SECONDS)  # the kernel ended the server's first process, not what that started
        for folder in {place.folder, place.socket.parent}:
            with contextlib.suppress(OSError):
                descriptor = own_folders.opened(folder)
                try:
                    remove_opened(folder, descriptor)
                finally:
                    os.close(descriptor)


def _says_full(words: str) -> bool:
    return any(sign in words for sign in _FULL)


def telling(lines: Sequence[str]) -> list[str]:
    """The last lines of a log, and before them its last complaints: behind these a program may well say a lot."""
    last = list(lines[-_LAST_LINES:])
    complaints = [line for line in lines[:-_LAST_LINES] if any(sign in line for sign in _COMPLAINTS)]
    return [*complaints[-_LAST_COMPLAINTS:], *last]


def greets(path: Path, greeting: Greeting) -> bool:
    wanted = greeting.at + len(greeting.answer)
    found = b""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(_GREETING_SECONDS)
        client.connect(os.fspath(path))
        client.sendall(greeting.says)
        while len(found) < wanted and (chunk := client.recv(wanted - len(found))):
            found += chunk
        return found[greeting.at :] == greeting.answer
    return False

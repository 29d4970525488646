"""The parent's side of a worker process."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tdelta.errors import (
    Defect,
    EngineUnavailable,
    EnvironmentFault,
    ServerLost,
    StatementFault,
    StorageFault,
    TdeltaError,
    UsageError,
    WorkerFault,
)
from tdelta.measure.aes import OPENSSL_VARIABLE
from tdelta.measure.children import Child, Declined, ready
from tdelta.measure.pressure import is_stopped
from tdelta.measure.space import disk_refusal
from tdelta.messages import Refusal
from tdelta.processes import signals

PROGRAM = "tdelta.processes.worker"
"""The program of most workers; an engine whose client is Python's has one of its own."""

GRACE_SECONDS = 60.0
"""How long an answer may take beyond the deadline of what was asked."""

_START_SECONDS = 60.0
_END_SECONDS = 5.0
LOOK_SECONDS = 1.0
"""How often whoever waits for a worker looks whether it stands still."""

_PATIENCE_SECONDS = 10.0
"""How long a worker, or its server, may stand stopped before it is given up."""

_HURRIED_SECONDS = 3.0
"""How long after a Ctrl-C, or the end of the run's time, a worker may go on with what it was asked."""

_hurried = threading.Event()
_relied_on: list[tuple[str, int]] = []


class _Process(Child):
    def _write(self, line: bytes) -> None:
        with signals.held():  # a signal's handler sends, too: a stop must not land within this line
            super()._write(line)


class Supervisor(_Process):
    """A process between tdelta and programs (`tdelta.processes.supervisor`), which inherits nothing secret."""

    def __init__(self, called: str, program: str = "tdelta.processes.supervisor") -> None:
        super().__init__(program, os.environ)
        self.called = called


class Worker(_Process):
    """One worker process. Use as a context manager, or call `end`.

    Its environment is the parent's, less what would silently change the level of a factor, and what is given here.
    Nothing of the twin is in it or in the arguments, which others can read. ``failed`` makes exceptions of a database's
    answers, by kind and message, in place of `failure`.
    """

    called = "a worker process"

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        program: str = PROGRAM,
        failed: Callable[[str, str], TdeltaError] | None = None,
    ) -> None:
        super().__init__(program, _environment(environment or {}))
        self.failed = failed or failure
        self.server: int | None = None
        """The process of the server that its answers depend on, on this machine."""

        self.file_systems: tuple[int, ...] = ()
        """The processes of the encrypted file system under that server."""

        self.is_patient = False
        """Whether what it is asked is done to its end, also after a Ctrl-C."""

        self._stood_seconds = 0.0
        self._hurried_seconds = 0.0
        self._is_to_stop = False
        self._loss: ServerLost | None = None

    def __exit__(self, *raised: object) -> None:
        if any(raised):
            self.kill()  # a load that goes on would make Ctrl-C wait
        self.end()

    def ask(self, do: str, *, seconds: float = _START_SECONDS, **arguments: object) -> dict[str, Any]:
        """Request a ``do_*`` method of the worker's host, and wait for its answer; past that time it is ended."""
        self.send(do, **arguments)
        return self.answer(seconds)

    def answer(self, seconds: float = _START_SECONDS) -> dict[str, Any]:
        """Wait for the answer to a request that was sent; raises as `ask` does."""
        try:
            found: dict[str, Any] = super().answer(seconds)
        except Declined as refusal:
            raise self.failed(refusal.kind, str(refusal)) from None
        return found

    def send(self, do: str, **arguments: object) -> None:
        self._is_to_stop = do == "stop"
        self._hurried_seconds = 0.0
        super().send(do, **arguments)

    def look(self) -> None:
        """See whether it, its server or a file system under them was stopped; called every `LOOK_SECONDS` of a wait.

        After ten such seconds, or one where it was to stop anyway (`hurry`), it is ended, and its answer is
        ``ServerLost``; so it is where it was to stop and goes on.
        """
        who = next((name for name, pid in self._needed() if is_stopped(pid)), None)
        self._stood_seconds = 0.0 if who is None else self._stood_seconds + LOOK_SECONDS
        is_hurried = self._is_to_stop or _hurried.is_set()
        if who is not None and self._stood_seconds >= (LOOK_SECONDS if is_hurried else _PATIENCE_SECONDS):
            for _, pid in _relied_on:  # or a worker that waits for one of these could not be ended
                if is_stopped(pid):
                    os.kill(pid, signal.SIGKILL)
            self.lose(Refusal.of("stopped-by-signal", process=who, seconds=self._stood_seconds))
        if _hurried.is_set() and not self.is_patient:
            self._hurried_seconds += LOOK_SECONDS
            if self._hurried_seconds >= _HURRIED_SECONDS and self._loss is None:
                self.lose(Refusal.of("process-silent", process=self.called, seconds=self._hurried_seconds))

    def lose(self, said: Refusal) -> None:
        self._loss = ServerLost(said)
        self.kill()

    def _needed(self) -> Iterator[tuple[str, int]]:
        yield self.called, self.pid
        if self.server is not None:
            yield "the server", self.server
        yield from (("the encrypted file system under the server", pid) for pid in self.file_systems)
        yield from _relied_on

    def require_running(self) -> None:
        if self._process.poll() is not None:
            raise self._died()

    def end(self) -> None:
        """Let it close its twin and go; kill it if it does not, at once where it stands stopped."""
        if is_stopped(self.pid):
            self.kill()
        self.close(_END_SECONDS)

    def _wait(self, seconds: float) -> bool:
        """As any child's, in looks: time in which this process itself stood still does not count."""
        for wait in looks(seconds):
            if ready([self], wait):
                return True
            self.look()
        return self._loss is not None

    def _died(self) -> TdeltaError:
        if self._loss is not None:
            raise self._loss
        return super()._died()

    def _silent(self, seconds: float) -> TdeltaError:
        self.kill()
        return WorkerFault(Refusal.of("process-silent", process=self.called, seconds=seconds))


def hurry(*, hurried: bool = True) -> None:
    """Whether workers of this process that stand stopped are waited for at all: not after a Ctrl-C."""
    (_hurried.set if hurried else _hurried.clear)()


def is_hurried() -> bool:
    return _hurried.is_set()


@contextlib.contextmanager
def relying_on(called: str, process: int) -> Iterator[None]:
    """Within the block a worker that waits is given up where this process, which lies under a twin, stands stopped.

    So is the process: it is killed.
    """
    entry = called, process
    _relied_on.append(entry)
    try:
        yield
    finally:
        _relied_on.remove(entry)


def looks(seconds: float) -> Iterator[float]:
    """So many seconds in parts, after each of which whoever waits is to look."""
    while seconds > 0:
        yield min(LOOK_SECONDS, seconds)
        seconds -= LOOK_SECONDS


def _environment(added: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != OPENSSL_VARIABLE}
    return kept | dict(added)


_FIXES: tuple[tuple[str, type[TdeltaError], str], ...] = (
    ("cannot_open", StorageFault, "use another --dir, or raise ulimit -n"),
    ("connection", ServerLost, ""),
    ("auth denied unknown_database tls", UsageError, ""),
    ("key", EnvironmentFault, "its keys changed, so start a new run"),
    ("out_of_memory too_many_connections", EnvironmentFault, "close other programs, or use fewer --threads"),
    ("threads", EnvironmentFault, "raise ulimit -u, or use fewer --threads"),
    ("library", EngineUnavailable, ""),
    (
        "sql constraint no_row script busy locked conflict offline endless primary_key",
        StatementFault,
        "see the scripts of the workload",
    ),
)
"""Kinds of answers of a database, the exceptions that they become, and remedies."""


def failure(kind: str, said: str) -> TdeltaError:
    """A database's answer as an exception: about the disk, a library, a statement, or an internal error."""
    if kind in ("full", "io", "read_only"):
        return StorageFault(disk_refusal(said))
    if kind == "no_twin":
        return TdeltaError(Refusal.of("no-twin-open"))
    for kinds, exception, fix in _FIXES:
        if kind in kinds.split():
            answer = (
                Refusal.of("database-answer", said=said, fix=fix) if fix else Refusal.of("database-says", said=said)
            )
            return exception(answer)
    return Defect(said)


class Refused(Exception):
    """An answer of a user's database that is a refusal, not a fault until the caller makes it one.

    ``kind`` is its class in short.
    """

    def __init__(self, kind: str, said: str | Refusal) -> None:
        super().__init__(str(said))
        self.kind = kind
        self.refusal = Refusal.of("database-says", said=said) if isinstance(said, str) else said


def answered(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer about a user's database, or its refusal as ``Refused``, or ``StorageFault`` where it is the disk's."""
    if "refused" not in answer:
        return answer
    kind, said = answer["refused"]
    if isinstance(fault := failure(kind, said), StorageFault):
        raise fault
    raise Refused(kind, said)

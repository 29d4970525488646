"""The parent's side of a worker process."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from tdelta.driver import signals
from tdelta.errors import (
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

SQLITE_AND_SERVERS = "tdelta.driver.worker"
"""The program of most workers; an engine whose client is Python's has one of its own."""

_START_SECONDS = 60.0
_END_SECONDS = 5.0
_LAST_WORDS = 2000


class Worker:
    """One worker process. Use as a context manager, or call `end`.

    Its environment is the parent's, less what would silently change the level of a factor, and what is given here.
    Nothing of the twin is in it or in the arguments.

    Args:
        environment: variables to add. Others can read them, so nothing secret.
        program: the module that it runs.
    """

    def __init__(self, environment: Mapping[str, str] | None = None, program: str = SQLITE_AND_SERVERS) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", program, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=_environment(environment or {}),
            start_new_session=True,  # Ctrl-C is the parent's to handle
        )
        self._buffer = b""

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.kill()  # a load that goes on would make Ctrl-C wait
        self.end()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def ask(self, do: str, *, seconds: float = _START_SECONDS, **order: object) -> dict[str, Any]:
        """Send one order and wait for its answer.

        Args:
            do: the order's name, a ``do_*`` method of the worker's host.
            seconds: how long to wait; past it the worker is ended.
            **order: its arguments, JSON values.

        Raises:
            StorageFault: the disk is full, or a file cannot be opened.
            TdeltaError: what else the database answered.
            WorkerFault: the worker died, or did not answer in time.
        """
        self.send(do, **order)
        return self.answer(seconds)

    def fileno(self) -> int:
        """The descriptor on which answers arrive, for `select`."""
        assert self._process.stdout is not None  # noqa: S101 - opened as a pipe above
        return self._process.stdout.fileno()

    def answer(self, seconds: float = _START_SECONDS) -> dict[str, Any]:
        """Wait for the answer to an order that was sent; raises as `ask` does."""
        answer = json.loads(self._line(seconds))
        if "error" in answer:
            raise failure(*answer["error"])
        found: dict[str, Any] = answer["ok"]
        return found

    def send(self, do: str, **order: object) -> None:
        """Send one order and do not wait (``stop`` has no answer)."""
        assert self._process.stdin is not None  # noqa: S101 - opened as a pipe above
        line = json.dumps({"do": do, **order}).encode() + b"\n"
        try:
            with signals.held():  # its handler sends, too: a stop must not land within this line
                self._process.stdin.write(line)
                self._process.stdin.flush()
        except OSError as error:
            raise self._died() from error

    def require_running(self) -> None:
        """Raise ``WorkerFault`` if the process has ended."""
        if self._process.poll() is not None:
            raise self._died()

    def _line(self, seconds: float) -> bytes:
        descriptor = self.fileno()
        chunks = [self._buffer]
        while b"\n" not in chunks[-1]:
            if not select.select([descriptor], [], [], seconds)[0]:
                self.kill()
                raise WorkerFault(f"a worker process did not answer within {seconds:.0f} s; it was ended")
            chunks.append(os.read(descriptor, 1 << 16))
            if not chunks[-1]:
                raise self._died()
        line, _, self._buffer = b"".join(chunks).partition(b"\n")
        return line

    def _died(self) -> WorkerFault:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)  # so that the status is its own
        self.kill()
        self._errors.seek(0)
        words = self._errors.read()[-_LAST_WORDS:].decode(errors="replace").strip()
        return WorkerFault(f"a worker process {_ending(self._process.returncode)}: {words or 'it said nothing'}")

    def end(self) -> None:
        """Let it close its twin and go; kill it if it does not."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self._errors.close()

    def kill(self) -> None:
        """End it now, by process id."""
        self._process.kill()
        self._process.wait()


def _environment(added: Mapping[str, str]) -> dict[str, str]:
    """This process's environment for a worker. The user's own word for OpenSSL would hide AES from every twin."""
    kept = {name: value for name, value in os.environ.items() if name != OPENSSL_VARIABLE}
    return kept | dict(added)


def _ending(status: int) -> str:
    if status == -signal.SIGKILL:
        return "was killed from outside (`dmesg` tells whether memory ran out)"
    return f"died of {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"


def failure(kind: str, message: str) -> TdeltaError:
    """What a database answered, as an exception: about the disk, a library, a statement, or a defect of tdelta."""
    if kind in ("full", "io", "read_only"):
        return StorageFault(f"{message}: free some space, or choose another folder with --dir")
    if kind == "cannot_open":
        return StorageFault(f"{message}: choose another folder with --dir, or allow more open files (ulimit -n)")
    if kind == "connection":
        return ServerLost(message)
    if kind in ("auth", "denied", "unknown_database", "tls"):
        return UsageError(message)
    if kind == "key":
        return EnvironmentFault(f"{message}: its file of keys is gone, or is another one; start a new run")
    if kind in ("out_of_memory", "too_many_connections"):
        return EnvironmentFault(f"{message}: close other programs, or use fewer --threads")
    if kind == "library":
        return EngineUnavailable(message)
    if kind in ("sql", "constraint", "no_row", "script", "busy", "locked", "conflict"):
        return StatementFault(f"{message}; the statement is the workload's: see its scripts")
    return TdeltaError(message)

"""Processes of tdelta's own: they die with their parent, whatever ends it, and answer JSON lines with JSON lines."""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Self

from tdelta.errors import EnvironmentFault, TdeltaError, WorkerFault
from tdelta.messages import Refusal

_ANSWER_SECONDS = 60.0
_END_SECONDS = 5.0
_LAST_WORDS = 2000
_NO_MEMORY = 2
"""The status with which the native module ends a process that gets no more memory."""


def ready(sources: Sequence[Any], seconds: float) -> list[Any]:
    """Those that have something to be read, or have ended, within so many seconds.

    By ``poll``: ``select`` takes no descriptor beyond 1023, and whoever holds 2048 connections has such.
    """
    poller = select.poll()
    by_descriptor = {source.fileno(): source for source in sources}
    for descriptor in by_descriptor:
        poller.register(descriptor, select.POLLIN)
    return [by_descriptor[descriptor] for descriptor, _ in poller.poll(math.ceil(1e3 * max(seconds, 0.0)))]


class Declined(Exception):
    """A request that a child could not carry out: ``kind`` is for programs, the message for people."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def taken(answer: Mapping[str, Any]) -> Any:
    """The content of an answer; raises ``Declined`` where that is a refusal."""
    if "error" in answer:
        raise Declined(*answer["error"])
    return answer["ok"]


class Child:
    """One such process. Use as a context manager; at the end of the block it is ended, whatever it is at.

    It is started as ``python -m MODULE PARENT_PID`` in a new session, since the parent handles Ctrl-C. The
    module calls `tdelta.measure.starting.die_with_parent` first.
    """

    called = "a process of tdelta's own"
    """Its name in messages."""

    def __init__(self, module: str, environment: Mapping[str, str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=dict(environment),
            start_new_session=True,
        )
        self._buffer = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.close(_END_SECONDS)

    def close(self, seconds: float) -> int:
        """Close its input and wait for its exit status; it is killed if it has not gone within ``seconds``."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        self.kill()
        self._errors.close()
        return self._process.returncode

    @property
    def pid(self) -> int:
        return self._process.pid

    def fileno(self) -> int:
        assert self._process.stdout is not None  # noqa: S101 - opened as a pipe above
        return self._process.stdout.fileno()

    def send(self, do: str, **arguments: object) -> None:
        """Send one request and do not wait; raises as `answer` does where the process is gone."""
        line = json.dumps({"do": do, **arguments}).encode() + b"\n"
        try:
            self._write(line)
        except OSError as error:
            raise self._died() from error

    def answer(self, seconds: float = _ANSWER_SECONDS) -> Any:
        """Wait for the answer to a request that was sent.

        Raises:
            Declined: it could not do what it was asked.
            WorkerFault: the process died, or did not answer within ``seconds``.
            EnvironmentFault: it died, and has said what it lacks.
        """
        return taken(self.hear(seconds))

    def hear(self, seconds: float) -> Any:
        """Wait for whatever it says next, an answer or what it says ahead of one; raises as `answer` does."""
        return json.loads(self._line(seconds))

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None  # noqa: S101 - opened as a pipe above
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def _line(self, seconds: float) -> bytes:
        descriptor = self.fileno()
        chunks = [self._buffer]
        while b"\n" not in chunks[-1]:
            if not self._wait(seconds):
                raise self._silent(seconds)
            chunks.append(os.read(descriptor, 1 << 16))
            if not chunks[-1]:
                raise self._died()
        line, _, self._buffer = b"".join(chunks).partition(b"\n")
        return line

    def _wait(self, seconds: float) -> bool:
        """Wait until there is something to be read, or it has ended; False if there is nothing within ``seconds``."""
        return bool(ready([self], seconds))

    def _silent(self, seconds: float) -> TdeltaError:
        return WorkerFault(Refusal.of("process-silent", process=self.called, seconds=seconds))

    def _died(self) -> TdeltaError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)  # so that the status is its own
        self.kill()
        self._errors.seek(0)
        words = self._errors.read()[-_LAST_WORDS:].decode(errors="replace").strip()
        if self._process.returncode == _NO_MEMORY:
            return EnvironmentFault(Refusal.of("no-memory").at(self.called))
        return WorkerFault(
            Refusal.of(
                "process-died",
                process=self.called,
                ending=_ending(self._process.returncode),
                words=words or "without output",
            )
        )


def _ending(status: int) -> str:
    if status == -signal.SIGKILL:
        return "was killed from outside (`dmesg` tells whether memory ran out)"
    return f"died of {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"

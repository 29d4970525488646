"""What a process between tdelta and programs that it starts has in common: none of them outlives tdelta.

Requests come as JSON lines on standard input, answers leave as JSON lines on a duplicate of standard output. The end of
the input means that tdelta is gone, by whatever signal: then `Host.end` leaves nothing behind. Ctrl-C and its like are
not for it. Whatever a program starts becomes this process's child when its own parent ends, even in a session of its
own, so that all of it is found. Should the supervisor itself be killed, the kernel kills what it started.

It has one thread and never waits without watching its input, until that has ended.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from tdelta.measure.private import UMASK
from tdelta.measure.starting import raise_open_files

Request = dict[str, Any]
Reply = dict[str, Any]

_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What a supervisor ignores; its children must not inherit that."""

_TICK_SECONDS = 0.01
_INPUT = 0
_STDERR = 2
_CLONE_NEWUSER = 0x10000000
_USER = 1000
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


class ParentGone(Exception):
    """The input has ended."""


class Failed(Exception):
    """A request that could not be carried out: ``kind`` is for programs."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Input:
    """Lines of requests, read without ever blocking past a time limit."""

    def __init__(self, descriptor: int = _INPUT) -> None:
        self.descriptor = descriptor
        self._buffer = b""

    @property
    def has_line(self) -> bool:
        """Whether a request has been read and not been taken."""
        return b"\n" in self._buffer

    def line(self, seconds: float | None) -> bytes | None:
        """The next line; None if there is none within ``seconds`` (None: wait for it)."""
        while not self.has_line:
            if not self._read(seconds):
                return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def wait(self, done: Callable[[], bool], seconds: float) -> bool:
        """Wait until something is done, but no longer than ``seconds``; returns whether it is.

        Raises:
            ParentGone: the input ended meanwhile.
        """
        give_up = time.monotonic() + seconds
        while not done():
            if time.monotonic() > give_up:
                return False
            self._read(_TICK_SECONDS)
        return True

    def _read(self, seconds: float | None) -> bool:
        if not select.select([self.descriptor], [], [], seconds)[0]:
            return False
        chunk = os.read(self.descriptor, 1 << 16)
        if not chunk:
            raise ParentGone
        self._buffer += chunk
        return True


class Host:
    """The state of one supervisor: a request ``X`` is carried out by ``do_X``, which answers None to say nothing."""

    def __init__(self, requests: Input) -> None:
        self._requests = requests

    def answer(self, request: Request) -> Reply | None:
        """Carry out one request. What fails becomes ``{"error": [kind, message]}``."""
        try:
            handler: Callable[[Request], Reply | None] = getattr(self, f"do_{request['do']}")
            found = handler(request)
        except Failed as error:
            return {"error": [error.kind, str(error)]}
        except OSError as error:
            return {"error": ["storage", f"{error.filename or 'a file'}: {error.strerror}"]}
        return None if found is None else {"ok": found}

    def patience(self) -> float | None:
        """How long the next request may let wait for itself before `breathe`; None: without end."""
        return None

    def breathe(self) -> None:
        """What is done when no request came within `patience`."""

    def end(self) -> None:
        """Leave nothing behind."""


def supervise(host_of: Callable[[Input], Host]) -> None:
    """Carry out requests until tdelta is gone."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    os.umask(UMASK)
    raise_open_files()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    requests = Input()
    host = host_of(requests)
    try:
        while True:
            line = requests.line(host.patience())
            if line is None:
                host.breathe()
            elif (answer := host.answer(json.loads(line))) is not None:
                answers.write(json.dumps(answer) + "\n")
    except (ParentGone, BrokenPipeError):
        pass
    finally:
        host.end()


def launch(
    argv: tuple[str, ...],
    environment: Mapping[str, str],
    out: IO[bytes] | int,
    err: IO[bytes] | int,
    *,
    source: IO[bytes] | None = None,
    folder: Path | None = None,
    secret: str | None = None,
    leaves_root: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a program, in a process group of its own, tied to the supervisor's life.

    Args:
        argv: what to run.
        environment: all its variables.
        out: where its standard output goes; ``subprocess.PIPE``: to whoever reads it.
        err: where its standard error goes; as ``out``.
        source: what its standard input is; None: nothing, or ``secret``.
        folder: where it runs; None: where the supervisor does.
        secret: what its standard input holds; None for nothing.
        leaves_root: run as another user where this one is root, for programs that refuse root.

    Raises:
        OSError: it cannot be started.
    """
    process = subprocess.Popen(
        argv,
        stdin=source or (subprocess.DEVNULL if secret is None else subprocess.PIPE),
        stdout=out,
        stderr=err,
        cwd=folder,
        env=environment,
        process_group=0,
        preexec_fn=_prepared(leaves_root=leaves_root and os.geteuid() == 0),
    )
    if secret is not None and process.stdin is not None:
        with process.stdin as standard_input:
            standard_input.write(secret.encode())
    return process


def _prepared(*, leaves_root: bool) -> Callable[[], None]:
    supervisor = os.getpid()

    def prepare() -> None:
        for number in _IGNORED:
            signal.signal(number, signal.SIG_DFL)
        if leaves_root:
            _leave_root()
        _die_with(supervisor)  # after the above: a change of credentials takes it back

    return prepare


def _die_with(parent: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _leave_root() -> None:
    """Enter a user namespace in which this user has the id of nobody in particular, for programs that refuse root."""
    user, group = os.geteuid(), os.getegid()  # within the namespace they are nobody's until they are mapped
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWUSER) != 0:
        os.write(_STDERR, b"cannot leave root: no user namespaces here; run tdelta as another user\n")
        os._exit(1)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{_USER} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{_USER} {group} 1")

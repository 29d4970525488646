"""The loop of every process of tdelta's own: requests are lines of JSON on standard input, answers on standard output.

Answers leave on a duplicate of standard output (the original is pointed at standard error, so that no library can break
the protocol by printing); bytes in them, as of histograms, are base64. The end of the input means that tdelta is gone,
by whatever signal: then `Host.end` leaves nothing behind.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import json
import os
import queue
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar, TextIO, TypeAlias

from tdelta.measure.private import UMASK
from tdelta.measure.starting import die_with_parent, raise_open_files

Request: TypeAlias = dict[str, Any]
"""A request to a process, as JSON values: ``do`` names it."""

Reply: TypeAlias = dict[str, Any]
"""Its answer, as JSON values."""

_TICK_SECONDS = 0.01
_PR_SET_CHILD_SUBREAPER = 36


class ParentGone(Exception):
    """The input has ended."""


class Failed(Exception):
    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Input:
    """Lines of requests, read without ever blocking past a time limit."""

    descriptor = 0

    def __init__(self) -> None:
        self._buffer = b""

    @property
    def has_line(self) -> bool:
        return b"\n" in self._buffer

    def next(self, seconds: float | None) -> Request | None:
        """The next request; None if there is none within ``seconds`` (None: wait for it)."""
        while not self.has_line:
            if not self._read(seconds):
                return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        request: Request = json.loads(line)
        return request

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
    """The state of one process: a request ``X`` is carried out by ``do_X``, which answers None to say nothing."""

    ignores: ClassVar[tuple[signal.Signals, ...]] = (signal.SIGINT,)

    is_supervisor: ClassVar[bool] = False
    """Whether what it starts becomes its child when that one's own parent ends, even in a session of its own, so that
    all of it is found. Other processes are killed by the kernel when their parent goes."""

    listens: ClassVar[bool] = False
    """Whether a thread of its own hears requests, so that those for which there is a method ``now_X`` are carried out
    while another one is under way; these have no answer. A host without it never waits without watching its input."""

    def __init__(self) -> None:
        self.requests = Input()
        self.say: Callable[[Reply], None] = lambda _said: None
        """Says something ahead of an answer; any thread may call it."""

    def answer(self, request: Request) -> Reply | None:
        """Carry out one request: ``{"ok": …}``, or ``{"error": [kind, message]}``."""
        try:
            found: Reply | None = getattr(self, f"do_{request['do']}")(request)
        except Exception as error:
            if (said := self.refused(error)) is None:
                raise
            return {"error": said}
        return None if found is None else {"ok": found}

    def refused(self, error: Exception) -> list[str] | None:
        """The answer to a request that failed, its kind first; None for what is a defect."""
        match error:
            case Failed():
                return [error.kind, str(error)]
            case OSError():
                return ["storage", f"{error.filename or 'a file'}: {error.strerror}"]
        return None

    def heard(self, request: Request) -> None:
        """A request was heard that waits for its turn; called by the thread that listens."""

    def leave(self) -> None:
        """Have what is under way end: the input has ended. Called by the thread that listens."""

    def patience(self) -> float | None:
        """How long the next request may let wait for itself before `breathe`; None: without end."""
        return None

    def breathe(self) -> None:
        """Called when no request came within `patience`."""

    def end(self) -> None:
        """Leave nothing behind."""


def serve(host: Host) -> None:
    """Carry out requests until the input ends; the first argument of the process is its parent's id."""
    for number in host.ignores:
        signal.signal(number, signal.SIG_IGN)
    os.umask(UMASK)
    raise_open_files()
    if host.is_supervisor:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    else:
        die_with_parent(int(sys.argv[1]))
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    writing = threading.Lock()

    def say(answer: Reply) -> None:
        line = json.dumps(answer, default=_coded) + "\n"
        try:
            with writing:
                answers.write(line)
                answers.flush()
        except BrokenPipeError:
            raise ParentGone from None

    host.say = say
    following = _listening(host) if host.listens else host.requests.next
    try:
        while True:
            request = following(host.patience())
            if request is None:
                host.breathe()
            elif (answer := host.answer(request)) is not None:
                say(answer)
    except ParentGone:
        host.end()
    except BaseException:
        with contextlib.suppress(Exception):  # the defect is what is to be seen
            host.end()
        raise


def _listening(host: Host) -> Callable[[float | None], Request]:
    requests: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
    threading.Thread(target=listen, args=(sys.stdin, requests, host), daemon=True).start()

    def following(_seconds: float | None) -> Request:
        if (request := requests.get()) is None:
            raise ParentGone
        return request

    return following


def listen(lines: TextIO, requests: queue.SimpleQueue[Request | None], host: Host) -> None:
    """Hand on every request but those that are carried out at once. ``None`` at the end of input."""
    for line in lines:
        request = json.loads(line)
        if (at_once := getattr(host, f"now_{request['do']}", None)) is not None:
            at_once(request)
            continue
        host.heard(request)  # here, in the order of the lines
        requests.put(request)
    host.leave()
    requests.put(None)


def _coded(payload: bytes) -> str:
    return base64.b64encode(payload).decode()

"""How a worker process gets its requests and gives its answers: lines of JSON on standard input and output.

Answers leave on a duplicate of standard output (the original is pointed at standard error, so that no library can break
the protocol by printing); bytes in them, as of histograms, are base64. ``stop`` and ``feed`` are obeyed at once, while
a trial runs, and ``aside`` is begun at once, to go on beside a trial; the end of the input ends the process. Ahead of
its answer, a trial that is fed says ``{"wants": NUMBER}`` whenever it wants more.
"""

from __future__ import annotations

import base64
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, Protocol, TextIO, TypeAlias, runtime_checkable

from tdelta.measure.private import UMASK
from tdelta.measure.starting import die_with_parent, raise_open_files

Request: TypeAlias = dict[str, Any]
"""What a worker is asked to do, as JSON values: ``do`` names it."""

Reply: TypeAlias = dict[str, Any]
"""What it answers, as JSON values."""


class Host(Protocol):
    def answer(self, request: Request) -> Reply:
        """Carry out one request: ``{"ok": …}``, or ``{"error": [kind, message]}``."""

    def request_stop(self) -> None:
        """End a trial that runs, and every later one until `clear_stop`; called from another thread."""

    def clear_stop(self) -> None:
        """Let trials run again; called from another thread."""

    def end(self) -> None:
        """Let go of everything."""


@runtime_checkable
class HasAside(Protocol):
    def aside(self, request: Request) -> None:
        """Begin it; called from another thread, and there is no answer."""


@runtime_checkable
class IsFed(Protocol):
    """A host whose trial is given its operations while it runs."""

    def speak_by(self, say: Callable[[Request], None]) -> None:
        """How it says that it wants more; ``say`` may be called from any thread."""

    def feed(self, request: Request) -> None:
        """Have a trial go on with a chunk; called from another thread, and there is no answer."""


def listen(lines: TextIO, requests: queue.SimpleQueue[Request | None], host: Host) -> None:
    """Hand on every request but those that cannot wait for the trial that runs. ``None`` at the end of input."""
    for line in lines:
        request = json.loads(line)
        if request["do"] == "stop":
            host.request_stop()
            continue
        if request["do"] == "aside" and isinstance(host, HasAside):
            host.aside(request)
            continue
        if request["do"] == "feed" and isinstance(host, IsFed):
            host.feed(request)
            continue
        if request["do"] == "trial":
            host.clear_stop()  # here, in the order of the lines, so that a stop behind this one is not lost
        requests.put(request)
    host.request_stop()
    requests.put(None)


def serve(host: Host) -> None:
    """Serve requests until the input ends; the first argument of the process is its parent's id."""
    die_with_parent(int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.umask(UMASK)
    raise_open_files()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    writing = threading.Lock()

    def say(answer: Request) -> None:
        line = json.dumps(answer, default=_coded) + "\n"
        with writing:
            answers.write(line)
            answers.flush()

    if isinstance(host, IsFed):
        host.speak_by(say)
    requests: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
    threading.Thread(target=listen, args=(sys.stdin, requests, host), daemon=True).start()
    while (request := requests.get()) is not None:
        say(host.answer(request))
    host.end()


def _coded(payload: bytes) -> str:
    return base64.b64encode(payload).decode()

"""What runs on a node: one load agent, an actor of Ray's, with a worker process for each twin that is open.

Answers are JSON values: ``{"ok": …}``, ``{"error": [kind, message]}`` for what a database or a machine refused, and
``{"lost": words}`` where a worker died. Passwords are in arguments of `Agent.open`, and go on to a worker's standard
input.
"""

from __future__ import annotations

import contextlib
import os
import platform
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tdelta.driver.workers import Worker
from tdelta.errors import TdeltaError
from tdelta.measure.children import Declined, taken

Answer = dict[str, Any]

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_NETWORK = Path("/proc/self/ns/net")


def machine() -> str:
    """What processes on one machine have in common, until it is started anew: one monotonic clock, one file system."""
    return _BOOT_ID.read_text().strip()


def network() -> str:
    """What processes of one machine have in common that reach each other by 127.0.0.1."""
    return f"{machine()} {_NETWORK.readlink()}"


def tdelta_version() -> str:
    """The version of tdelta here; empty where it was not installed as a package."""
    try:
        return version("tdelta")
    except PackageNotFoundError:
        return ""


class Wishes:
    """What trials, by number, wanted and were not asked for yet. A later trial has a larger number."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open: Counter[int] = Counter()
        self._over = 0

    def add(self, number: int) -> None:
        with self._changed:
            self._open[number] += 1
            self._changed.notify_all()

    def end(self, number: int) -> None:
        with self._changed:
            self._over = max(self._over, number)
            self._open.clear()
            self._changed.notify_all()

    def take(self, number: int) -> bool:
        """Wait until a trial wants more, which it may before it has begun; False when it is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._over >= number or self._open[number] > 0)
            if self._over >= number:
                return False
            self._open[number] -= 1
            return True


class Agent:
    """One agent. Its methods are called by Ray, several at once and in any order."""

    def __init__(self) -> None:
        self._workers: dict[str, Worker] = {}
        self._wishes = Wishes()

    def hello(self) -> Answer:
        return {
            "node": platform.node(),
            "machine": machine(),
            "network": network(),
            "version": tdelta_version(),
            "pid": os.getpid(),
        }

    def clock_ns(self) -> int:
        """The time by the clock that starts are set by."""
        return time.monotonic_ns()

    def open(self, twin: str, order: Mapping[str, Any]) -> Answer:
        """Connect to a twin's server, in a worker of its own, and prepare the transactions."""

        def begin() -> Answer:
            self._end(twin)
            worker = self._workers[twin] = Worker(program=order["program"])
            seconds = float(order["patience_seconds"])
            for do, said in (("connect", order["connect"]), ("observe", order["observe"]), ("prepare", order["work"])):
                _asked(worker, do, seconds, **said)
            return {"pid": worker.pid}

        return self._answered(twin, begin)

    def trial(
        self, twin: str, trial: Mapping[str, Any], begin_ns: int, seconds: float, fed: Mapping[str, Any] | None = None
    ) -> Answer:
        """Run this agent's part of one trial, from a time of this machine's monotonic clock on.

        With ``fed`` (``number``, ``chunks``, ``is_complete``) it is given its operations while it runs, see `feed`.
        """
        order: dict[str, Any] = {"trial": trial, "begin_ns": begin_ns}
        if fed is None:
            return self._answered(twin, lambda: _asked(self._workers[twin], "trial", seconds, **order))
        number = fed["number"]
        wanted = partial(self._wishes.add, number)
        try:
            return self._answered(
                twin, lambda: _asked(self._workers[twin], "trial", seconds, wanted, **order, fed=dict(fed))
            )
        finally:
            self._wishes.end(number)

    def feed(self, twin: str, number: int, chunk: Sequence[int] | None, is_next: bool) -> bool:
        """Give a trial that chunk if ``is_next`` (None: there is none any more), then wait until it wants another.

        Returns:
            Whether it does; False when it is over.
        """
        worker = self._workers.get(twin)
        if is_next and worker is not None:
            with contextlib.suppress(TdeltaError):  # it has died, which is its trial's to say
                worker.send("feed", number=number, chunk=chunk)
        return self._wishes.take(number)

    def stop(self) -> None:
        for worker in list(self._workers.values()):
            with contextlib.suppress(TdeltaError):
                worker.send("stop")

    def close(self, twin: str) -> None:
        self._end(twin)

    def end(self) -> None:
        for twin in list(self._workers):
            self._end(twin)

    def _answered(self, twin: str, act: Callable[[], Answer]) -> Answer:
        try:
            return {"ok": act()}
        except Declined as refusal:
            return {"error": [refusal.kind, str(refusal)]}
        except TdeltaError as fault:
            self._end(twin)
            return {"lost": str(fault)}

    def _end(self, twin: str) -> None:
        worker = self._workers.pop(twin, None)
        if worker is not None:
            worker.kill()  # a connection to a server that is frozen would not close
            worker.end()


def _asked(
    worker: Worker, do: str, seconds: float, wanted: Callable[[], None] | None = None, **order: object
) -> Answer:
    """An answer as the worker gives it: what a refusal means is for the session to say, which knows the engine.

    ``wanted`` is called whenever it wants more operations.
    """
    worker.send(do, **order)
    while "wants" in (said := worker.hear(seconds)):
        if wanted is not None:
            wanted()
    found: Answer = taken(said)
    return found

"""The time of a sitting, and what ends it before: Ctrl-C, the end of the time, a closed terminal."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType

from tdelta.errors import TimeFault
from tdelta.leaving import heard
from tdelta.processes import Twin, signals
from tdelta.processes.workers import hurry

_MOST_THREADS = 2
"""A server that is loaded keeps about so many busy: its own and the client's."""

_ITERATIONS = 2_000
_MEASURED_SECONDS = 0.7


def measure_slowdown(seconds: float = _MEASURED_SECONDS) -> float:
    """Wall clock over CPU time of threads that want a CPU each for so many seconds; 1 on an idle machine."""
    threads = max(1, min(_MOST_THREADS, len(os.sched_getaffinity(0))))
    with ThreadPoolExecutor(threads) as pool:
        used = list(pool.map(_work, [seconds] * threads))
    return max(1.0, sum(wall for wall, _ in used) / sum(cpu for _, cpu in used))


def _work(seconds: float) -> tuple[float, float]:
    """The wall clock and the CPU time of one thread; hashing leaves the GIL to the others."""
    wall, cpu = time.perf_counter(), time.thread_time()
    while time.perf_counter() - wall < seconds:
        hashlib.pbkdf2_hmac("sha256", b"slowdown", b"salt", _ITERATIONS)
    return time.perf_counter() - wall, time.thread_time() - cpu


_SOON = 1e-3


class Clock:
    def __init__(self, max_seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._began = now()
        self._began_unix = time.time()
        self._max_seconds = max_seconds

    def elapsed(self) -> float:
        return self._now() - self._began

    def unix_seconds(self) -> float:
        """Now, in seconds since 1970, as in logs of servers; a clock of a test's own moves it, too."""
        return time.time() if self._now is time.monotonic else self._began_unix + self.elapsed()

    def left(self) -> float:
        """Seconds left, never below 0."""
        return max(0.0, self._max_seconds - self.elapsed())

    def extend(self, max_seconds: float) -> None:
        self._max_seconds = max_seconds

    def ring_at_end(self, before_seconds: float = 0.0) -> None:
        """Have this process get a SIGALRM when the time is up, or so long before; not by a clock of a test's own."""
        if self._now is time.monotonic and signals.are_ours():
            signal.setitimer(signal.ITIMER_REAL, max(_SOON, self.left() - before_seconds))

    def never_ring(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)

    def slowdown(self) -> float:
        """How many times as long work takes on this machine now; 1 by a clock of a test's own."""
        return measure_slowdown() if self._now is time.monotonic else 1.0

    def fault(self) -> TimeFault:
        why = "the database was not ready by then"
        return TimeFault(self._max_seconds, 2 * self._max_seconds, why)


class Interruption:
    """Ctrl-C: until there is something to say, a `KeyboardInterrupt`; from then on, a request that trials see."""

    def __init__(self) -> None:
        hurry(hurried=False)
        self.requested = False
        self.is_late = False
        self.is_out_of_time = False
        """Whether the time was up with nothing to say yet."""

        self._armed = False
        self._running: tuple[Twin, ...] = ()

    def arm(self) -> None:
        """From now on, requests wait for the trial's end."""
        self._armed = True

    def request(self) -> None:
        """Called by the signal handler. A second request does not wait."""
        hurry()
        if not self._armed or self.requested:
            signals.interrupt()
            return
        self.requested = True
        for twin in self._running:
            twin.stop()

    def ring(self) -> None:
        """The time is up: a request, too, unless there was one."""
        if not self.requested:
            self.is_late = True
            self.is_out_of_time = not self._armed
            self.request()

    @contextmanager
    def watching(self, *twins: Twin) -> Iterator[None]:
        """While these twins are under load, a request also stops their trials."""
        self._running = twins
        try:
            yield
        finally:
            self._running = ()


@contextmanager
def interruptible(interruption: Interruption, clock: Clock, fault: Callable[[], TimeFault]) -> Iterator[None]:
    """Turn Ctrl-C, SIGTERM and a closed terminal into a request, or, with nothing to say yet, KeyboardInterrupt.

    The end of the run's time is such a request, too, whatever stage it falls into; with nothing to say, ``fault``.
    Where signals are not tdelta's, neither: Ctrl-C is then the `KeyboardInterrupt` that Python makes of it, and the
    time is looked at between stages alone.
    """
    if not signals.are_ours():
        yield
        return

    def handle(number: int, _frame: FrameType | None) -> None:
        signals.deliver(interruption.ring if number == signal.SIGALRM else interruption.request)

    before = {number: signal.signal(number, handle) for number in (*heard(), signal.SIGALRM)}
    try:
        clock.ring_at_end()
        yield
    except KeyboardInterrupt:
        if interruption.is_out_of_time:
            raise fault() from None
        raise
    finally:
        clock.never_ring()
        for number, handler in before.items():
            signal.signal(number, handler)

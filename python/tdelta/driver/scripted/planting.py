"""A planted cost: spins for a share of the CPU time that statements take, behind them and within their spans.

An engine works in threads of its own, so a statement's CPU time is the process's while one connection is at work. With
several connections that cannot be told apart, and it is the calling thread's: the share planted is then of that, and as
always what was really spun is what is reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")

_LEAST_NS = 20_000
"""What is owed is gathered until it is worth a spin, as in the native loop."""

_PREEMPTED_NS = 50_000
"""A spin that overshoots by this much was preempted."""


class Plant:
    """One connection's planted cost. ``cpu_ns`` and ``elapsed_ns`` are what was spun so far.

    Args:
        share: of the statements' CPU time; 0 for none.
        is_alone: whether no other connection is at work.
    """

    def __init__(self, share: float, *, is_alone: bool) -> None:
        self.share = share
        self.cpu_ns = 0
        self.elapsed_ns = 0
        self._clock = time.process_time_ns if is_alone else time.thread_time_ns
        self._owed_ns = 0.0

    def around(self, statement: Callable[[], _T]) -> tuple[_T, int]:
        """Run a statement and spin behind it. Returns its result and the time after that."""
        if self.share <= 0.0:
            return statement(), time.monotonic_ns()
        before_ns = self._clock()
        result = statement()
        self._owed_ns += (self._clock() - before_ns) * self.share
        end_ns = time.monotonic_ns()
        return result, end_ns if self._owed_ns < _LEAST_NS else self._spin(end_ns)

    def _spin(self, start_ns: int) -> int:
        wanted_ns = int(self._owed_ns)
        now_ns = start_ns
        while now_ns - start_ns < wanted_ns:
            now_ns = time.monotonic_ns()
        spun_ns = now_ns - start_ns
        cpu_ns = wanted_ns if spun_ns > wanted_ns + _PREEMPTED_NS else spun_ns
        self.cpu_ns += cpu_ns
        self.elapsed_ns += spun_ns
        self._owed_ns -= cpu_ns
        return now_ns

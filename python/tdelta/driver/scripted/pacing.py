"""When an operation is due in an open loop, as crates/tdelta-core/src/pace.rs has it: the gaps come from the seed."""

from __future__ import annotations

import bisect
import math
import time
from collections import deque
from dataclasses import dataclass

from tdelta.driver.scripted.draws import Rng

_GAPS = 0x0A1D
_OVERSHOOT_NS = 80_000
_SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Arrival:
    """An operation handed to a connection.

    ``index`` counts from 0 within the stretch, ``due_ns`` from its begin; ``backlog`` are operations that were due by
    now and are not begun, this one included (0: it is not due yet).
    """

    index: int
    due_ns: int
    backlog: int


class Arrivals:
    """The arrivals of one stretch, the same for every twin. Keeps no more in memory than the backlog.

    Args:
        kind: ``constant`` or ``poisson``.
        rate: a second, over all connections.
        seed: the run's.
        stream: which set of operations.
        total: how many.
    """

    def __init__(self, kind: str, rate: float, seed: int, stream: int, total: int) -> None:
        self._kind = kind
        self._rate = rate
        self._rng = Rng(seed ^ _GAPS, stream, 0)
        self._total = total
        self._drawn = 0
        self._taken = 0
        self._last_due_ns = 0.0
        self._waiting: deque[int] = deque()

    def take(self, now_ns: int) -> Arrival | None:
        """The next operation, or None after the last."""
        if self._taken == self._total:
            return None
        while self._drawn < self._total and (not self._waiting or self._waiting[-1] <= now_ns):
            self._waiting.append(self._draw())
        due_ns = self._waiting.popleft()
        backlog = 1 + bisect.bisect_right(self._waiting, now_ns) if due_ns <= now_ns else 0
        self._taken += 1
        return Arrival(self._taken - 1, due_ns, backlog)

    def _draw(self) -> int:
        gap = 1.0 if self._kind == "constant" else -math.log(1.0 - self._rng.unit())
        self._drawn += 1
        self._last_due_ns += gap * _SECOND_NS / self._rate
        return int(self._last_due_ns)


def wait_until(due_ns: int, *, spins: bool) -> int:
    """Sleep until ``due_ns`` of the monotonic clock.

    Args:
        due_ns: when to wake.
        spins: whether a core is free to spin the last stretch on, since a sleep overshoots by some fifty microseconds.

    Returns:
        How long was spun, ns.
    """
    left_ns = due_ns - time.monotonic_ns() - (_OVERSHOOT_NS if spins else 0)
    if left_ns > 0:
        time.sleep(left_ns / _SECOND_NS)
    awake_ns = now_ns = time.monotonic_ns()
    while now_ns < due_ns:
        now_ns = time.monotonic_ns()
    return now_ns - awake_ns

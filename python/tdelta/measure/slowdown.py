"""How many times as long CPU work takes because other programs are at it, too: measured by doing some.

Load averages say nothing of priorities or of a cgroup's quota; a thread that wants a CPU and is timed meets them all.
"""

from __future__ import annotations

import hashlib
import os
import time
from concurrent.futures import ThreadPoolExecutor

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

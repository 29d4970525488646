"""An event simulation of threads on cores, behind a latch and a log: where encryption costs what.

A closed loop of N threads. One operation is away for a while (network, client), takes one of c cores for its own work,
enters the critical section of a latch, still on its core (pages are decrypted there), leaves both, passes the one
writer of the log, and a device that serves one at a time and that encryption does not touch. Encryption multiplies the
work on a core, the section and the log, each by its own factor. Every queue is first come, first served.

Nothing here is fitted to anything: it is what `tdelta.inference.scaling` is held against, and tests hold it against
theory (`test_threads.py`).
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

Law = Callable[[np.random.Generator, int], NDArray[np.float64]]
"""So many service times of mean 1."""

_CORE, _LATCH, _LOG, _DEVICE = range(4)
_BATCH = 4096
_HEAVY = float(np.sqrt(np.log(1.0 + 4.0**2)))


def constant(_: np.random.Generator, size: int) -> NDArray[np.float64]:
    """No spread."""
    return np.ones(size)


def exponential(random: np.random.Generator, size: int) -> NDArray[np.float64]:
    """A coefficient of variation of 1."""
    return random.standard_exponential(size)


def heavy(random: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Lognormal, a coefficient of variation of 4."""
    return np.exp(_HEAVY * random.standard_normal(size) - 0.5 * _HEAVY**2)


@dataclass(frozen=True)
class System:
    """Mean seconds of one operation at each place.

    Attributes:
        cores: how many.
        work: on a core, with nothing held.
        away: where there is room for all threads.
        latch: on a core, one thread at a time; a thread that waits for it keeps its core (it spins).
        log: at the one writer of the log.
        device: at a device that serves one at a time, the same with and without encryption.
        law: of all service times.
    """

    cores: int
    work: float
    away: float = 0.0
    latch: float = 0.0
    log: float = 0.0
    device: float = 0.0
    law: Law = exponential

    @property
    def alone(self) -> float:
        """Seconds of one operation where nobody waits."""
        return self.away + self.work + self.latch + self.log + self.device

    def encrypted(self, work: float = 1.0, latch: float = 1.0, log: float = 1.0) -> System:
        """The encrypted twin: each part times a factor."""
        return replace(self, work=self.work * work, latch=self.latch * latch, log=self.log * log)

    def most(self, threads: int) -> float:
        """Operations per second that no law of service exceeds (Denning and Buzen 1978)."""
        rates = [threads / self.alone, self.cores / (self.work + self.latch)]
        return min(rates + [1 / own for own in (self.latch, self.log, self.device) if own])

    def steps(self) -> list[tuple[str, int, float]]:
        """What a thread does over and over: work, take and leave."""
        steps = [("work", 0, self.away), ("take", _CORE, 0.0), ("work", 0, self.work)]
        if self.latch:
            steps += [("take", _LATCH, 0.0), ("work", 0, self.latch), ("leave", _LATCH, 0.0)]
        steps.append(("leave", _CORE, 0.0))
        for place, seconds in ((_LOG, self.log), (_DEVICE, self.device)):
            if seconds:
                steps += [("take", place, 0.0), ("work", 0, seconds), ("leave", place, 0.0)]
        return steps


@dataclass(frozen=True)
class Simulated:
    """What a run shows: operations per second, and mean seconds of one from its return to its next leave."""

    throughput: float
    response: float


def simulate(system: System, threads: int, operations: int, seed: int) -> Simulated:
    """So many operations, after a start of a tenth of them or three for every thread, whichever is more."""
    units = _units(system.law, np.random.default_rng(seed))
    steps, order = system.steps(), count()
    free, queues = [system.cores, 1, 1, 1], [deque[tuple[int, int]]() for _ in range(4)]
    events = [(0.0, next(order), thread, 0) for thread in range(threads)]
    began = [0.0] * threads
    warm = max(operations // 10, 3 * threads)
    done, since, spent = -warm, 0.0, 0.0
    while True:
        now, _, thread, at = heapq.heappop(events)
        while True:  # until the thread has to wait
            if at == len(steps):
                at, done = 0, done + 1
                spent += now - began[thread] if done > 0 else 0.0
                if done == 0:
                    since = now
                elif done == operations:
                    return Simulated(operations / (now - since), spent / operations)
            kind, place, seconds = steps[at]
            at += 1
            if kind == "work":
                ends = now + seconds * next(units) if seconds else now
                if at == 1:
                    began[thread] = ends
                heapq.heappush(events, (ends, next(order), thread, at))
                break
            if kind == "leave":
                if queues[place]:
                    heapq.heappush(events, (now, next(order), *queues[place].popleft()))
                else:
                    free[place] += 1
            elif free[place]:
                free[place] -= 1
            else:
                queues[place].append((thread, at))
                break


def _units(law: Law, random: np.random.Generator) -> Iterator[float]:
    while True:
        yield from law(random, _BATCH).tolist()

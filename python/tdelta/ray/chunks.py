"""Which operations of a closed loop each agent does: chunks of the trial's, handed out while it runs.

An agent with a fixed part ends when its machine lets it, and the others have no work meanwhile. So whoever is free
takes the next chunk, as threads of one process take the next operation. What the trial does is the same for one agent
or ten, operation k being drawn from seed, stream and k alone; who does which part varies.

Chunks are large at first and small at the end (guided self-scheduling: Polychronopoulos and Kuck 1987, IEEE
Transactions on Computers C-36), and in proportion to how fast each agent did its last ones (adaptive weighted
factoring: Banicescu, Velusamy and Devaprasad 2003, Cluster Computing 6); the last one of each is such that all end at
the same time, by these speeds. An agent holds two at most: the one it is at, and the next, so that handing out goes on
beside its work.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Chunk = tuple[int, int]
"""Operations from the first up to the second, which is not included; both are numbers within the trial."""

LEAST_SECONDS = 0.02
"""How long a chunk takes, at the least: so long may handing out the next one take."""

_AHEAD = 2
"""How many chunks an agent holds at first."""

_MOST = 1 / 20
_LEAST = 1 / 100
"""The shares of a trial's time that a chunk takes, at the most and at the least."""

_OF_REST = 1 / 8
"""The share of what is left that a chunk takes, between the two: an agent may become four times slower."""

_LAST = 1.5
"""An agent's last chunk is up to so many times larger than it would be, rather than that a small one is left."""

_NEWEST = 0.5
"""The weight of the newest chunk in what is known of an agent's speed."""


@dataclass(slots=True)
class _Taker:
    """An agent that takes chunks: its connections, how fast it is, and the chunk it is at."""

    connections: int
    per_second: float | None
    held: list[int] = field(default_factory=list)
    """The sizes of the chunks that it has and has not begun, oldest first."""

    begun_seconds: float | None = None
    begun_size: int = 0

    def begins(self, now: float, started: float) -> None:
        """It has begun its last chunk, and so has done the one before."""
        if self.begun_seconds is not None and now > self.begun_seconds:
            newest = self.begun_size / (now - self.begun_seconds)
            old = newest if self.per_second is None else self.per_second
            self.per_second = _NEWEST * newest + (1 - _NEWEST) * old
        elif self.per_second is None and now > started:
            # Ahead of the first chunk were the start and what is not recorded: alike for all, so it will do until
            # there is a second.
            self.per_second = sum(self.held[:-1]) / (now - started)
        self.begun_seconds, self.begun_size = now, self.held[-1] if self.held else 0
        self.held.clear()

    def outstanding(self, now: float, per_second: float) -> float:
        """The operations that it has and has not done, at this speed."""
        since = now if self.begun_seconds is None else self.begun_seconds
        return sum(self.held) + max(0.0, self.begun_size - per_second * (now - since))


class HandOut:
    """The operations of one trial, from ``first`` up to ``last``, that are not handed out yet.

    Agents have their connections by their numbers. ``per_second`` is what they did in a second of an earlier trial, as
    far as that is known, ``least_seconds`` how long handing out a chunk may take.
    """

    def __init__(
        self,
        first: int,
        last: int,
        connections: Mapping[int, int],
        per_second: Mapping[int, float] | None = None,
        least_seconds: float = LEAST_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        known = per_second or {}
        self._next, self._last = first, max(first, last)
        self._least_seconds = least_seconds
        self._total = self._last - self._next
        self._takers = {number: _Taker(count, known.get(number)) for number, count in connections.items()}
        self._per_second, self._known, self._unknown = 0.0, 0, 0
        for taker in self._takers.values():
            self._count(taker, 1)
        self._clock = clock
        self._started = clock()

    @property
    def is_over(self) -> bool:
        return self._next == self._last

    def first(self, number: int) -> list[Chunk]:
        """The first chunks of an agent; nothing where the others are to do all there is."""
        taker = self._takers[number]
        sizes = (self._size(taker) for _ in range(_AHEAD))
        return [self._take(taker, size) for size in sizes if size > 0]

    def next(self, number: int) -> Chunk | None:
        """The chunks of an agent after its last one, which it has just begun; None: there is no more."""
        taker = self._takers[number]
        self._count(taker, -1)
        taker.begins(self._clock(), self._started)
        self._count(taker, 1)
        return None if self.is_over else self._take(taker, max(self._size(taker), taker.connections))

    def per_second(self) -> dict[int, float]:
        """Operations that agents did in a second, as far as that is known."""
        return {number: taker.per_second for number, taker in self._takers.items() if taker.per_second is not None}

    def _take(self, taker: _Taker, size: int) -> Chunk:
        first = self._next
        self._next = min(self._last, first + size)
        taker.held.append(self._next - first)
        return first, self._next

    def _size(self, taker: _Taker) -> int:
        """Of an agent's next chunk; 0 or less where it has what it does until all are done."""
        rest, share, per_second = self._last - self._next, self._share(taker), taker.per_second
        if per_second is None:
            usual = _OF_REST * self._total * share
        else:
            by_rest = min(_MOST * self._total, max(_LEAST * self._total, _OF_REST * rest)) * share
            usual = max(by_rest, per_second * self._least_seconds)
        usual = max(usual, taker.connections)  # each is to have something to do
        is_late = rest * share - self._outstanding(taker) <= 2 * _LAST * usual
        if is_late and (needed := self._needed(taker)) <= _LAST * usual:
            return min(rest, math.ceil(needed))
        return min(rest, round(usual))

    def _needed(self, taker: _Taker) -> float:
        """How many operations an agent lacks to be at work until all are done, if each goes on as it did."""
        outstanding = sum(map(self._outstanding, self._takers.values()))
        return self._share(taker) * (self._last - self._next + outstanding) - self._outstanding(taker)

    def _outstanding(self, taker: _Taker) -> float:
        return taker.outstanding(self._clock(), self._speed(taker))

    def _count(self, taker: _Taker, sign: int) -> None:
        """Add an agent to the sums over all, or take it off: speeds, connections with a known one, and without."""
        if taker.per_second is None:
            self._unknown += sign * taker.connections
        else:
            self._known += sign * taker.connections
            self._per_second += sign * taker.per_second

    def _speed(self, taker: _Taker) -> float:
        """Operations in a second; where that is not known, as the others'. In any unit where nobody's is."""
        if taker.per_second is not None:
            return taker.per_second
        return taker.connections * (self._per_second / self._known if self._known else 1.0)

    def _share(self, taker: _Taker) -> float:
        """An agent's share of what all do in the same time."""
        usual = self._per_second / self._known if self._known else 1.0
        return self._speed(taker) / max(self._per_second + usual * self._unknown, 1e-9)

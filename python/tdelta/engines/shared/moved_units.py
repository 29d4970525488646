"""The CPU time of each page or block that a piece of work moved, by the bytes that the process asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tdelta import _native


@dataclass(frozen=True, slots=True)
class MovedUnits:
    """What a piece of work has to move, and how it is timed.

    Args:
        name: what they are called, in the plural.
        count: how many there are.
        unit_bytes: what one of them takes in a file.
        clock_ns: the CPU time so far, ns, of the thread or of the process, whichever does the work.
        least: the share of them that must be moved, or something else was timed.
        most: the share from which on more than they was moved.
    """

    name: str
    count: float
    unit_bytes: int
    clock_ns: Callable[[], int]
    least: float
    most: float

    def us_each(self, work: Callable[[], None], moved: str | None) -> float:
        """The CPU time over those that were moved, µs.

        Args:
            work: what is timed.
            moved: the bytes of the process that say how many; None where all were worked on in memory.

        Raises:
            ValueError: too few were moved, or too many.
        """
        before, began_ns = _native.process_usage(), self.clock_ns()
        work()
        took_us = (self.clock_ns() - began_ns) / 1000
        if moved is None or not before["syscall_read_bytes"]:  # where the system does not count bytes
            return took_us / self.count
        found: float = (_native.process_usage()[moved] - before[moved]) / self.unit_bytes
        if not self.least <= found / self.count <= self.most:
            raise ValueError(
                f"expected some {self.count:g} {self.name} of {moved.replace('_', ' ')}, found {found:.1f}"
            )
        return took_us / found

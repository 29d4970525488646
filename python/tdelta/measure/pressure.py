"""How pressed the machine was while a trial ran: pressure stall information, and time stolen by the host.

A share of ``cpu_some`` says that for this part of the wall clock at least one task of the machine waited for a CPU
(Documentation/accounting/psi.rst of the kernel). tdelta's own threads count as well: with more threads than idle CPUs
they press themselves. ``steal`` is the share of all CPU time that the host gave to another guest (proc_stat(5)), in
ticks of 10 ms as a rule, so that for a short trial on few CPUs it is coarse.

A kernel without these files (``CONFIG_PSI`` off, ``psi=0``) leaves the shares out; it does not make them zero.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tdelta.measure.procfs import read_text

RESOURCES = ("cpu", "io", "memory")
"""The files of ``/proc/pressure`` that are read."""


class CpuTicks(NamedTuple):
    """CPU time of all CPUs since boot, in ticks: stolen by the host, and all together."""

    steal: int
    total: int


def parse_pressure(text: str) -> int | None:
    """The total of the ``some`` line of a pressure file, µs since boot; None without one."""
    match = re.search(r"^some .*\btotal=(\d+)", text, re.MULTILINE)
    return int(match[1]) if match else None


def parse_steal(text: str) -> CpuTicks | None:
    """The ticks of the first line of ``/proc/stat``; None where it lacks ``steal`` (before Linux 2.6.11)."""
    match = re.match(r"cpu +((?:\d+ ){7}\d+)", text)
    if match is None:
        return None
    ticks = [int(field) for field in match[1].split()]  # user to steal; guest time is within user and nice already
    return CpuTicks(ticks[7], sum(ticks))


class _Reading(NamedTuple):
    wall_ns: int
    stalled_us: dict[str, int]
    ticks: CpuTicks | None


class PressureMeter:
    """Measures one interval after the other: :meth:`start`, the work, :meth:`stop`.

    Args:
        root: the root of the file system to read ``proc`` from (tests have their own).
        clock: wall clock, ns.
    """

    def __init__(self, root: Path = Path("/"), clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._proc = root / "proc"
        self._clock = clock
        self._started: _Reading | None = None

    def start(self) -> None:
        self._started = self._read()

    def stop(self) -> dict[str, float]:
        """End the interval.

        Returns:
            ``cpu_some``, ``io_some`` and ``memory_some`` as shares of the wall clock, ``steal`` as a share of the CPU
            time of all CPUs; each within 0 … 1, and left out where the kernel does not tell.
        """
        if self._started is None:
            from tdelta.errors import Defect  # not earlier: workers do without it

            raise Defect("PressureMeter.stop: expected start() before, found none")
        before, after, self._started = self._started, self._read(), None
        shares = {
            f"{name}_some": _share((after.stalled_us[name] - stalled) * 1000, after.wall_ns - before.wall_ns)
            for name, stalled in before.stalled_us.items()
            if name in after.stalled_us
        }
        if before.ticks and after.ticks and after.ticks.total > before.ticks.total:
            shares["steal"] = _share(after.ticks.steal - before.ticks.steal, after.ticks.total - before.ticks.total)
        return shares

    def _read(self) -> _Reading:
        totals = {name: parse_pressure(read_text(self._proc / "pressure" / name) or "") for name in RESOURCES}
        stalled_us = {name: total for name, total in totals.items() if total is not None}
        return _Reading(self._clock(), stalled_us, parse_steal(read_text(self._proc / "stat") or ""))


def _share(part: float, whole: float) -> float:
    """A share within 0 … 1: counters that are read one after the other can be a little out of step."""
    return min(1.0, max(0.0, part / whole)) if whole > 0 else 0.0

"""How pressed the machine was while a trial ran: pressure stall information, and time stolen by the host.

A share of ``cpu_some`` says that for this part of the wall clock at least one task of the machine waited for a CPU
(Documentation/accounting/psi.rst of the kernel). tdelta's own threads count as well: with more threads than idle CPUs
they press themselves. ``cpu_busy`` is the share of all CPU time in which something ran, ``steal`` the share that the
host gave to another guest (proc_stat(5)), in ticks of 10 ms as a rule, so that for a short trial they are coarse.

A kernel without these files (``CONFIG_PSI`` off, ``psi=0``) leaves the shares out; it does not make them zero.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tdelta import _native
from tdelta.measure.procfs import read_text

RESOURCES = ("cpu", "io", "memory")
"""The files of ``/proc/pressure`` that are read."""


_SOME = re.compile(r"^some .*\btotal=(\d+)", re.MULTILINE)
"""The line of a pressure file that has the µs since boot."""

_CPUS = re.compile(r"cpu +((?:\d+ ){7}\d+)")
"""The first line of ``/proc/stat`` up to ``steal``; guest time is within user and nice already."""


class PressureMeter:
    """Measures from when it is made."""

    def __init__(self, root: Path = Path("/"), clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._proc = root / "proc"
        self._clock = clock
        self._before, self._began_ns = self._read(), clock()

    def stop(self) -> dict[str, float]:
        """The shares from then on until now.

        Returns:
            ``cpu_some``, ``io_some`` and ``memory_some`` as shares of the wall clock, ``cpu_busy`` and ``steal`` as
            shares of the CPU time of all CPUs; each within 0 … 1, and left out where the kernel does not tell.
        """
        after, elapsed_ns = self._read(), self._clock() - self._began_ns
        grown = {name: total - self._before[name] for name, total in after.items() if name in self._before}
        shares = {f"{name}_some": _share(grown[name] * 1000, elapsed_ns) for name in RESOURCES if name in grown}
        if grown.get("ticks", 0) > 0:
            shares |= {name: _share(grown[name], grown["ticks"]) for name in ("cpu_busy", "steal")}
        return shares

    def _read(self) -> dict[str, int]:
        """By resource the µs in which some task waited, and the ticks of all CPUs with the busy and the stolen ones."""
        files = {name: _SOME.search(read_text(self._proc / "pressure" / name) or "") for name in RESOURCES}
        found = {name: int(total[1]) for name, total in files.items() if total is not None}
        if (cpus := _CPUS.match(read_text(self._proc / "stat") or "")) is not None:
            user, nice, system, idle, io_wait, irq, soft_irq, steal = map(int, cpus[1].split())
            busy = user + nice + system + irq + soft_irq
            found |= {"cpu_busy": busy, "steal": steal, "ticks": busy + idle + io_wait + steal}
        return found


def _share(part: float, whole: float) -> float:
    """A share within 0 … 1: counters that are read one after the other can be a little out of step."""
    return min(1.0, max(0.0, part / whole)) if whole > 0 else 0.0


def spent(work: Callable[[], object]) -> dict[str, Any]:
    """Do some work in a worker's process: elapsed ns, what the process used meanwhile, how pressed the machine was."""
    before, meter = _native.process_usage(), PressureMeter()
    began_ns = time.monotonic_ns()
    work()
    elapsed_ns = time.monotonic_ns() - began_ns
    pressure = meter.stop()
    used = {name: total - before[name] for name, total in _native.process_usage().items()}
    return {"elapsed_ns": elapsed_ns, "usage": used, "pressure": pressure}


# Whether something stood still while a trial ran: stopped by a signal, frozen, or suspended with the machine.
#
# Watched by a thread of the process that is concerned, see crates/tdelta-core/src/process/standstill.rs: pauses of a
# second or more are found, shorter ones are not. A process that waits for a CPU does not stand still.

_STOPPED = frozenset("Tt")


class Watched:
    """The standstill that was seen, once it is over: words for people, empty where nothing stood still."""

    def __init__(self) -> None:
        self.standstill = ""


@contextlib.contextmanager
def watching(who: str, others: Sequence[int] = (), called: str = "") -> Iterator[Watched]:
    """Within the block it is watched whether this process, ``who``, stands still, or others do, ``called`` so."""
    seen, watch = Watched(), _native.Watch(others)
    try:
        yield seen
    finally:
        seen.standstill = in_words(watch.end(), who, called)


def in_words(found: Mapping[str, Any] | None, who: str, others: str = "the server") -> str:
    if not found:
        return ""
    if found["suspended_ns"]:
        return f"the machine was suspended for {found['suspended_ns'] / 1e9:.0f} s"
    if found["stopped"]:
        return f"{others} was stopped by a signal"
    return f"{who} stood still for {found['paused_ns'] / 1e9:.0f} s" if found["paused_ns"] else ""


def is_stopped(process: int, root: Path = Path("/")) -> bool:
    """Whether a process is stopped by a signal or a debugger; one that has gone is not."""
    _, _, rest = (read_text(root / f"proc/{process}/stat") or "").rpartition(") ")
    return rest[:1] in _STOPPED if rest else False

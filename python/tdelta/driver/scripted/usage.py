"""What the kernel says this process used, by the names that measurements have."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tdelta.measure.pressure import PressureMeter
from tdelta.measure.procfs import read_text

_IO = {
    "rchar": "asked_read_bytes",
    "wchar": "asked_written_bytes",
    "read_bytes": "device_read_bytes",
    "write_bytes": "device_written_bytes",
}


def cpu_seconds() -> tuple[float, float]:
    """CPU seconds of this process so far, all of its threads: in user mode, in the kernel."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime, usage.ru_stime


def usage() -> dict[str, int]:
    """Running totals of this process: bytes, page faults, switches. Bytes are 0 where the kernel does not tell."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    fields = dict(
        line.split(": ") for line in (read_text(Path("/proc/self/io")) or "").splitlines() if line.count(": ") == 1
    )
    return {
        **{name: int(fields.get(field, 0)) for field, name in _IO.items()},
        "minor_faults": used.ru_minflt,
        "major_faults": used.ru_majflt,
        "voluntary_switches": used.ru_nvcsw,
        "involuntary_switches": used.ru_nivcsw,
    }


def since(start: Mapping[str, int]) -> dict[str, int]:
    """What was used since ``start``, which `usage` told."""
    return {name: total - start[name] for name, total in usage().items()}


def run_delays() -> dict[str, int]:
    """How long each live thread of this process was ready to run and had no CPU, ns; empty where the kernel is silent.

    The second field of ``schedstat`` (Documentation/scheduler/sched-stats.rst); all three are 0 where it keeps none.
    """
    found = {}
    for thread in Path("/proc/self/task").iterdir():
        fields = [int(field) for field in (read_text(thread / "schedstat") or "").split()]
        if len(fields) == 3 and (fields[0] or fields[2]):
            found[thread.name] = fields[1]
    return found


def delay_since(start: Mapping[str, int]) -> int | None:
    """What the live threads have waited since ``start``, which `run_delays` told; new ones count whole."""
    now = run_delays()
    return sum(waited - start.get(thread, 0) for thread, waited in now.items()) if now else None


def spent(work: Callable[[], object]) -> dict[str, Any]:
    """Do some work in a worker's process: elapsed ns, what the process used meanwhile, how pressed the machine was."""
    meter = PressureMeter()
    before, cpu = usage(), cpu_seconds()
    meter.start()
    began_ns = time.monotonic_ns()
    work()
    elapsed_ns = time.monotonic_ns() - began_ns
    pressure = meter.stop()
    user, system = (after - then for after, then in zip(cpu_seconds(), cpu, strict=True))
    used = {**since(before), "cpu_user_seconds": user, "cpu_system_seconds": system}
    return {"elapsed_ns": elapsed_ns, "usage": used, "pressure": pressure}

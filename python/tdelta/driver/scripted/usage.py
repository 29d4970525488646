"""What the kernel says this process used, by the names that measurements have."""

from __future__ import annotations

import resource
from collections.abc import Mapping
from pathlib import Path

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

"""What this process may have perf look at, by the kernel's settings and its own capabilities."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from tdelta.measure.procfs import read_text

_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_STATUS = Path("/proc/self/status")
_PARANOID_OF_CPUS = 0
"""The highest level of it at which anybody may look at whole CPUs."""

_MAY_LOOK_AT_CPUS = (21, 38)
"""CAP_SYS_ADMIN and CAP_PERFMON, capabilities(7)."""


def paranoid_level() -> str:
    """The level of ``kernel.perf_event_paranoid``; empty where it is not known."""
    return read_text(_PARANOID) or ""


def may_look_at_cpus() -> bool:
    """Whether this process may have perf sample whole CPUs, as far as is known before it is tried."""
    with contextlib.suppress(ValueError):
        if int(paranoid_level()) <= _PARANOID_OF_CPUS:
            return True
    return has_right(*_MAY_LOOK_AT_CPUS)


def has_right(*capabilities: int) -> bool:
    """Whether this process has one of these."""
    held = re.search(r"^CapEff:\s*([0-9a-f]+)$", read_text(_STATUS) or "", re.MULTILINE)
    return held is not None and any(int(held[1], 16) >> right & 1 for right in capabilities)


def has_maps(pid: int) -> bool:
    """Whether it can be seen which code a process has mapped; one that is gone is no matter."""
    try:
        Path(f"/proc/{pid}/maps").read_bytes()
    except PermissionError:
        return False
    except OSError:
        pass
    return True

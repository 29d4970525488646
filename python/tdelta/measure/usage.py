"""What this process used while it did some work."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tdelta import _native
from tdelta.measure.pressure import PressureMeter

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_RESET_PEAK = "5"
"""What sets the peak to what is resident now: proc_pid_clear_refs(5)."""

_KIB = 1024


class PeakMemory:
    """From `start` to `stop`. The whole process counts: its interpreter and libraries as well."""

    def __init__(self) -> None:
        self._is_fresh = False

    def start(self) -> None:
        try:
            _CLEAR.write_text(_RESET_PEAK, encoding="ascii")
        except OSError:
            self._is_fresh = False
        else:
            self._is_fresh = True

    def stop(self) -> int | None:
        """The peak since `start`, bytes; None where the kernel does not tell, or keeps the peak of earlier work."""
        if not self._is_fresh:
            return None
        try:
            lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:
            return None
        return next((int(line.split()[1]) * _KIB for line in lines if line.startswith("VmHWM:")), None)


def spent(work: Callable[[], object]) -> dict[str, Any]:
    """Do some work in a worker's process: elapsed ns, what the process used meanwhile, how pressed the machine was."""
    meter = PressureMeter()
    before = _native.process_usage()
    meter.start()
    began_ns = time.monotonic_ns()
    work()
    elapsed_ns = time.monotonic_ns() - began_ns
    pressure = meter.stop()
    used = {name: total - before[name] for name, total in _native.process_usage().items()}
    return {"elapsed_ns": elapsed_ns, "usage": used, "pressure": pressure}

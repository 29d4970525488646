"""The largest resident set of this process while it does some work, as Linux keeps it (``VmHWM``)."""

from __future__ import annotations

from pathlib import Path

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

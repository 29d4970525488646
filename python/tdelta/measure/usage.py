"""What this process used while it did some work."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tdelta import _native
from tdelta.measure.pressure import PressureMeter


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

"""The block device that a folder's files lie on, where the kernel counts its requests."""

from __future__ import annotations

import os
from pathlib import Path

_DEVICES = Path("/sys/dev/block")


def device_statistics(folder: Path, devices: Path = _DEVICES) -> str | None:
    """The file with the counts of a folder's device; None where there is no such device (in memory, over a network)."""
    number = folder.stat().st_dev
    path = devices / f"{os.major(number)}:{os.minor(number)}" / "stat"
    return str(path) if path.exists() else None

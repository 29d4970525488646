"""An actor of Ray's on a node, as whatever is placed there says of itself."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_NETWORK = Path("/proc/self/ns/net")


def machine() -> str:
    """What processes on one machine have in common, until it is started anew: one monotonic clock, one file system."""
    return _BOOT_ID.read_text().strip()


def network() -> str:
    """What processes of one machine have in common that reach each other by 127.0.0.1."""
    return f"{machine()} {_NETWORK.readlink()}"


def tdelta_version() -> str:
    """The version of tdelta here; empty where it was not installed as a package."""
    try:
        return version("tdelta")
    except PackageNotFoundError:
        return ""


class Node:
    """An actor. Its methods are called by Ray, several at once and in any order."""

    def hello(self) -> dict[str, Any]:
        return {
            "node": platform.node(),
            "machine": machine(),
            "network": network(),
            "version": tdelta_version(),
            "pid": os.getpid(),
        }

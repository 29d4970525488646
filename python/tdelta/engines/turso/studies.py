"""What the studies set otherwise for Turso, by the study's name; without an entry a study does not run on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

STUDIES: Mapping[str, Mapping[str, Any]] = {
    "order-entry": {"vary": {"cipher": ("aegis-256", "aes-256-gcm", "aes-128-gcm")}},
    "read-only-sweep": {  # every condition is a file and a process, where a server's instance serves many threads
        "scope": None,
        "vary": {"cipher": ("aegis-256",), "threads": (1, 4), "cache": (0.10, 1.20)},
        "size_bytes": 50_000_000,
    },
}

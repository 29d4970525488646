"""What engines have in common where a study's settings are their own (`studies.py` of an engine's folder)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WAREHOUSE_WORK = ("load", "rebuild", "warm", "cold")
"""What trials of the warehouse do."""

BACKUPS = (
    "backup",
    "backup:compress=zstd",
    "backup:tool=dump:compress=zstd",
    "restore:compress=zstd",
    "restore:tool=dump:compress=zstd",
)
"""Physical ones, by the engine's first tool, and logical ones."""

SERVER_BACKUPS: Mapping[str, Any] = {
    "vary": {"work": BACKUPS[1:], "cipher": ("aes-256",)},
    "blocks_per_round": 2,
    "min_rounds": 2,
    "max_rounds": 3,
}
"""Each level has servers, which take their time to be started, and each restore needs one more."""

FILE_REWRITES: Mapping[str, Any] = {
    "vary": {"work": ("encrypt", "rekey", "decrypt")},
    "trial_seconds": 0.5,
    "warmup_seconds": 0.0,
}
"""The study ``convert`` where a file is rewritten by itself."""

SERIAL_LOAD = {"work": ("load",), "aes_instructions": ("on", "off")}
"""What ``direct-load`` varies where an engine has one cipher."""


SERVER_WAREHOUSE: Mapping[str, Any] = {"blocks_per_round": 2, "min_rounds": 2}
"""The warehouse on a server: loads and rebuilds take longest there."""

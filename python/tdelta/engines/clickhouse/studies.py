"""What the studies set otherwise for ClickHouse, by the study's name; without an entry a study does not run on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tdelta.engines.shared.study_settings import WAREHOUSE_WORK

_CIPHERS = ("aes-128-ctr", "aes-256-ctr")
_DEFAULT_CACHE = 0.10
"""What is not typed: nothing limits its cache, so a study's own share would be refused."""

STUDIES: Mapping[str, Mapping[str, Any]] = {
    "direct-load": {
        "vary": {"work": ("load",), "cipher": _CIPHERS, "aes_instructions": ("on", "off")},
        "cache": _DEFAULT_CACHE,
    },
    "warehouse": {"vary": {"work": WAREHOUSE_WORK, "cipher": ("aes-256-ctr",)}, "cache": _DEFAULT_CACHE},
}

"""Which engines there are, and which of them can run here."""

from __future__ import annotations

from importlib import import_module

from tdelta.engines.profile import EngineInfo
from tdelta.engines.registry import ENGINES


def catalogue() -> tuple[EngineInfo, ...]:
    """Every engine, with what this machine and this version of tdelta can do."""
    return tuple(info for package in ENGINES.values() for info in import_module(f"{package}.driver").listed())

"""Which engines there are, and which of them can run here."""

from __future__ import annotations

from importlib import import_module

from tdelta.engines.profile import EngineInfo
from tdelta.engines.registry import ENGINES, PLANNED


def catalogue() -> tuple[EngineInfo, ...]:
    """Every engine, with what this machine and this version of tdelta can do."""
    found = (info for package in ENGINES.values() for info in import_module(f"{package}.driver").listed())
    planned = (
        EngineInfo(one.name, False, None, (), one.product, "", "planned: this version of tdelta cannot drive it yet")
        for one in PLANNED.values()
    )
    return (*found, *planned)

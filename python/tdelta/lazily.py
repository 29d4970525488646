"""Names of a package that are imported when they are first asked for, and versions of packages.

A run starts dozens of processes, for twins, servers and connections, and each needs a few modules of two packages whose
whole is ten times as much.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module


def lazy_getattr(package: str, **modules: tuple[str, ...]) -> Callable[[str], object]:
    """A package's ``__getattr__``.

    Args:
        **modules: the names of each module. None may be called like a module, since importing that one would bind it.
    """
    homes = {name: module for module, names in modules.items() for name in names}

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return find


def installed_version(distribution: str) -> str | None:
    """The version of a package; None if it is not installed. Imports nothing of it."""
    from importlib.metadata import PackageNotFoundError, version  # not earlier: it is slow, and workers need none

    try:
        return version(distribution)
    except PackageNotFoundError:
        return None

"""Which class of files a path below a data directory belongs to, whichever engine's directory it is."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec

from tdelta.engines.registry import ENGINES, servers
from tdelta.engines.shared.file_classes import FileRules, server_file_class
from tdelta.evidence.classes import FileClass


def class_of(path: str) -> FileClass:
    """The class that the first engine whose rules know the path gives it; `FileClass.OTHER` where none does.

    Args:
        path: relative to a data directory, with slashes.
    """
    found = (server_file_class(rules, path) for rules in _rules())
    return next((one for one in found if one is not FileClass.OTHER), FileClass.OTHER)


@cache
def _rules() -> tuple[FileRules, ...]:
    modules = [import_module(f"{ENGINES[name]}.evidence") for name in servers() if _has_evidence(name)]
    return tuple(dict.fromkeys(module.EVIDENCE.files for module in modules))


def _has_evidence(name: str) -> bool:
    return find_spec(f"{ENGINES[name]}.evidence") is not None

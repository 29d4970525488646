"""Which class of files a path below a data directory belongs to, whichever engine's directory it is."""

from __future__ import annotations

from functools import cache

from tdelta.engines.registry import profiles, server
from tdelta.engines.server.evidence import FileRules, server_file_class
from tdelta.evidence.search import FileClass


def class_of(path: str) -> FileClass:
    """The class that the first engine whose rules know the path gives it; `FileClass.OTHER` where none does.

    Args:
        path: relative to a data directory, with slashes.
    """
    found = (server_file_class(rules, path) for rules in _rules())
    return next((one for one in found if one is not FileClass.OTHER), FileClass.OTHER)


@cache
def _rules() -> tuple[FileRules, ...]:
    return tuple(dict.fromkeys(server(one.name).evidence.files for one in profiles() if one.program is not None))

"""Which class a file of a server belongs to, by its path below the data directory.

Rules are tried in their order, the first that matches wins. Paths are written with slashes; what lies in the server's
folder for temporary files is ``tmp/…``, what it says to people is ``server.log``.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from tdelta.evidence.classes import FileClass

FileRules: TypeAlias = tuple[tuple[re.Pattern[str], FileClass], ...]


def rules(*pairs: tuple[str, FileClass]) -> FileRules:
    return tuple((re.compile(pattern), of) for pattern, of in pairs)


def server_file_class(rules: FileRules, path: str, *, is_unlinked: bool = False) -> FileClass:
    """The class of a server's file.

    Args:
        path: relative to the data directory, or ``tmp/…``.
        is_unlinked: whether it is open and has no name any more, as temporary files do.
    """
    found = next((of for pattern, of in rules if pattern.fullmatch(path)), FileClass.OTHER)
    return FileClass.TEMP if is_unlinked and found is FileClass.OTHER else found

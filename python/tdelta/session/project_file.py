"""Where the project file of a folder is; looked for by every `tdelta run`, so next to nothing is imported for it.

Its commands run with the rights of whoever is at work below it. So a file that nobody named is used only if this user
or root owns it and its folder, and nobody else can write to either (as Git has it since CVE-2022-24765).
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tdelta.errors import UsageError
from tdelta.messages import Refusal
from tdelta.own_folders import is_trusted

FILE = "tdelta.toml"


def found_above(folder: Path) -> Path | None:
    """The project file of a folder: there, or in the nearest folder above."""
    for place in (folder, *folder.parents):
        path = place / FILE
        if os.path.lexists(path):
            _require_readable(path)
            _require_trusted(path)
            return path
    return None


def _require_readable(path: Path) -> None:
    try:
        is_regular = stat.S_ISREG(path.stat().st_mode)
    except OSError as error:
        raise UsageError(Refusal.of("project-unreadable", path=path, fault=error.strerror)) from error
    if not is_regular:
        raise UsageError(Refusal.of("project-unreadable", path=path, fault="it is no regular file"))


def _require_trusted(path: Path) -> None:
    """See that nobody but this user and root can have written a file, or put it there; of a link, its target too."""
    real = path.resolve()
    for file in dict.fromkeys((path, real)):
        for one, called in ((file, "it"), (file.parent, "its folder")):
            found = one.lstat()
            is_open = not stat.S_ISLNK(found.st_mode) and found.st_mode & stat.S_IWOTH
            if is_trusted(found) and not is_open:
                continue
            why = f"everybody may write to {called}" if is_open else f"{called} belongs to user {found.st_uid}"
            where = str(path) if file == path else f"{path} -> {file}"
            raise UsageError(Refusal.of("project-not-trusted", path=where, why=why, name=path))

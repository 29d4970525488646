"""Where the store is, and how its file and folder are made."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from tdelta import own_folders


def default_path() -> Path:
    """Where the store is: ``TDELTA_STORE``, else ``tdelta/runs.sqlite`` in the XDG data folder.

    A relative ``XDG_DATA_HOME`` is ignored, as the XDG Base Directory Specification asks.
    """
    if named := os.environ.get("TDELTA_STORE"):
        return Path(named)
    data_home = Path(os.environ.get("XDG_DATA_HOME", ""))
    if not data_home.is_absolute():
        data_home = Path.home() / ".local" / "share"
    return data_home / "tdelta" / "runs.sqlite"


def make_private(path: Path) -> None:
    """Make the store's file and folder where they are missing, for their owner only; SQLite's journal is as the file.

    What is there already keeps the rights that it has.
    """
    own_folders.ensure(path.parent)
    with contextlib.suppress(OSError):  # it is there, or SQLite says what is wrong
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))

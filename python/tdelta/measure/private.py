"""Files that hold copies of a user's rows: for their owner only, from their first byte on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

FILE_MODE, FOLDER_MODE = 0o600, 0o700
UMASK = 0o077
"""Of processes that make such files by way of others: a database library, a server."""


def private(path: Path) -> BinaryIO:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, FILE_MODE), "wb")

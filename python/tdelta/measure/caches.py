"""Emptying the system's page cache of the files of one folder, so that what is read next comes from the disk.

Written pages are synced first, since a dirty page stays. As root the whole system's clean pages are dropped, too: an
encrypted file system keeps decrypted pages under names of its own, which no advice on its files below reaches.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_DROP = Path("/proc/sys/vm/drop_caches")
_CLEAN_PAGES = "1"


def empty_page_cache(folder: Path) -> bool:
    """Have the kernel forget every file below ``folder``.

    Returns:
        Whether the whole system's clean pages were dropped as well, which only root may do.
    """
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # a file that is gone, or cannot be read, holds no cache of ours
            if path.is_file():
                forget(path)
    try:
        _DROP.write_text(_CLEAN_PAGES, encoding="ascii")
    except OSError:
        return False
    return True


def forget(path: Path) -> None:
    """Have the kernel write one file's pages and forget them. Raises ``OSError`` where it cannot be read."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)

"""Emptying the system's page cache of the files of one folder, so that what is read next comes from the disk.

Written pages are synced first, since a dirty page stays. As root the whole system's clean pages are dropped, too: an
encrypted file system keeps decrypted pages under names of its own, which no advice on its files below reaches.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from tdelta.measure.effort import IS_BRIEF
from tdelta.measure.machine import mount_of, parse_mountinfo
from tdelta.measure.procfs import read_text

_DROP = Path("/proc/sys/vm/drop_caches")
_CLEAN_PAGES = "1"
_GOCRYPTFS = "fuse.gocryptfs"


def empty_page_cache(folder: Path) -> bool:
    """Have the kernel drop ``folder`` from its caches, as root all clean pages: returns whether it dropped all."""
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # a file that is gone, or cannot be read, holds no cache of ours
            if path.is_file():
                _forget(path)
    if IS_BRIEF and _GOCRYPTFS not in (read_text(Path("/proc/self/mountinfo")) or ""):
        return False
    try:
        _DROP.write_text(_CLEAN_PAGES, encoding="ascii")
    except OSError:
        return False
    return True


def forget(path: Path) -> None:
    """Have the kernel write one file's pages and forget them; on gocryptfs those of all its encrypted files, too."""
    _forget(path)
    mount = mount_of(path, parse_mountinfo(read_text(Path("/proc/self/mountinfo")) or ""))
    if mount is not None and mount.file_system == _GOCRYPTFS:  # its source is the folder of the encrypted files
        for kept in Path(mount.source).rglob("*"):
            if kept.is_file():
                _forget(kept)


def _forget(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)

"""Mounts that tdelta made below a folder of its own, found and undone, also those whose file system has died."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
from pathlib import Path

from tdelta import own_folders
from tdelta.measure.machine import parse_mountinfo

_MNT_DETACH, _UMOUNT_NOFOLLOW = 2, 8
_TOOLS = ("fusermount3", "fusermount")
_TOOL_SECONDS = 20.0


def mounts_below(folder: Path, mountinfo: str | None = None) -> tuple[Path, ...]:
    """The mount points in or below ``folder``, the innermost first; ``mountinfo`` is the kernel's table, for tests."""
    text = Path("/proc/self/mountinfo").read_text(encoding="utf-8") if mountinfo is None else mountinfo
    here = os.path.realpath(folder)
    found = {Path(mount.point) for mount in parse_mountinfo(text)}
    below = [point for point in found if point.is_relative_to(here)]
    return tuple(sorted(below, key=lambda point: len(str(point)), reverse=True))


def is_mounted(point: Path) -> bool:
    return Path(os.path.realpath(point)) in mounts_below(point)


def unmount(point: Path, *, lazily: bool = False) -> bool:
    """Undo a mount in a folder of this user's, ``lazily`` also if it is in use; whether none is left there."""
    with contextlib.suppress(OSError):
        above = own_folders.opened(point.parent)
        try:
            _undo(above, point.name, lazily=lazily)
        finally:
            os.close(above)
    return not is_mounted(point)


def unmount_below(folder: int) -> None:
    """Undo every mount below an opened folder, in use or dead: what is removed next must not be removed through it."""
    here = Path(f"/proc/self/fd/{folder}").readlink()
    for point in mounts_below(here):
        if point != here:
            _undo(folder, str(point.relative_to(here)), lazily=True)


def _undo(folder: int, below: str, *, lazily: bool) -> None:
    """Undo a mount below an opened folder. Root does it itself, others ask FUSE's helper."""
    flags = _UMOUNT_NOFOLLOW | (_MNT_DETACH if lazily else 0)
    if ctypes.CDLL(None, use_errno=True).umount2(os.fsencode(f"/proc/self/fd/{folder}/{below}"), flags) == 0:
        return
    tool = next(filter(None, map(shutil.which, _TOOLS)), None)
    if tool is None:
        return
    options, place = ["-u", "-z"] if lazily else ["-u"], f"/proc/self/fd/{folder}"
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run([tool, *options, below], cwd=place, capture_output=True, check=False, timeout=_TOOL_SECONDS)

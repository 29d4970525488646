"""Mounts that tdelta made below a folder of its own, found and undone, also those whose file system has died."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
from pathlib import Path

_MNT_DETACH = 2
_TOOLS = ("fusermount3", "fusermount")
_TOOL_SECONDS = 20.0


def mounts_below(folder: Path, mountinfo: str | None = None) -> tuple[Path, ...]:
    """The mount points in or below ``folder``, the innermost first; ``mountinfo`` is the kernel's table, for tests."""
    text = Path("/proc/self/mountinfo").read_text(encoding="utf-8") if mountinfo is None else mountinfo
    here = os.path.realpath(folder)
    found = {_unescaped(line.split()[4]) for line in text.splitlines() if line}
    below = [point for point in found if point == here or point.startswith(here + os.sep)]
    return tuple(Path(point) for point in sorted(below, key=len, reverse=True))


def is_mounted(point: Path) -> bool:
    """Whether something is mounted exactly there."""
    return Path(os.path.realpath(point)) in mounts_below(point)


def unmount(point: Path, *, lazily: bool = False) -> bool:
    """Undo a mount; ``lazily`` also if it is in use. Root does it itself, others ask FUSE's helper.

    Returns:
        Whether nothing is mounted there any more.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.umount2(os.fsencode(point), _MNT_DETACH if lazily else 0) != 0:
        _ask_helper(point, lazily=lazily)
    return not is_mounted(point)


def unmount_below(folder: Path) -> None:
    """Undo every mount in or below a folder, in use or dead: what is removed next must not be removed through it."""
    for point in mounts_below(folder):
        unmount(point, lazily=True)


def _ask_helper(point: Path, *, lazily: bool) -> None:
    tool = next(filter(None, map(shutil.which, _TOOLS)), None)
    if tool is None:
        return
    options = ["-u", "-z"] if lazily else ["-u"]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run([tool, *options, str(point)], capture_output=True, check=False, timeout=_TOOL_SECONDS)


def _unescaped(field: str) -> str:
    """A path of mountinfo, in which blanks, tabs, line ends and backslashes are three octal digits."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(code, character)
    return field

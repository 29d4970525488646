"""Is there room? Asked before anything is made, so that a run does not die of a full disk after ten minutes.

A folder that does not exist yet is judged by its nearest ancestor that does. Free means free to this user: blocks
reserved for root do not count, nor memory beyond this process's cgroup. A quota is not seen here; it shows as a
failed write.
"""

from __future__ import annotations

import os
import resource
import stat
import tempfile
from pathlib import Path

from tdelta.errors import EnvironmentFault, StorageFault
from tdelta.measure.procfs import parse_meminfo, read_cgroup_memory, read_text
from tdelta.messages import Refusal

_BLOCK_BYTES = 512
"""The unit of `st_blocks`."""

_MAPS_OF_A_THREAD = 2  # its stack and the guard page below it
_OTHER_THREADS = 100
"""Threads and processes of tdelta's beside those of the load, with room to spare."""
_PROCESS_ADDRESSES = 380 << 20  # with its own few threads
_THREAD_ADDRESSES = (2 << 20) + 4096
"""Of a stack as Rust makes it, with its guard page."""


def allocated(path: Path | str) -> int:
    """Bytes that a file takes on the disk: holes take nothing, and neither does a missing file or another object."""
    try:
        found = Path(path).stat()
    except OSError:
        return 0
    return found.st_blocks * _BLOCK_BYTES if stat.S_ISREG(found.st_mode) else 0


def free_disk_bytes(directory: Path) -> int:
    """Bytes this user can still write in a directory, existing or not."""
    try:
        status = os.statvfs(_nearest(directory))
    except OSError as error:
        raise _fault(directory, error) from error
    return status.f_bavail * status.f_frsize


def free_memory_bytes(root: Path = Path("/")) -> int | None:
    """Bytes of memory this process can still take without swapping; None where the kernel does not tell.

    The smaller of what the machine has available and what the cgroup has left.
    """
    available = parse_meminfo(read_text(root / "proc/meminfo") or "").get("MemAvailable")
    cgroup = read_cgroup_memory(root)
    left = max(0, cgroup.limit_bytes - cgroup.taken_bytes) if cgroup else None
    return min((size for size in (available, left) if size is not None), default=None)


def require_space(
    directory: Path, needed_bytes: int, *, remedy: str = "take less data (--size), or another folder (--dir)"
) -> None:
    free = free_disk_bytes(directory)
    if free < needed_bytes:
        raise StorageFault(too_small(directory, free, needed_bytes, remedy))


def too_small(place: object, free_bytes: int, needed_bytes: int, remedy: str) -> Refusal:
    missing = _size(needed_bytes - free_bytes)
    said = {"needed": _size(needed_bytes), "found": _size(free_bytes), "missing": missing}
    return Refusal.of("disk-too-small", folder=place, remedy=remedy, **said)


def disk_refusal(said: object) -> Refusal:
    """The remedy for a write that failed: the disk is full, or files may not grow so far (``ulimit -f``)."""
    most = _limit(resource.getrlimit(resource.RLIMIT_FSIZE)[0])
    if most is None:
        return Refusal.of("disk-refuses", said=said)
    return Refusal.of("file-size-limited", said=said, most=_size(most))


def require_memory(
    needed_bytes: int,
    root: Path = Path("/"),
    *,
    remedy: str = "take less data (--size), a smaller --cache or fewer --threads",
) -> None:
    """Make sure there is memory; where the kernel does not tell, there is."""
    free = free_memory_bytes(root)
    if free is not None and free < needed_bytes:
        raise EnvironmentFault(
            Refusal.of("memory-too-small", needed=_size(needed_bytes), found=_size(free), remedy=remedy)
        )


def require_open_files(needed: int) -> None:
    """Make sure that a process of this user may have so many files and connections open.

    Only the hard limit counts: processes raise the soft one (`tdelta.measure.starting.raise_open_files`).
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < needed:
        raise EnvironmentFault(Refusal.of("open-files-too-few", needed=needed, found=most))


def require_threads(needed: int, root: Path = Path("/")) -> None:
    """Make sure that a process of this user may have so many threads that drive the load at once."""
    limits = {
        "kernel.threads-max": _whole(root / "proc/sys/kernel/threads-max"),
        "kernel.pid_max": _whole(root / "proc/sys/kernel/pid_max"),
        "vm.max_map_count": (_whole(root / "proc/sys/vm/max_map_count") or 0) // _MAPS_OF_A_THREAD or None,
        "pids.max of the cgroup": _whole(root / "sys/fs/cgroup/pids.max"),
        "ulimit -v": _threads_in(resource.getrlimit(resource.RLIMIT_AS)[0]),
        "ulimit -u": None if os.geteuid() == 0 else _limit(resource.getrlimit(resource.RLIMIT_NPROC)[0]),
    }
    name, most = min(((name, n) for name, n in limits.items() if n is not None), key=lambda limit: limit[1])
    if most < needed + _OTHER_THREADS:
        raise EnvironmentFault(
            Refusal.of("threads-too-few", needed=needed, found=max(0, most - _OTHER_THREADS), limit=name)
        )


def _threads_in(addresses: int) -> int | None:
    if addresses == resource.RLIM_INFINITY:
        return None
    return max(0, addresses - _PROCESS_ADDRESSES) // _THREAD_ADDRESSES + _OTHER_THREADS


def _limit(found: int) -> int | None:
    return None if found == resource.RLIM_INFINITY else found


def _whole(path: Path) -> int | None:
    """The number that a file of the system holds; None where there is none, or ``max``."""
    text = (read_text(path) or "").strip()
    return int(text) if text.isdigit() else None


def require_writable(directory: Path) -> None:
    """Make sure that files can be made in a directory, by making one (with nothing left behind)."""
    try:
        with tempfile.TemporaryFile(dir=_nearest(directory)) as probe:
            probe.write(b"\0")
            probe.flush()
    except OSError as error:
        raise _fault(directory, error) from error


def _nearest(directory: Path) -> Path:
    path = directory.absolute()
    for candidate in (path, *path.parents):
        if candidate.exists():
            return candidate
        if candidate.is_symlink():
            candidate.stat()
    return Path("/")


def _fault(directory: Path, error: OSError) -> StorageFault:
    return StorageFault(Refusal.of("folder-unusable", folder=directory, fault=error.strerror or error))


def _size(size_bytes: int) -> str:
    """A size for people, with the disk makers' units."""
    size = float(size_bytes)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"

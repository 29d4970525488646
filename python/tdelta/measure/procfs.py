"""Small text files of the kernel, read with tolerance: a file that is missing or refuses is None."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import NamedTuple

_START_TICKS = 19
"""Where ``starttime`` stands in /proc/PID/stat behind the name, which is field 2 (proc_pid_stat(5))."""


def read_text(path: Path) -> str | None:
    """The stripped content of a file; None where it cannot be read (a missing file, a driver that says no)."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def parse_meminfo(text: str) -> dict[str, int]:
    """Parse ``/proc/meminfo`` to bytes by field; fields without a unit (counts of huge pages) are left out."""
    sizes = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        match value.split():
            case [kibibytes, "kB"] if kibibytes.isdigit():
                sizes[name.strip()] = int(kibibytes) * 1024
    return sizes


def process_mark(pid: int | None = None, root: Path = Path("/")) -> str | None:
    """A digest of boot and start that tells a process, by default this one, from any other that ever had its number.

    None where there is no such process, or the kernel does not say.
    """
    import hashlib  # not earlier: workers do without it

    boot = read_text(root / "proc/sys/kernel/random/boot_id")
    stat = read_text(root / "proc" / str(os.getpid() if pid is None else pid) / "stat")
    fields = (stat or "").rpartition(")")[2].split()  # a program's name may hold blanks and brackets
    if not boot or len(fields) <= _START_TICKS:
        return None
    return hashlib.sha256(f"{boot} {fields[_START_TICKS]}".encode()).hexdigest()[:16]


class CgroupMemory(NamedTuple):
    """The memory of this process's own cgroup (version 2): its limit, and what is taken and cannot be reclaimed."""

    limit_bytes: int
    taken_bytes: int


def read_cgroup_memory(root: Path) -> CgroupMemory | None:
    """Read the memory controller of this process's own cgroup; None without one or without a limit.

    Pages of files do not count as taken, as they are dropped when memory runs short: in a container that has just
    written its data they fill whatever is left. Limits of cgroups further up are not seen.
    """
    group = _cgroup(read_text(root / "proc/self/cgroup") or "")
    if group is None:
        return None
    folder = root / "sys/fs/cgroup" / group
    limit, current = (read_text(folder / name) or "" for name in ("memory.max", "memory.current"))
    if not (limit.isdigit() and current.isdigit()):  # "max" is no limit
        return None
    cached = parse_cgroup_cache(read_text(folder / "memory.stat") or "")
    return CgroupMemory(int(limit), max(0, int(current) - cached))


def read_cgroup_cpus(root: Path) -> float:
    """How many CPUs the quotas of this process's cgroup (version 2) and of those above allow; infinite without any."""
    top = root / "sys/fs/cgroup"
    group = _cgroup(read_text(root / "proc/self/cgroup") or "") or ""
    folders = [folder for folder in (top / group, *(top / group).parents) if folder.is_relative_to(top)]
    least = math.inf
    for folder in folders:
        match (read_text(folder / "cpu.max") or "").split():
            case [quota, period] if quota.isdigit():  # µs, and not "max"
                least = min(least, int(quota) / int(period))
    return least


def parse_cgroup_cache(text: str) -> int:
    """The bytes of pages of files in a cgroup's ``memory.stat`` (Documentation/admin-guide/cgroup-v2.rst)."""
    fields = dict(line.split() for line in text.splitlines() if len(line.split()) == 2)
    return sum(int(fields.get(name, 0)) for name in ("active_file", "inactive_file"))


def _cgroup(text: str) -> str | None:
    """The path in the unified hierarchy, relative (cgroups(7)); None where the kernel has version 1 only."""
    paths = [line.removeprefix("0::/") for line in text.splitlines() if line.startswith("0::/")]
    return paths[0] if paths else None

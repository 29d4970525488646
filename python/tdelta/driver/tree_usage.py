"""What a tree of processes used, though members of it die."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from tdelta.driver.tree import below, entries, io_bytes
from tdelta.measure.procfs import read_text
from tdelta.records import Usage

_USER, _CHILDREN_SYSTEM = 11, 15
"""Behind the name and its bracket in ``/proc/PID/stat`` (proc(5): utime is field 14, cstime field 17)."""

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def usage(root: int) -> Usage:
    """What ``root`` and everything below it used so far, members that died and were collected included.

    Whoever collects a dead child takes over its CPU time and its bytes (``wait_task_zombie`` in kernel/exit.c), so
    nothing of a server that was started anew below its supervisor is lost.
    """
    pids = (root, *(process.pid for process in below(root)))
    cpu = [_cpu_seconds(pid) for pid in pids]
    total: Counter[str] = Counter()
    for pid in pids:
        total.update(io_bytes(pid))
    return Usage(
        cpu_user_seconds=sum(user for user, _ in cpu),
        cpu_system_seconds=sum(system for _, system in cpu),
        syscall_read_bytes=total["rchar"],
        syscall_written_bytes=total["wchar"],
        device_read_bytes=total["read_bytes"],
        device_written_bytes=total["write_bytes"],
    )


def _cpu_seconds(pid: int) -> tuple[float, float]:
    """User and system seconds of a process, with those of its children that were collected.

    The former are in ticks of the kernel's, 10 ms (proc(5): fields 14 to 17); what its threads ran is known in ns
    (``/proc/PID/task/TID/schedstat``), and is taken where it is more.
    """
    fields = (read_text(Path(f"/proc/{pid}/stat")) or "").rpartition(")")[2].split()
    if len(fields) < _CHILDREN_SYSTEM:
        return 0.0, 0.0
    user, system, user_below, system_below = (int(f) / _TICKS_A_SECOND for f in fields[_USER:_CHILDREN_SYSTEM])
    ran = sum(_ran_ns(thread) for thread in entries(Path(f"/proc/{pid}/task"))) * 1e-9
    more = max(0.0, ran - user - system)
    share = user / (user + system) if user + system else 0.5
    return user + more * share + user_below, system + more * (1.0 - share) + system_below


def _ran_ns(thread: Path) -> int:
    found = (read_text(thread / "schedstat") or "").split()
    return int(found[0]) if found else 0

"""A tree of processes: found, frozen, thawed and killed whole, whatever sessions and groups its members chose.

PostgreSQL's backends are in sessions of their own, so a signal to a process group misses them. The tree is therefore
walked by parents, again and again until it holds nothing new; since the supervisor adopts orphans (child subreaper),
nobody leaves it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tdelta.measure.procfs import read_text

if TYPE_CHECKING:
    from tdelta.records import Usage

_LOOK_AGAIN_SECONDS = 0.002
_GONE = "ZX"
_STOPPED = "T" + _GONE
_STAT_BYTES = 4096
SHARED = Path("/dev/shm")  # noqa: S108 - nothing is made there
_THREADS = 17
"""Behind the name and its bracket (proc(5): num_threads is field 20)."""


_USER, _CHILDREN_SYSTEM = 11, 15
"""Behind the name and its bracket in ``/proc/PID/stat`` (proc(5): utime is field 14, cstime field 17)."""

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Process:
    """One process as the kernel's table shows it; ``state`` is the letter of ``/proc/PID/stat``, its first thread's."""

    pid: int
    parent: int
    state: str
    threads: int

    @property
    def lives(self) -> bool:
        """Whether any thread is left: the first one may have ended before the others."""
        return self.state not in _GONE or self.threads > 1


def below(root: int, spare: Collection[int] = ()) -> tuple[Process, ...]:
    """Every process below ``root``, parents before children, less those in ``spare`` and what is below them."""
    children: dict[int, list[Process]] = {}
    for process in _shown("/proc"):
        children.setdefault(process.parent, []).append(process)
    found, waiting = [], [root]
    while waiting:
        fresh = [child for child in children.get(waiting.pop(0), ()) if child.pid not in spare]
        found += fresh
        waiting += [child.pid for child in fresh]
    return tuple(found)


def io_bytes(pid: int) -> dict[str, int]:
    """The counts of ``/proc/PID/io`` by its names; empty of a process that has gone."""
    pairs = (line.partition(": ") for line in (read_text(Path(f"/proc/{pid}/io")) or "").splitlines())
    return {name: int(value) for name, _, value in pairs if value.isdigit()}


def living(root: int, spare: Collection[int] = ()) -> tuple[int, ...]:
    return tuple(process.pid for process in below(root, spare) if process.lives)


def shared_memory(root: int) -> frozenset[Path]:
    """POSIX shared memory that processes below ``root`` write to, by its names: it outlives those that are killed.

    Files that are mapped otherwise, as programs and libraries are, and files in folders are none.
    """
    found = set()
    for pid in living(root):
        for line in (read_text(Path(f"/proc/{pid}/maps")) or "").splitlines():
            _, rights, *_, name = line.split(maxsplit=5)
            if rights.startswith("rw") and rights.endswith("s") and Path(name).parent == SHARED:
                found.add(Path(name))
    return frozenset(found)


def _soon(is_so: Callable[[], bool], seconds: float) -> bool:
    """Look again and again until something is so; returns whether it was within so many seconds."""
    give_up = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > give_up:
            return False
        time.sleep(_LOOK_AGAIN_SECONDS)
    return True


def freeze(root: int, spare: Collection[int], seconds: float) -> bool:
    """Stop everything below ``root``, until every thread has stopped and no new child is seen; whether in time.

    A thread that waits for a disk stops only after that.
    """
    return _soon(lambda: all(has_stopped(pid) for pid in _signal_all(signal.SIGSTOP, living(root, spare))), seconds)


def thaw(root: int, spare: Collection[int]) -> None:
    """Let everything below ``root`` go on, children first: a parent that wakes finds them awake."""
    for pid in reversed(living(root, spare)):
        _signal(pid, signal.SIGCONT)


def kill(root: int, seconds: float) -> bool:
    """Kill everything below ``root``, stopped or not, and collect what died. Returns whether nothing is left."""

    def is_dead() -> bool:
        reap(())
        return not _signal_all(signal.SIGKILL, living(root))

    return _soon(is_dead, seconds)


def kill_in(folder: Path, seconds: float) -> bool:
    """Kill every process that works in a folder, whose supervisor is gone. Returns whether nothing is left.

    Only for folders that a server has for itself: whoever works there was started there.
    """
    here = os.path.realpath(folder)

    def is_dead() -> bool:
        pids = [one.pid for one in _shown("/proc") if one.lives and _place_of(one.pid).is_relative_to(here)]
        return not _signal_all(signal.SIGKILL, pids)

    return _soon(is_dead, seconds)


def _place_of(pid: int) -> Path:
    """Where a process works; no place for one that has gone."""
    try:
        return Path(f"/proc/{pid}/cwd").readlink()
    except OSError:
        return Path()


def reap(spare: Collection[int]) -> None:
    """Collect children of this process that ended, except those whose status another caller waits for."""
    for process in below(os.getpid()):
        if process.parent == os.getpid() and not process.lives and process.pid not in spare:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)


def _signal_all(number: signal.Signals, pids: Collection[int]) -> Collection[int]:
    for pid in pids:
        _signal(pid, number)
    return pids


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def has_stopped(pid: int) -> bool:
    """Whether every thread has: a process counts as stopped while a thread of it still waits for a disk."""
    return all(thread.state in _STOPPED for thread in _shown(f"/proc/{pid}/task"))


def _shown(folder: str) -> Iterator[Process]:
    """The processes or threads with a folder in this one. Hundreds are read before and after each trial, hence `os`."""
    try:
        names = [entry.name for entry in os.scandir(folder)]
    except OSError:
        return
    for name in names:
        if name.isdigit() and (text := _stat(f"{folder}/{name}/stat")):
            yield parse_stat(text)


def _stat(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(descriptor, _STAT_BYTES).decode(errors="replace")
        finally:
            os.close(descriptor)
    except OSError:
        return ""


def entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def parse_stat(text: str) -> Process:
    """A line of ``/proc/PID/stat``: the name within it may hold blanks and brackets."""
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    return Process(int(head.partition(" ")[0]), int(fields[1]), fields[0], int(fields[_THREADS]))


def usage(root: int, spare: Collection[int] = ()) -> Usage:
    """Resources that ``root`` and all below it but ``spare`` used so far, with those of members that were collected.

    Whoever collects a dead child takes over its CPU time and its bytes (``wait_task_zombie`` in kernel/exit.c), so
    nothing of a server that was started anew below its supervisor is lost.
    """
    from tdelta.records import Usage  # not earlier: supervisors do without

    total: Counter[str] = Counter()
    user = system = 0.0
    for pid in (root, *(process.pid for process in below(root, spare))):
        own_user, own_system = _cpu_seconds(pid)
        user, system = user + own_user, system + own_system
        total.update(io_bytes(pid))
    return Usage(
        cpu_user_seconds=user,
        cpu_system_seconds=system,
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
    threads = (read_text(thread / "schedstat") or "0" for thread in entries(Path(f"/proc/{pid}/task")))
    ran = sum(int(text.split()[0]) for text in threads) * 1e-9
    more = max(0.0, ran - user - system)
    share = user / (user + system) if user + system else 0.5
    return user + more * share + user_below, system + more * (1.0 - share) + system_below

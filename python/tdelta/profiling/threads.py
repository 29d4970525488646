"""Which threads that perf sampled belong to given processes, and whether it could write everything down.

Where perf looks at whole CPUs, samples of every program are in its file. Its records of forks say who started whom, so
that children which came and went meanwhile are found, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

SHOWN = ("--symfs", "/dev/null", "-F", "pid,tid,cpu,time", "--ns", "--show-task-events", "--show-lost-events")
"""What `threads_of` reads: these words of ``perf script``, which would
otherwise read the symbols of every program, though none is printed: a
second of CPU a call, with it 15 ms."""

_SHOWN = re.compile(r"\s*(-?\d+)/(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s*(?:(PERF_RECORD_\w+)(.*))?$")
_FORKED = re.compile(r"\((\d+):\d+\):\((\d+):")
_FORK = "PERF_RECORD_FORK"
_LOST = "PERF_RECORD_LOST"


@dataclass(frozen=True, slots=True)
class OwnThreads:
    """``threads`` are those that were sampled of the processes and of what these started; None where all are meant.

    ``is_lost`` says that perf could not write everything down, samples included.
    """

    threads: frozenset[int] | None = None
    is_lost: bool = False


def threads_of(printed: Iterable[str], processes: Iterable[int] | None = None) -> OwnThreads:
    """The threads of processes, and of those that they and their children started.

    Args:
        printed: lines of ``perf script`` with `SHOWN`, in the order of time; read once.
        processes: ids of those that are meant; everything in the recording, where there are none.
    """
    meant = set(processes or ())
    threads: set[int] = set()
    has_begun = is_lost = False
    for line in printed:
        shown = _SHOWN.match(line)
        if shown is None:
            is_lost = is_lost or (has_begun and _LOST in line)
            continue
        process, thread, record, rest = int(shown[1]), int(shown[2]), shown[6] or "", shown[7] or ""
        is_lost = is_lost or (has_begun and record.startswith(_LOST))
        if record == _FORK and (forked := _FORKED.search(rest)) and int(forked[2]) in meant:
            meant.add(int(forked[1]))
        if not record:
            has_begun = True
            if process in meant:
                threads.add(thread)
    return OwnThreads(None if processes is None else frozenset(threads), is_lost)

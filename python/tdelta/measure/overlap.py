"""How long several CPUs were at work at once for the same processes: what perf recorded of threads that go on and off.

``perf record --switch-events`` writes down when each thread gets a CPU and when it loses it (PERF_RECORD_SWITCH of
perf_event_open(2), Linux 4.3), without a sample. What is added up here is the time from the one to the other, of the
processes that were sampled. Of a virtual CPU, time that the host takes away is in it. What the kernel takes to switch,
from the one thread's end to the next one's beginning, is not: where perf follows threads, that is much.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

SHOWN = ("-F", "pid,tid,cpu,time", "--ns", "--show-switch-events", "--show-task-events", "--show-lost-events")
"""What `work_of` reads: these words of ``perf script``."""

_SHOWN = re.compile(r"\s*(-?\d+)/(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s*(?:(PERF_RECORD_\w+)(.*))?$")
_FORKED = re.compile(r"\((\d+):\d+\):\((\d+):")
_EXITED = re.compile(r"\(\d+:(\d+)\)")
_SWITCHES = ("PERF_RECORD_SWITCH", "PERF_RECORD_SWITCH_CPU_WIDE")
_FORK = "PERF_RECORD_FORK"
_EXIT = "PERF_RECORD_EXIT"
_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Work:
    """When processes were at work.

    ``at_work_ns`` is for how long exactly one, two and more CPUs were, and empty where that is not known;
    ``processes`` are those that were asked for, and all that they and their children started, ``threads`` theirs; None
    where all are meant. ``is_lost`` says that perf could not write everything down, samples included.
    """

    at_work_ns: tuple[int, ...]
    processes: frozenset[int] | None = None
    threads: frozenset[int] | None = None
    is_lost: bool = False


def work_of(printed: Iterable[str], cpus: int, processes: Iterable[int] | None = None) -> Work:
    """When processes were at work, from the first sample on, whosever it is, so but for a millisecond of a trial.

    What perf writes down before it is told to sample is left out: a server's start.

    Args:
        printed: lines of ``perf script`` with `SHOWN`, in the order of time; read once.
        cpus: how many there are; there are as many figures.
        processes: ids of those that are meant; everything in the recording, where there are none.
    """
    found: Counter[int] = Counter()
    meant = set(processes or ())
    threads: set[int] = set()
    is_of_all = processes is None
    running: dict[int, int] = {}
    last_ns = 0
    has_begun = is_sampled = is_lost = False
    for line in printed:
        shown = _SHOWN.match(line)
        if shown is None:
            is_lost = is_lost or (has_begun and "PERF_RECORD_LOST" in line)
            continue
        process, thread, cpu, record, rest = int(shown[1]), int(shown[2]), int(shown[3]), shown[6] or "", shown[7] or ""
        is_lost = is_lost or (has_begun and record.startswith("PERF_RECORD_LOST"))
        if record == _FORK and (forked := _FORKED.search(rest)) and int(forked[2]) in meant:
            meant.add(int(forked[1]))
        now_ns = int(shown[4]) * _S + int(shown[5])
        if not now_ns:
            continue  # perf makes up records at time 0: what there was when it began
        is_meant = is_of_all or process in meant
        if is_meant:
            threads.add(thread)
        if has_begun:
            found[len(running)] += now_ns - last_ns
        last_ns = now_ns
        has_begun = has_begun or not record
        is_sampled = is_sampled or (is_meant and not record)
        if record == _EXIT:
            ended = _EXITED.search(rest)
            if running.get(cpu) == (thread if ended is None else int(ended[1])):
                del running[cpu]
        elif not is_meant or (record in _SWITCHES and " OUT" in rest):
            # By CPU: the last of a thread that ends is told of no thread (-1), at times of no process.
            running.pop(cpu, None)
        else:
            # Switched in, or sampled: it had its CPU before the recording began, where nothing tells that it got it.
            running[cpu] = thread
    is_known = is_sampled and not is_lost
    at_work_ns = tuple(found[count] for count in range(1, max((cpus, *found)) + 1)) if is_known else ()
    if is_of_all:
        return Work(at_work_ns, is_lost=is_lost)
    return Work(at_work_ns, frozenset(meant), frozenset(threads - {-1}), is_lost)

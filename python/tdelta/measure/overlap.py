"""How long several CPUs were at work at once for the same processes: what perf recorded of threads that go on and off.

``perf record --switch-events`` writes down when each thread gets a CPU and when it loses it (PERF_RECORD_SWITCH of
perf_event_open(2), Linux 4.3), to the nanosecond and without a sample: what is added up here is exact for the processes
that were sampled. What others do at that time is not seen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

SHOWN = ("-F", "tid,cpu,time", "--ns", "--show-switch-events", "--show-task-events", "--show-lost-events")
"""What `at_work` reads: these words of ``perf script``."""

_SHOWN = re.compile(r"\s*(\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s*(?:(PERF_RECORD_\w+)(.*))?$")
_EXITED = re.compile(r"\(\d+:(\d+)\)")
_SWITCHES = ("PERF_RECORD_SWITCH", "PERF_RECORD_SWITCH_CPU_WIDE")
_EXIT = "PERF_RECORD_EXIT"
_S = 1_000_000_000


def at_work(printed: Iterable[str], cpus: int) -> tuple[int, ...]:
    """Nanoseconds at which exactly one, two and more CPUs were at work; empty where that is not known.

    From the first sample on: a program that is started before perf is told to sample writes switches down, too.

    Args:
        printed: lines of ``perf script`` with `SHOWN`, in the order of time.
        cpus: how many there are; the result has as many figures.
    """
    found: Counter[int] = Counter()
    running: dict[int, int] = {}
    last_ns = 0
    has_begun = False
    for line in printed:
        if "PERF_RECORD_LOST" in line:
            return ()
        shown = _SHOWN.match(line)
        now_ns = 0 if shown is None else int(shown[3]) * _S + int(shown[4])
        if shown is None or not now_ns:
            continue  # perf makes up records at time 0: what there was when it began
        if has_begun:
            found[len(set(running.values()))] += now_ns - last_ns
        last_ns = now_ns
        has_begun = has_begun or not shown[5]
        thread, cpu, record, rest = int(shown[1]), int(shown[2]), shown[5] or "", shown[6] or ""
        if record == _EXIT:
            ended = _EXITED.search(rest)
            running.pop(thread if ended is None else int(ended[1]), None)
        elif record in _SWITCHES and " OUT" in rest:
            running.pop(thread, None)
        else:
            # Switched in, or sampled: it had its CPU before the recording began, where nothing tells that it got it.
            running[thread] = cpu
    return () if not has_begun else tuple(found[count] for count in range(1, max(cpus, *found) + 1))

"""Whose doing it is that a thread stood ready to run and had no CPU.

Run-queue delay is the second field of ``/proc/PID/task/TID/schedstat``, read around the recorded operations of every
trial (crates/tdelta-core/src/process/delay.rs). It lies in the response times, and says nothing of encryption where
other programs took the CPU; but a database that keeps more threads busy than there are CPUs makes its own, and an
encrypted one more of it. Only the former may be taken out of a response time.
"""

from __future__ import annotations

import os
from pathlib import Path

from tdelta.measure.procfs import read_cgroup_cpus


def delay_is_others(
    *, is_closed: bool, load_threads: int, database_threads: int | None, usable_cpus: float | None = None
) -> bool:
    """Whether none of tdelta's own threads can be the cause of run-queue delay, so that it may be taken out.

    It holds where all of these do:

    - The loop is closed. In an open loop a delay moves the next operation's start, and the loop spins until that is
      due.
    - The load is one thread, and the database runs on that very thread (an embedded engine that uses no other). A
      server's threads wait for one another and for the client, and delays of several threads overlap.
    - There are at least two CPUs to be had, by affinity and by the quota of the cgroup: one for that thread, one for
      whatever else of tdelta wakes up (a quota that one thread can use up makes a delay of its own).

    What stands behind it, and is true of every trial: the other twins of the block sleep until it is their turn, the
    parent sleeps until all have answered, a planted cost is spun by the thread that is measured, and profiles, traces
    and searches have trials of their own. What wakes up four times a second, to see whether the process stands still,
    takes some microseconds.

    Limits: threads of the kernel count as other programs, those that write the database's own pages back among them.
    Where twins differ in what they write, part of that delay is the database's doing. The delay is of the recorded
    stretches as a whole, the loop's own time between operations included: what lies within the response times is less,
    by about the share that ``client_overhead_share`` in the result says. Heads of trials are not in it. Time that the
    host steals from a virtual machine is no run-queue delay.

    Args:
        is_closed: whether the loop is closed.
        load_threads: how many threads the load has.
        database_threads: how many the database works with, the load's included; None for one in other processes.
        usable_cpus: how many CPUs this process may use; asked of the system if None.
    """
    if not is_closed or load_threads != 1 or database_threads != 1:
        return False
    return (allowed_cpus() if usable_cpus is None else usable_cpus) >= load_threads + 1


def allowed_cpus(root: Path = Path("/")) -> float:
    """How many CPUs this process may use at once: by its affinity, and by the quotas of its cgroup and those above."""
    return min(float(len(os.sched_getaffinity(0))), read_cgroup_cpus(root))

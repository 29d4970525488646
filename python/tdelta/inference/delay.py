"""Run-queue delay over the trials of a run: how much of the time a database stood ready to run and had no CPU.

What of it is other programs' doing, `tdelta.measure.delay.delay_is_others` decides for each trial when it is run.
"""

from __future__ import annotations

from collections.abc import Sequence

from tdelta.records import Trial


def run_delay_per_operation(trials: Sequence[Trial]) -> float | None:
    """Run-queue delay of the database's threads, whoever caused it, in ns per operation over all these trials.

    Of an embedded engine with one thread it is a part of the response time, and what else lies in that beside CPU time
    is waiting for a disk or a lock. Of several threads it is the sum over all. A server's client waits beside that.

    Returns:
        None where a trial has none, or nothing was done.
    """
    delays = [trial.measurement.run_delay_ns for trial in trials]
    operations = sum(trial.measurement.operations for trial in trials)
    known = [delay for delay in delays if delay is not None]
    return sum(known) / operations if operations and len(known) == len(delays) else None


def others_delay_share(trials: Sequence[Trial]) -> float | None:
    """The share of the measured time in which other programs kept the database from a CPU.

    Returns:
        Of all trials together; None where it cannot be told of every one of them.
    """
    delays = [trial.measurement.others_delay_ns for trial in trials]
    elapsed_ns = sum(trial.measurement.elapsed_ns for trial in trials)
    known = [delay for delay in delays if delay is not None]
    return min(1.0, sum(known) / elapsed_ns) if elapsed_ns and len(known) == len(delays) else None

"""What one trial was and what it measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tdelta.records.conditions import Condition


@dataclass(frozen=True, slots=True)
class SpanTotals:
    """Exact totals of one transaction type or statement: ``count`` spans that took ``total_ns`` in all."""

    count: int
    total_ns: int


@dataclass(frozen=True, slots=True)
class StatementCost:
    """Totals over the ``calls`` of one statement, each metered by itself in a trial that is not measured otherwise.

    ``cpu_ns`` is of the thread that ran it, ``elapsed_ns`` as the client saw it, ``rows`` were fetched; ``counters``
    are the engine's, by the names of ``engine_counters``, and ``rows_changed``.
    """

    calls: int
    cpu_ns: int
    elapsed_ns: int
    rows: int
    counters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measurement:
    """Everything one trial measured. Its operations run in slices, in turns with the block's other twins.

    ``operations`` are those recorded: times, totals and CPU seconds are theirs (the latter with their share of the
    checkpoint that follows). ``executed_operations`` also counts the
    ones at the heads of slices, which are run and not recorded; bytes, faults and counters are of all of them.

    The CPU seconds, bytes, faults and switches are of the database: of the whole process tree of a server, or of the
    worker that an embedded engine runs in. ``client_cpu_*_seconds`` are what the load loop took beside a server; they
    are 0 where both are one process.

    ``transactions`` and ``statements`` are keyed by name (``browse_products``; ``browse_products/1``, counted from 1);
    ``histograms`` by ``tx:NAME`` and ``stmt:NAME/N``, each an HdrHistogram V2 compressed payload in nanoseconds.
    ``asked_*_bytes`` are what the process asked the kernel for (rchar, wchar), ``device_*_bytes`` what the disk did.
    ``engine_counters`` are the engine's own (cache hits, misses, writes, spills, …). ``files_bytes`` is by class of
    file (``database``, ``wal``). ``planted_cpu_ns`` is the CPU time spun on purpose (0 elsewhere) and
    ``planted_elapsed_ns`` the wall time that took, inside the measured spans. ``traced`` is by statement, of the extra
    trial that followed this one (`--trace`; empty elsewhere).
    """

    operations: int
    elapsed_ns: int
    transactions: Mapping[str, SpanTotals]
    statements: Mapping[str, SpanTotals]
    errors: Mapping[str, int] = field(default_factory=dict)
    retries: Mapping[str, int] = field(default_factory=dict)
    histograms: Mapping[str, bytes] = field(default_factory=dict)
    cpu_user_seconds: float = 0.0
    cpu_system_seconds: float = 0.0
    client_cpu_user_seconds: float = 0.0
    client_cpu_system_seconds: float = 0.0
    asked_read_bytes: int = 0
    asked_written_bytes: int = 0
    device_read_bytes: int = 0
    device_written_bytes: int = 0
    minor_faults: int = 0
    major_faults: int = 0
    voluntary_switches: int = 0
    involuntary_switches: int = 0
    engine_counters: Mapping[str, int] = field(default_factory=dict)
    files_bytes: Mapping[str, int] = field(default_factory=dict)
    checkpoint_ns: int = 0
    planted_cpu_ns: int = 0
    planted_elapsed_ns: int = 0
    late_starts: int = 0
    backlog_max: int = 0
    executed_operations: int = 0
    stopped_by: str = "count"
    pressure: Mapping[str, float] = field(default_factory=dict)
    traced: Mapping[str, StatementCost] = field(default_factory=dict)
    run_delay_ns: int | None = None
    client_run_delay_ns: int | None = None
    others_delay_ns: int | None = None
    standstill: str = ""

    @property
    def response_ns(self) -> float:
        """Mean response time over the fixed mix, ns an operation: all transaction spans together."""
        spans = self.transactions.values()
        return sum(s.total_ns for s in spans) / max(1, sum(s.count for s in spans))

    @property
    def counted_operations(self) -> int:
        """The operations that bytes, faults and counters are of."""
        return self.executed_operations or self.operations

    @property
    def client_cpu_seconds(self) -> float:
        """User and system CPU seconds of the client of a server together."""
        return self.client_cpu_user_seconds + self.client_cpu_system_seconds

    @property
    def cpu_seconds(self) -> float:
        """User and system CPU seconds together."""
        return self.cpu_user_seconds + self.cpu_system_seconds


@dataclass(frozen=True, slots=True)
class Trial:
    """One condition under load once. ``block`` counts from 0 through the whole run, ``position`` within the block."""

    round: int
    block: int
    position: int
    condition: Condition
    instance: str
    started_unix_seconds: float
    measurement: Measurement


def by_condition(trials: Iterable[Trial]) -> dict[str, list[Measurement]]:
    """What was measured of each condition, by its key, in the order of the trials."""
    found: dict[str, list[Measurement]] = {}
    for trial in trials:
        found.setdefault(trial.condition.key, []).append(trial.measurement)
    return found

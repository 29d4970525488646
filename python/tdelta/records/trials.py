from __future__ import annotations

import os
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field
from typing import Any

from tdelta.records.conditions import Condition
from tdelta.records.parts import part

BACKUP = "backup_"
"""The prefix of the counters of backups."""

SEARCHED = "markers_in_"
"""The prefix of a backup's counters of planted markers; the class of the files follows."""

TEMPORARY = ("temporary_tables", "temporary_files", "sort_merge_passes", "temporary_bytes")
"""Counters of temporary data: tables on disk, files, passes over a sort's files, bytes in files."""

LOG_BYTES = "replica_log_bytes"
LAG_BYTES = "replica_lag_bytes"
LAG_NS = "replica_lag_ns"
APPLY_NS = "replica_apply_ns"
CPU_NS = "replica_cpu_ns"
CONFIRMED = "replica_confirmed"
UNCONFIRMED = "replica_unconfirmed"
"""Counters of a trial, among those of its engine. ``LOG_BYTES``: of the primary's log that the load wrote. When the
load ended, ``LAG_BYTES`` of them were not applied, and ``LAG_NS`` later all were. Where the replica was stopped beside
the load, it was given the log after it, and applied it in ``APPLY_NS``. ``CPU_NS`` is of the replica's processes, until
it was at rest. Of the commits, ``CONFIRMED`` waited for the replica's word, ``UNCONFIRMED`` should have and did not."""


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
class Usage:
    """Resources that the database used in a trial: the process tree of a server, or the worker it is embedded in.

    The CPU seconds are of the recorded operations, with their share of the checkpoint that follows; the rest is of all
    executed ones. ``syscall_*_bytes`` are what system calls read and wrote (rchar, wchar), ``device_*_bytes`` what
    the disk did.
    """

    cpu_user_seconds: float = 0.0
    cpu_system_seconds: float = 0.0
    syscall_read_bytes: int = 0
    syscall_written_bytes: int = 0
    device_read_bytes: int = 0
    device_written_bytes: int = 0
    minor_faults: int = 0
    major_faults: int = 0
    voluntary_switches: int = 0
    involuntary_switches: int = 0

    @classmethod
    def of(cls, counts: Mapping[str, Any]) -> Usage:
        return cls(**counts)

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True)
class Injected:
    """The CPU time spun on purpose, and the wall time that took, inside the measured spans; 0 where none was."""

    cpu_ns: int = 0
    elapsed_ns: int = 0


@dataclass(frozen=True, slots=True)
class Queue:
    """How an open loop kept up: operations that began late, and the most that were due at once."""

    queued_operations: int = 0
    backlog_max: int = 0


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The cost of bringing the database to rest after a trial: ``ns``, 0 where there was nothing to do.

    Of the bytes that it wrote, ``syscall_written_bytes`` (wchar) leaves out those of asynchronous I/O, and
    ``device_written_bytes`` those that never reach a disk; None where it was not counted.
    """

    ns: int = 0
    syscall_written_bytes: int | None = None
    device_written_bytes: int | None = None

    @classmethod
    def of(cls, counts: Mapping[str, Any]) -> Checkpoint:
        syscall, device = (counts.get(f"checkpoint_{which}_written_bytes") for which in ("syscall", "device"))
        return cls(counts.get("checkpoint_ns", 0), syscall, device)

    @property
    def written_bytes(self) -> int | None:
        """The larger of both counts: each leaves something out."""
        known = [n for n in (self.syscall_written_bytes, self.device_written_bytes) if n is not None]
        return max(known, default=None)


@dataclass(frozen=True, slots=True)
class RunDelays:
    """Time for which threads were ready to run and had no CPU; None where it is not known.

    ``run_delay_ns`` is the database's, ``client_run_delay_ns`` that of the load loop beside a server, and
    ``others_delay_ns`` what of the former is other programs' doing.
    """

    run_delay_ns: int | None = None
    client_run_delay_ns: int | None = None
    others_delay_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Circumstances of a trial: ``standstill`` names anything that stood still meanwhile; empty where nothing did.

    ``host`` is the node that the database was on, where the twins of a run change hosts (`--hosts`); empty elsewhere.
    """

    standstill: str = ""
    host: str = ""


@dataclass(frozen=True, slots=True)
class AgentPart:
    """One load agent's part of a trial that several shared.

    ``began_ns`` and ``ended_ns`` count from the start that was set for all, by the coordinator's clock, which is known
    to ``clock_error_ns``. ``response_total_ns`` is the sum of the response times of its recorded ``operations``,
    ``elapsed_ns`` the time that these took, ``cpu_seconds`` the CPU time of its load loop meanwhile. ``waited_ns``,
    not a part of it, is how long a connection waited for operations to be handed out, on average.
    """

    node: str
    began_ns: int
    ended_ns: int
    clock_error_ns: int
    operations: int
    response_total_ns: int
    elapsed_ns: int
    cpu_seconds: float
    waited_ns: int = 0

    @property
    def cpu_share(self) -> float:
        return self.cpu_seconds * 1e9 / max(1, self.elapsed_ns)


@dataclass(frozen=True, slots=True)
class Client:
    """The client of a database: CPU seconds of the load loop beside a server, 0 where both are one process.

    ``agents`` are the parts of load agents, by their names; empty without them.
    """

    cpu_user_seconds: float = 0.0
    cpu_system_seconds: float = 0.0
    agents: Mapping[str, AgentPart] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measurement:
    """Everything one trial measured.

    ``operations`` are those recorded: times and totals are theirs. ``total_operations`` also counts the
    ones at its head, which are run and not recorded; counters are of all of them.

    ``transactions`` and ``statements`` are keyed by name (``browse_products``; ``browse_products/1``, counted from 1);
    ``histograms`` by ``tx:NAME`` and ``stmt:NAME/N``, each an HdrHistogram V2 compressed payload in nanoseconds.
    ``engine_counters`` are the engine's own (cache hits, misses, writes, spills, …). ``files_bytes`` is by class of
    file (``database``, ``wal``). ``traced`` is by statement, of the extra trial that followed this one (`--trace`;
    empty elsewhere). Histograms of single load agents are ``agent:NAME/tx:…``, beside those of all. Where it is stored
    or exported, the fields of its parts stand among its own (`tdelta.records.parts`).
    """

    operations: int
    elapsed_ns: int
    transactions: Mapping[str, SpanTotals]
    statements: Mapping[str, SpanTotals]
    errors: Mapping[str, int] = field(default_factory=dict)
    retries: Mapping[str, int] = field(default_factory=dict)
    histograms: Mapping[str, bytes] = field(default_factory=dict)
    usage: Usage = part(Usage)
    client: Client = part(Client, "client_")
    engine_counters: Mapping[str, int] = field(default_factory=dict)
    files_bytes: Mapping[str, int] = field(default_factory=dict)
    checkpoint: Checkpoint = part(Checkpoint, "checkpoint_")
    injected: Injected = part(Injected, "injected_")
    queue: Queue = part(Queue)
    total_operations: int = 0
    stopped_by: str = "count"
    pressure: Mapping[str, float] = field(default_factory=dict)
    traced: Mapping[str, StatementCost] = field(default_factory=dict)
    delays: RunDelays = part(RunDelays)
    circumstances: Circumstances = part(Circumstances)

    @classmethod
    def of_one(cls, name: str, elapsed_ns: int, **more: Any) -> Measurement:
        """Of a trial that is one operation, and no transaction."""
        return cls(1, elapsed_ns, {name: SpanTotals(1, elapsed_ns)}, {}, total_operations=1, **more)

    @property
    def response_ns(self) -> float:
        """Mean response time over the fixed mix, ns per operation: all transaction spans together."""
        spans = self.transactions.values()
        return sum(s.total_ns for s in spans) / max(1, sum(s.count for s in spans))

    @property
    def counted_operations(self) -> int:
        """The operations that bytes, faults and counters are of."""
        return self.total_operations or self.operations

    @property
    def misses_per_operation(self) -> float | None:
        """Pages that an operation did not find in the cache; None where the engine does not count them."""
        misses = self.engine_counters.get("buffer_reads")
        return None if misses is None else misses / max(1, self.counted_operations)

    def others_cpu_share(self, cpus: int) -> float | None:
        """The share of the time of all CPUs that neither the database nor its client used; None if not known."""
        busy = self.pressure.get("cpu_busy")
        if busy is None or self.host or self.agents or not self.cpu_seconds or not self.elapsed_ns:
            return None
        own = (self.cpu_seconds + self.client_cpu_seconds) * 1e9 / (self.elapsed_ns * cpus)
        return max(0.0, busy - own)

    @property
    def standstill(self) -> str:
        """A standstill during the trial, in words; empty where nothing stood still."""
        return self.circumstances.standstill

    @property
    def host(self) -> str:
        """The node that the database was on, where the twins of a run change hosts."""
        return self.circumstances.host

    @property
    def agents(self) -> Mapping[str, AgentPart]:
        return self.client.agents

    @property
    def client_cpu_seconds(self) -> float:
        return self.client.cpu_user_seconds + self.client.cpu_system_seconds

    @property
    def cpu_seconds(self) -> float:
        """User and system CPU seconds together."""
        return self.usage.cpu_user_seconds + self.usage.cpu_system_seconds


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


def overlap(agents: Mapping[str, AgentPart]) -> float:
    """The share of the time from the first start to the last end in which all were at work.

    At the least: whenever an agent waited for operations, the others are taken to have been at work.
    """
    began, ended = [one.began_ns for one in agents.values()], [one.ended_ns for one in agents.values()]
    together_ns = min(ended) - max(began) - sum(one.waited_ns for one in agents.values())
    return max(0.0, together_ns / max(1, max(ended) - min(began)))


def skew_ns(agents: Mapping[str, AgentPart]) -> int:
    """How far the first start and the last are apart."""
    began = [one.began_ns for one in agents.values()]
    return max(began) - min(began)


BUSY = 0.10
"""A caution says so if other programs use a larger share of this machine's CPU time."""


def others_cpu_share(trials: Iterable[Trial]) -> float:
    """The share of the time of all CPUs that other programs used, median over the trials; 0 if it is known of none."""
    shares = [trial.measurement.others_cpu_share(os.cpu_count() or 1) for trial in trials]
    return statistics.median([share for share in shares if share is not None] or [0.0])


def by_condition(trials: Iterable[Trial]) -> dict[str, list[Measurement]]:
    """The measurements of each condition, by its key, in the order of the trials."""
    found: dict[str, list[Measurement]] = {}
    for trial in trials:
        found.setdefault(trial.condition.key, []).append(trial.measurement)
    return found

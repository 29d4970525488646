"""What servers did under a load, and the settings they did it with. Descriptive: nothing here decides anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tdelta.records.conditions import Condition
from tdelta.records.findings import Estimate, Finding

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
class ReplicationMeasure(Finding):
    """The replica of one condition's primary.

    ``mode`` is the level of ``replication``. ``response_seconds`` is the mean response time per operation,
    ``load_rate`` the operations per second of the load. Where the replica was stopped beside the load (``none``),
    ``apply_rate`` is how many of its operations per second it applied afterwards, which is the highest rate that it
    keeps up with here; else it is None, and ``lag_bytes`` and ``lag_seconds`` are how far the replica was from the end
    of the load, and how long until it had applied all. ``log_bytes`` and ``cpu_seconds`` (of the replica) are per
    operation. ``time_ratio`` is of the time to apply, or of the lag, over the plain twins' of the same blocks,
    ``cpu_ratio`` of the replica's CPU time: None for plain and B/B twins, and of few blocks. ``unconfirmed`` commits
    did not wait for the replica, though they were to.
    """

    FINDING = "replication"

    condition: Condition
    mode: str
    trials: int
    response_seconds: Typical
    load_rate: Typical
    apply_rate: Typical | None
    lag_bytes: Typical | None
    lag_seconds: Typical | None
    log_bytes: Typical
    cpu_seconds: Typical
    time_ratio: Estimate | None
    cpu_ratio: Estimate | None
    unconfirmed: int


@dataclass(frozen=True, slots=True)
class StepMeasure(Finding):
    """The loads, or the rebuilds, of one condition, each a trial.

    ``rows`` are those of all tables, ``cpu_seconds`` the database's; a rate is a second of elapsed time. Written bytes
    are what the database asked the system to write, logs and all. ``files_bytes`` is what its files take afterwards,
    median; None where that is not known.
    """

    FINDING = "steps"

    condition: Condition
    trials: int
    rows: int
    seconds: Typical
    cpu_seconds: Typical
    rows_per_second: Typical
    written_bytes_per_second: Typical
    files_bytes: float | None


@dataclass(frozen=True, slots=True)
class CheckpointMeasure(Finding):
    """The checkpoints of one condition; of runs in which any trial had one.

    ``checkpoints`` of the ``trials`` had something to do. ``written_bytes`` are what one wrote; None where that was not
    measured. The ratios are of means, over the plain twins' of the same blocks, as a verdict's: None for plain and B/B
    twins, and where too few blocks have a checkpoint on every twin (`tdelta.inference.described`).
    """

    FINDING = "checkpoints"

    condition: Condition
    trials: int
    checkpoints: int
    seconds: Typical
    written_bytes: Typical | None
    time_ratio: Estimate | None
    written_ratio: Estimate | None


@dataclass(frozen=True, slots=True)
class Typical:
    """A quantity over the trials of one condition: its median between the quartiles."""

    low: float
    median: float
    high: float


class Bottleneck(StrEnum):
    """What holds a load back; the rule is in `tdelta.inference.serving`. ``waiting``: locks, network, scheduling."""

    SERVER_CPU = "server CPU"
    CLIENT_CPU = "client CPU"
    IO = "I/O"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class TimeSpent:
    """Where the time of a load's threads goes, medians over trials.

    The shares are of the time of all threads together; those of CPU may come to more than 1 where a server works in the
    background, and ``waiting_share`` is then 0. ``io_share`` is the part of the waiting that the device's requests
    account for at most, ``*_cores`` are CPUs busy on average, ``cores_at_most`` is how many this load could keep busy:
    one for each thread, and no more than there are. The pressures are the shares of the time in which some task of the
    machine was kept waiting (PSI). None stands for what the kernel does not tell.
    """

    server_share: float
    client_share: float
    waiting_share: float
    io_share: float | None
    server_cores: float
    client_cores: float
    cores_at_most: int
    cpu_pressure: float | None
    io_pressure: float | None


@dataclass(frozen=True, slots=True)
class CacheUse:
    """How a server's page cache fared: the share of requests that it could meet, and counts of one operation."""

    hit_ratio: Typical
    requests: float
    misses: float


@dataclass(frozen=True, slots=True)
class Moved:
    """Pages and bytes of one operation, medians over trials; None for what the engine does not count."""

    pages_read: float | None
    pages_written: float | None
    pages_encrypted: float | None
    pages_decrypted: float | None
    log_bytes: float | None
    device_read_bytes: float
    device_written_bytes: float


@dataclass(frozen=True, slots=True)
class ServerMeasures(Finding):
    """What a server and its client did under one condition, over the trials that the verdicts rest on. Descriptive.

    ``throughput`` is operations per second, times are µs of one operation. ``cache`` is None where the engine does not
    count requests.
    """

    FINDING = "servers"

    condition: Condition
    trials: int
    throughput: Typical
    response_us: Typical
    server_cpu_us: Typical
    client_cpu_us: Typical
    time: TimeSpent
    cache: CacheUse | None
    moved: Moved
    bottleneck: Bottleneck


@dataclass(frozen=True, slots=True)
class SettingsCompared(Finding):
    """Settings read back from twins. ``shared`` are the same on all of them, by name.

    ``varied`` are those that differ between strata, as their factors say, with their values in order; ``differing``
    what each kind of encrypted twin is given and a plain one is not, by the kind's name.
    """

    FINDING = "twin_settings"
    IS_SINGLE = True

    shared: Mapping[str, str]
    varied: Mapping[str, tuple[str, ...]]
    differing: Mapping[str, tuple[str, ...]]

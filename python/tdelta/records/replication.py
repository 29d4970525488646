"""What a replica did beside and after the loads of its primary: described, with ratios to the plain twins' replicas."""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.records.conditions import Condition
from tdelta.records.estimates import Estimate
from tdelta.records.findings import Finding
from tdelta.records.serving import Typical

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

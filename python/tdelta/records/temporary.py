"""What the transactions of a workload that is to spill wrote to temporary files, and what those files show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tdelta.records.conditions import Condition
from tdelta.records.findings import Finding
from tdelta.records.results import EvidenceState


@dataclass(frozen=True, slots=True)
class TemporaryData(Finding):
    """The temporary data of one condition; of workloads that say that they spill.

    ``spilled`` of the ``trials`` wrote temporary files with every operation, or with as many as there are operations.
    ``written_bytes_per_operation`` is what the database asked the system to write, median; ``counters`` are the
    engine's own (`tdelta.inference.temporary.TEMPORARY`), of one operation. ``files`` says of each class of temporary
    files what the search found in it; empty where the condition's instance was searched under another, or not at all.
    """

    FINDING = "temporary"

    condition: Condition
    trials: int
    spilled: int
    written_bytes_per_operation: float
    counters: Mapping[str, float] = field(default_factory=dict)
    files: Mapping[str, EvidenceState] = field(default_factory=dict)

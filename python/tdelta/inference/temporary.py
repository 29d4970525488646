"""Whether trials wrote temporary files, by the engine's own counters or by the bytes that its process wrote.

A server counts temporary files for itself. An embedded engine's process writes nothing else while transactions only
read, so that there the kernel's account of its bytes (``wchar``) is the count. Which of several transactions spilled,
neither says: a trial that is said to have spilled has at least one temporary file or table for each of its operations,
or 64 KiB written.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from tdelta.records import EvidenceState, FileEvidence, Measurement, RunSettings, TemporaryData, Trial
from tdelta.records.trials import by_condition

TEMPORARY = ("temporary_tables", "temporary_files", "sort_merge_passes", "temporary_bytes")
"""The names of counters of temporary data: tables on disk, files, passes over a sort's files, bytes in files."""

CLASSES = ("temp", "on-disk temp tables", "temp tables")
"""The classes of files that hold temporary data, as `tdelta.evidence.FileClass` has them."""

WRITTEN = "bytes written by its process"
"""What shows temporary data where nothing counts temporary files, for people."""

_LEAST_BYTES = 65_536
"""Written for an operation: less may be a log's or a journal's header."""


def spilled(measurement: Measurement, *, writes: bool) -> bool | None:
    """Whether a trial's operations wrote temporary files; None where that cannot be told.

    Args:
        measurement: the trial's.
        writes: whether its transactions change rows, so that not all bytes that are written are temporary data.
    """
    operations = max(1, measurement.counted_operations)
    counted = [measurement.engine_counters[name] for name in TEMPORARY if name in measurement.engine_counters]
    if counted:
        return max(counted) >= operations
    return None if writes else measurement.usage.syscall_written_bytes >= _LEAST_BYTES * operations


def shown_by(trials: Iterable[Trial]) -> str:
    """What shows that these trials spilled: the names of counters that grew, or the bytes that were written."""
    grew = {name for trial in trials for name, count in trial.measurement.engine_counters.items() if count > 0}
    names = [name.replace("_", " ") for name in TEMPORARY if name in grew]
    return ", ".join(names) or WRITTEN


def temporary_data(
    trials: Iterable[Trial], settings: RunSettings, evidence: Sequence[FileEvidence], *, writes: bool
) -> tuple[TemporaryData, ...]:
    """What every condition wrote to temporary files, in the design's order.

    Args:
        trials: those of transactions.
        settings: the run's.
        evidence: what the search of the twins' files found.
        writes: as for `spilled`.
    """
    by_key = by_condition(trial for trial in trials if trial.measurement.operations > 0)
    return tuple(
        TemporaryData(
            condition=condition,
            trials=len(measured),
            spilled=sum(spilled(m, writes=writes) is True for m in measured),
            written_bytes_per_operation=statistics.median(
                m.usage.syscall_written_bytes / m.counted_operations for m in measured
            ),
            counters=_per_operation(measured),
            files=_found(evidence, condition.key),
        )
        for condition in settings.conditions
        if (measured := by_key.get(condition.key))
    )


def _per_operation(measured: Sequence[Measurement]) -> dict[str, float]:
    operations = sum(m.counted_operations for m in measured)
    names = [name for name in TEMPORARY if all(name in m.engine_counters for m in measured)]
    return {name: sum(m.engine_counters[name] for m in measured) / operations for name in names}


def _found(evidence: Sequence[FileEvidence], key: str) -> Mapping[str, EvidenceState]:
    of = {one.file_class: one.state for one in evidence if one.condition.key == key}
    return {name: of[name] for name in CLASSES if name in of}

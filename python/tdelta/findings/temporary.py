"""Temporary files, by the engine's own counters or by the bytes that its process wrote, and their content.

A server counts temporary files for itself. An embedded engine's process writes nothing else while transactions only
read, so that there the kernel's account of its bytes (``wchar``) is the count. Which of several transactions spilled,
neither says: a trial that is said to have spilled has at least one temporary file or table for each of its operations,
or 64 KiB written.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tdelta.document.blocks import Block, Paragraph, Table, columns
from tdelta.document.quantities import MISSING, amounts, small_count
from tdelta.document.wording import label
from tdelta.findings.base import FinishedRun, Kind
from tdelta.records import Condition, EvidenceState, FileEvidence, Finding, Measurement, RunResult, Trial
from tdelta.records.trials import TEMPORARY, by_condition

CLASSES = ("temp", "on-disk temp tables", "temp tables")
"""The classes of files that hold temporary data, as `tdelta.evidence.FileClass` has them."""

WRITTEN = "bytes written by its process"
"""Signs of temporary data where nothing counts temporary files, for people."""

_LEAST_BYTES = 65_536
"""Written for an operation: less may be a log's or a journal's header."""

_NOTE = (
    "Per operation: bytes that the database wrote (median), and the engine's own counts of temporary tables on disk,"
    " temporary files and passes over the files of sorts. Content: the result of the search for marker rows."
)
_WHAT = "content"
_STATES = {
    EvidenceState.PLAIN: "in the clear",
    EvidenceState.UNCOVERED: "in the clear",
    EvidenceState.MOUNTED: "in the clear while mounted",
    EvidenceState.LEAK: "LEAK, in the clear",
    EvidenceState.ENCRYPTED: "encrypted",
    EvidenceState.MISSING: "not tested",
    EvidenceState.NOT_TESTED: "not tested",
}


@dataclass(frozen=True, slots=True)
class TemporaryData(Finding):
    """The temporary data of one condition; of workloads that say that they spill.

    ``spilled`` of the ``trials`` wrote temporary files with every operation, or with as many as there are operations.
    ``written_bytes_per_operation`` is what the database asked the system to write, median; ``counters`` are the
    engine's own, of one operation. ``files`` says of each class of temporary files what the search found in it; empty
    where the condition's instance was searched under another, or not at all.
    """

    FINDING = "temporary"

    condition: Condition
    trials: int
    spilled: int
    written_bytes_per_operation: float
    counters: Mapping[str, float] = field(default_factory=dict)
    files: Mapping[str, EvidenceState] = field(default_factory=dict)


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
    """The proof that these trials spilled: the names of counters that grew, or the bytes that were written."""
    grew = {name for trial in trials for name, count in trial.measurement.engine_counters.items() if count > 0}
    return ", ".join(name.replace("_", " ") for name in TEMPORARY if name in grew) or WRITTEN


def of_run(run: FinishedRun) -> Iterator[TemporaryData]:
    if not run.is_spilling:
        return
    by_key = by_condition(trial for trial in run.of_transactions if trial.measurement.operations > 0)
    for condition in run.settings.conditions:
        if measured := by_key.get(condition.key):
            operations = sum(m.counted_operations for m in measured)
            names = [name for name in TEMPORARY if all(name in m.engine_counters for m in measured)]
            searched = {one.file_class: one.state for one in run.of(FileEvidence) if one.condition.key == condition.key}
            yield TemporaryData(
                condition=condition,
                trials=len(measured),
                spilled=sum(spilled(m, writes=run.is_writing) is True for m in measured),
                written_bytes_per_operation=statistics.median(
                    m.usage.syscall_written_bytes / m.counted_operations for m in measured
                ),
                counters={name: sum(m.engine_counters[name] for m in measured) / operations for name in names},
                files={name: searched[name] for name in CLASSES if name in searched},
            )


def _count(name: str) -> Callable[[TemporaryData], str]:
    return lambda one: small_count(one.counters[name]) if name in one.counters else MISSING


_COLUMNS: Mapping[str, Callable[[TemporaryData], str]] = {
    "spilled": lambda one: f"{one.spilled}/{one.trials}",
    "written": lambda one: amounts((one.written_bytes_per_operation,), "bytes")[0],
    "tables": _count("temporary_tables"),
    "files": _count("temporary_files"),
    "passes": _count("sort_merge_passes"),
}


def blocks(found: Sequence[TemporaryData], result: RunResult) -> Iterator[Block]:
    shown = {name: of for name, of in _COLUMNS.items() if any(of(one) != MISSING for one in found)}
    rows = [
        (
            label(one.condition, result.settings),
            *(of(one) for of in shown.values()),
            "; ".join(f"{name}: {_STATES[state]}" for name, state in one.files.items()) or "not searched",
        )
        for one in found
    ]
    titles = columns(*shown, _WHAT, texts=(_WHAT,))
    yield Table("Temporary data, by configuration", titles, rows, name="Temporary files")
    yield Paragraph(_NOTE, "note")


KIND = Kind(TemporaryData, of_run, blocks, "temporary", "Temporary files")

"""What went to temporary files, and whether it can be read there: a row for each condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tdelta.document.blocks import Block, Paragraph, Table, columns
from tdelta.document.quantities import MISSING, amounts, small_count
from tdelta.document.wording import label
from tdelta.records import EvidenceState, RunResult, TemporaryData

_NOTE = (
    "Of one operation: what the database asked the system to write (median), and the engine's own counts of temporary"
    " tables on disk, temporary files and passes over the files of sorts. Their content is what the search for planted"
    " markers found in such files of that twin."
)
_WHAT = "what is in them"
_STATES = {
    EvidenceState.PLAIN: "in the clear",
    EvidenceState.UNCOVERED: "in the clear",
    EvidenceState.MOUNTED: "in the clear while mounted",
    EvidenceState.LEAK: "LEAK, in the clear",
    EvidenceState.ENCRYPTED: "encrypted",
    EvidenceState.MISSING: "not tested",
    EvidenceState.NOT_TESTED: "not tested",
}


def _count(name: str) -> Callable[[TemporaryData], str]:
    return lambda one: small_count(one.counters[name]) if name in one.counters else MISSING


_COLUMNS: tuple[tuple[str, Callable[[TemporaryData], str]], ...] = (
    ("spilled", lambda one: f"{one.spilled}/{one.trials}"),
    ("written", lambda one: amounts((one.written_bytes_per_operation,), "bytes")[0]),
    ("tables", _count("temporary_tables")),
    ("files", _count("temporary_files")),
    ("passes", _count("sort_merge_passes")),
)


def blocks(result: RunResult) -> list[Block]:
    """A row for each condition; nothing where the workload is not one that spills."""
    found = result.of(TemporaryData)
    if not found:
        return []
    shown = _shown(found)
    titles = columns(*(name for name, _ in shown), _WHAT, texts=(_WHAT,))
    rows = [(label(one.condition, result.settings), *(of(one) for _, of in shown), _content(one)) for one in found]
    return [Table("Temporary data, by condition", titles, rows, name="Temporary files"), Paragraph(_NOTE, "note")]


def _shown(found: Sequence[TemporaryData]) -> list[tuple[str, Callable[[TemporaryData], str]]]:
    return [column for column in _COLUMNS if any(column[1](one) != MISSING for one in found)]


def _content(one: TemporaryData) -> str:
    return "; ".join(f"{name}: {_STATES[state]}" for name, state in one.files.items()) or "not searched"

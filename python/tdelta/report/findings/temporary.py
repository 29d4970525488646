"""What went to temporary files, and whether it can be read there: a row for each condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.table import Table
from rich.text import Text

from tdelta.records import EvidenceState, RunResult, TemporaryData
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.labels import condition_label
from tdelta.report.page.blocks import Block, Column, Paragraph
from tdelta.report.page.blocks import Table as PageTable
from tdelta.report.page.wording import label
from tdelta.report.quantities import MISSING, amounts, small_count

_NOTE = (
    "Of one operation: what the database asked the system to write (median), and the engine's own counts of temporary"
    " tables on disk, temporary files and passes over the files of sorts. Their content is what the search for planted"
    " markers found in such files of that twin."
)
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


def text(result: RunResult, width: int) -> list[Text | Table]:
    """The table with its note; nothing where the workload is not one that spills."""
    found = result.of(TemporaryData)
    if not found:
        return []
    columns = _shown(found)
    table = plain_table(
        (("Temporary files", False), *((name, True) for name, _ in columns), ("what is in them", False))
    )
    table.padding = (0, 1, 0, 0)
    for one in found:
        cells = [of(one) for _, of in columns]
        table.add_row(condition_label(one.condition, result.settings), *cells, _content(one))
    return [table, Text(), *paragraph(_NOTE, width, "dim")]


def blocks(result: RunResult) -> list[Block]:
    found = result.of(TemporaryData)
    if not found:
        return []
    columns = _shown(found)
    headings = [Column(""), *(Column(name, is_number=True) for name, _ in columns), Column("what is in them")]
    rows = [(label(one.condition, result.settings), *(of(one) for _, of in columns), _content(one)) for one in found]
    return [Paragraph(_NOTE), PageTable("Temporary data, by condition", headings, rows)]


def _shown(found: Sequence[TemporaryData]) -> list[tuple[str, Callable[[TemporaryData], str]]]:
    """The columns that any condition has something in."""
    return [column for column in _COLUMNS if any(column[1](one) != MISSING for one in found)]


def _content(one: TemporaryData) -> str:
    return "; ".join(f"{name}: {_STATES[state]}" for name, state in one.files.items()) or "not searched"

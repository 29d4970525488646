"""What a search for planted plaintext found, as a table and as JSON values: a row a twin, a column a class of files.

A cell never says more than was shown: *not found* stands only where a plain twin's files of that class show markers.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from tdelta.records import EvidenceState, FileEvidence, RunSettings
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.labels import condition_label
from tdelta.report.quantities import MISSING

_NO_ROWS = "other"
_NAMED = 3
_STYLES = {EvidenceState.LEAK: "bold white on red", EvidenceState.MISSING: "bold white on red"}
_NOTE = (
    "Markers planted in every twin's rows, looked for in its files while it was at work. not found: plain twins show"
    " them there, this one does not. not tested: no plain twin shows them there, so that their absence says nothing."
)
_UNCOVERED_NOTE = " in the clear: found where the twin's scope does not encrypt."


def evidence_lines(evidence: Sequence[FileEvidence], settings: RunSettings, width: int) -> list[Text | Table]:
    """The table with its note; nothing where no twin was searched."""
    classes = [name for name in dict.fromkeys(one.file_class for one in evidence) if _is_shown(name, evidence)]
    if not classes:
        return []
    table = plain_table((("Evidence", False), *((name, False) for name in classes)))
    for condition in dict.fromkeys(one.condition for one in evidence):
        by_class = {one.file_class: _cell(one) for one in evidence if one.condition == condition}
        cells = [by_class.get(name, Text(MISSING)) for name in classes]
        table.add_row(condition_label(condition, settings), *cells)
    leaks = [line for text in _leaks(evidence, settings) for line in paragraph(text, width, "bold red", indent="  ")]
    return [table, *leaks, *paragraph(_note(evidence), width, "dim")]


def _note(evidence: Sequence[FileEvidence]) -> str:
    is_left = any(one.state is EvidenceState.UNCOVERED for one in evidence)
    return _NOTE + _UNCOVERED_NOTE if is_left else _NOTE


def _is_shown(file_class: str, evidence: Sequence[FileEvidence]) -> bool:
    """Files that hold no rows by design are worth a column only if markers are in them all the same."""
    return file_class != _NO_ROWS or any(one.markers_found for one in evidence if one.file_class == _NO_ROWS)


def _cell(one: FileEvidence) -> Text:
    match one.state:
        case EvidenceState.PLAIN:
            text = f"found {one.markers_found:,}"
        case EvidenceState.ENCRYPTED:
            text = "not found"
        case EvidenceState.LEAK:
            text = f"LEAK {one.markers_found:,}"
        case EvidenceState.UNCOVERED:
            text = f"in the clear {one.markers_found:,}"
        case EvidenceState.MISSING:
            text = "MISSING"
        case EvidenceState.NOT_TESTED:
            text = "not tested" if one.files else "no file"
    return Text(text, style=_STYLES.get(one.state, ""))


def _leaks(evidence: Sequence[FileEvidence], settings: RunSettings) -> list[str]:
    return [
        f"plaintext in {_names(one.leaking)} ({one.file_class}) of {condition_label(one.condition, settings)}"
        for one in evidence
        if one.state is EvidenceState.LEAK
    ]


def _names(names: Sequence[str]) -> str:
    """Some of them: a workload that spills in every statement leaves many."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more

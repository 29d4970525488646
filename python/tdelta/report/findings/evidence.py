"""What a search for planted plaintext found: a row for each twin, a column for each class of files.

A cell never says more than was shown: *not found* stands only where a plain twin's files of that class show markers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from tdelta.evidence import FileClass
from tdelta.records import Condition, EvidenceState, FileEvidence, RunResult, RunSettings
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.labels import condition_label
from tdelta.report.page.blocks import Block, Cell, Column, Heading, Paragraph
from tdelta.report.page.blocks import Table as PageTable
from tdelta.report.page.wording import label
from tdelta.report.quantities import MISSING, amounts

_PAGE_STATES = {
    EvidenceState.PLAIN: Cell("plain text found, as it must be", "quiet"),
    EvidenceState.ENCRYPTED: Cell("none found", "good"),
    EvidenceState.LEAK: Cell("LEAK: plain text found", "bad"),
    EvidenceState.UNCOVERED: Cell("in the clear: not covered by the scope", "quiet"),
    EvidenceState.MOUNTED: Cell("in the clear as long as it is mounted", "quiet"),
    EvidenceState.MISSING: Cell("MISSING: not found where it must be", "bad"),
    EvidenceState.NOT_TESTED: Cell("not tested", "quiet"),
}


_NO_ROWS = "other"
_NAMED = 3
_STYLES = {EvidenceState.LEAK: "bold white on red", EvidenceState.MISSING: "bold white on red"}
_NOTE = (
    "Markers planted in every twin's rows, looked for in its files while it was at work. not found: present in the"
    " unencrypted twin, absent here. not tested: absent from the unencrypted twin, too, so inconclusive."
)
_UNCOVERED_NOTE = " in the clear: found where the twin's scope does not encrypt."
_MOUNTED_NOTE = (
    " mounted: read through the mount, which hides nothing from whoever may read files there; storage: read below it,"
    " the image or the encrypted files."
)


def text(result: RunResult, width: int) -> list[Text | Table]:
    """The table with its note; nothing where no twin was searched."""
    evidence, settings = result.of(FileEvidence), result.settings
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
    is_mounted = any(one.state is EvidenceState.MOUNTED for one in evidence)
    return f"{_NOTE}{_UNCOVERED_NOTE if is_left else ''}{_MOUNTED_NOTE if is_mounted else ''}"


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
        case EvidenceState.MOUNTED:
            text = f"mounted {one.markers_found:,}"
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


def blocks(result: RunResult) -> Iterator[Block]:
    """What was found, leaks first; that nothing was searched where that is so."""
    yield Heading("Is it really encrypted")
    if not result.of(FileEvidence):
        yield Paragraph(
            "This run did not search its files for planted plain text. What is known is under the checks below.", "note"
        )
        return
    yield from (Paragraph(_leak_words(found, result), "alarm") for found in result.of(FileEvidence) if _is_leak(found))
    yield Paragraph(
        "Incompressible markers stand in the rows of every twin. They must be found in the files of plain twins, and"
        " nowhere in those of encrypted ones; where no plain twin shows them, their absence says nothing: not tested."
    )
    yield _evidence_table(result)
    yield _evidence_files(result)


def _is_leak(found: FileEvidence) -> bool:
    return found.state is EvidenceState.LEAK


def _leak_words(found: FileEvidence, result: RunResult) -> str:
    where = ", ".join(found.leaking)
    return f"{label(found.condition, result.settings)}: planted plain text was found in {where} ({found.file_class})."


def _evidence_table(result: RunResult) -> PageTable:
    known: dict[tuple[str, str], FileEvidence] = {(e.condition.key, e.file_class): e for e in result.of(FileEvidence)}
    found = {e.file_class for e in result.of(FileEvidence)}
    classes = [name for name in FileClass if name in found]
    conditions: Mapping[str, Condition] = {e.condition.key: e.condition for e in result.of(FileEvidence)}
    rows: list[list[str | Cell]] = [
        [label(condition, result.settings), *(_state(known.get((key, name))) for name in classes)]
        for key, condition in conditions.items()
    ]
    return PageTable(
        "What was found, by twin and class of file", [Column(""), *(Column(name) for name in classes)], rows
    )


def _state(found: FileEvidence | None) -> Cell:
    return Cell("no such file", "quiet") if found is None else _PAGE_STATES[found.state]


def _evidence_files(result: RunResult) -> PageTable:
    rows = [
        (
            f"{label(e.condition, result.settings)}, {e.file_class}",
            ", ".join(e.files) or "–",
            amounts((e.scanned_bytes,), "bytes")[0],
            f"{e.markers_found:,}",
            ", ".join(e.leaking) or "–",
        )
        for e in result.of(FileEvidence)
    ]
    columns = [
        Column(""),
        Column("files"),
        Column("searched", is_number=True),
        Column("markers found", is_number=True),
        Column("leaking"),
    ]
    return PageTable("Numbers: every file that was searched", columns, rows, folded=True)

"""What a search for planted plaintext found: a row for each twin, a column for each class of files.

A cell never says more than was shown: *not found* stands only where a plain twin's files of that class show markers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tdelta.document.blocks import Block, Cell, Column, Heading, Medium, Paragraph, Table
from tdelta.document.quantities import MISSING, amounts
from tdelta.document.wording import label
from tdelta.records import EvidenceState, FileEvidence, RunResult, RunSettings

_NO_ROWS = "other"
_NAMED = 3
_LOOKS = {EvidenceState.ENCRYPTED: "good", EvidenceState.LEAK: "bad", EvidenceState.MISSING: "bad"}
_NOTE = (
    "Markers planted in every twin's rows, looked for in its files while it was at work. not found: present in the"
    " unencrypted twin, absent here. not tested: absent from the unencrypted twin, too, so inconclusive."
)
_UNCOVERED_NOTE = " in the clear: found where the twin's scope does not encrypt."
_MOUNTED_NOTE = (
    " mounted: read through the mount, which hides nothing from whoever may read files there; storage: read below it,"
    " the image or the encrypted files."
)


def _note(evidence: Sequence[FileEvidence]) -> str:
    is_left = any(one.state is EvidenceState.UNCOVERED for one in evidence)
    is_mounted = any(one.state is EvidenceState.MOUNTED for one in evidence)
    return f"{_NOTE}{_UNCOVERED_NOTE if is_left else ''}{_MOUNTED_NOTE if is_mounted else ''}"


def _is_shown(file_class: str, evidence: Sequence[FileEvidence]) -> bool:
    """Files that hold no rows by design are worth a column only if markers are in them all the same."""
    return file_class != _NO_ROWS or any(one.markers_found for one in evidence if one.file_class == _NO_ROWS)


def _cell(one: FileEvidence) -> Cell:
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
    return Cell(text, _LOOKS.get(one.state, "quiet"))


def _names(names: Sequence[str]) -> str:
    """Some of them: a workload that spills in every statement leaves many."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def blocks(result: RunResult) -> Iterator[Block]:
    """What was found, leaks first; that nothing was searched where that is so."""
    yield Heading("Is it really encrypted")
    evidence = result.of(FileEvidence)
    if not evidence:
        words = "This run did not search its files for planted plain text. What is known is under the checks below."
        yield Paragraph(words, "note", Medium.PAGE)
        return
    yield from (Paragraph(_leak_words(one, result), "alarm") for one in evidence if one.state is EvidenceState.LEAK)
    yield _evidence_table(evidence, result.settings)
    yield Paragraph(_note(evidence), "note")
    yield _evidence_files(result)


def _leak_words(found: FileEvidence, result: RunResult) -> str:
    where = f"{_names(found.leaking)} ({found.file_class})"
    return f"{label(found.condition, result.settings)}: planted plaintext was found in {where}."


def _evidence_table(evidence: Sequence[FileEvidence], settings: RunSettings) -> Table:
    classes = list(dict.fromkeys(one.file_class for one in evidence))
    rows = []
    for condition in dict.fromkeys(one.condition for one in evidence):
        by_class = {one.file_class: _cell(one) for one in evidence if one.condition == condition}
        rows.append([label(condition, settings), *(by_class.get(name, MISSING) for name in classes)])
    titles = [Column(""), *(Column(name, is_brief=_is_shown(name, evidence)) for name in classes)]
    return Table("What was found, by twin and class of file", titles, rows, name="Evidence")


def _evidence_files(result: RunResult) -> Table:
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
    return Table("Numbers: every file that was searched", columns, rows, folded=True, medium=Medium.PAGE)

"""The search for planted plaintext: a row for each twin, a column for each class of files.

A cell never says more than was shown: *not found* stands only where a plain twin's files of that class show markers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tdelta.document.blocks import Block, Cell, Column, Line, Medium, Paragraph, Table
from tdelta.document.quantities import MISSING, amounts
from tdelta.document.wording import label
from tdelta.findings.base import FOUND, Kind
from tdelta.records import EvidenceState, FileEvidence, RunResult

_NO_ROWS = "other"
_NAMED = 3
_WORDS = {
    EvidenceState.PLAIN: "found",
    EvidenceState.ENCRYPTED: "not found",
    EvidenceState.LEAK: "LEAK",
    EvidenceState.UNCOVERED: "in the clear",
    EvidenceState.MOUNTED: "mounted",
    EvidenceState.MISSING: "MISSING",
    EvidenceState.NOT_TESTED: "not tested",
}
_COUNTED = (EvidenceState.PLAIN, EvidenceState.LEAK, EvidenceState.UNCOVERED, EvidenceState.MOUNTED)
_READABLE = {
    EvidenceState.UNCOVERED: "without the key (outside the scope)",
    EvidenceState.MOUNTED: "by users while the storage is mounted",
}
_LOOKS = {EvidenceState.ENCRYPTED: "good", EvidenceState.LEAK: "bad", EvidenceState.MISSING: "bad"}
_NOTE = (
    "All files were searched for marker rows while the workload ran. not found: present in the unencrypted copy, absent"
    " here. not tested: absent from the unencrypted copy, so inconclusive."
)
_NOTES = {
    EvidenceState.UNCOVERED: " in the clear: found in files outside the scope of the encryption.",
    EvidenceState.MOUNTED: (
        " mounted: read through the mount, which decrypts for every user with read permission; storage: read below it,"
        " the image or the encrypted files."
    ),
}


def blocks(found: Sequence[FileEvidence], result: RunResult) -> Iterator[Block]:
    """Findings, leaks first."""
    for one in found:
        if one.state is EvidenceState.LEAK:
            more = f" and {len(one.leaking) - _NAMED} more" if len(one.leaking) > _NAMED else ""
            where = f"{', '.join(one.leaking[:_NAMED])}{more} ({one.file_class})"
            name = label(one.condition, result.settings)
            yield Paragraph(f"{name}: plaintext was found in {where}.", "alarm")
    classes = list(dict.fromkeys(one.file_class for one in found))
    rows = []
    for condition in dict.fromkeys(one.condition for one in found):
        by_class = {one.file_class: _cell(one) for one in found if one.condition == condition}
        rows.append([label(condition, result.settings), *(by_class.get(name, MISSING) for name in classes)])
    # Files that hold no rows by design are worth a terminal's column only if markers are in them all the same.
    has_more = any(one.markers_found for one in found if one.file_class == _NO_ROWS)
    titles = [Column(""), *(Column(name, is_brief=name != _NO_ROWS or has_more) for name in classes)]
    yield Table("Marker rows found, by copy and class of file", titles, rows, name="Evidence")
    states = {one.state for one in found}
    yield Paragraph(_NOTE + "".join(note for state, note in _NOTES.items() if state in states), "note")
    yield _files(found, result)


def _cell(one: FileEvidence) -> Cell:
    count = f" {one.markers_found:,}" if one.state in _COUNTED else ""
    is_without = one.state is EvidenceState.NOT_TESTED and not one.files
    return Cell("no file" if is_without else f"{_WORDS[one.state]}{count}", _LOOKS.get(one.state, "quiet"))


def _files(found: Sequence[FileEvidence], result: RunResult) -> Table:
    rows = [
        (
            f"{label(one.condition, result.settings)}, {one.file_class}",
            ", ".join(one.files) or "–",
            amounts((one.scanned_bytes,), "bytes")[0],
            f"{one.markers_found:,}",
            ", ".join(one.leaking) or "–",
        )
        for one in found
    ]
    numbers = ("searched", "markers found")
    titles = [Column(name, is_number=name in numbers) for name in ("", "files", *numbers, "leaking")]
    return Table("Numbers: every file that was searched", titles, rows, folded=True, medium=Medium.PAGE)


def lines(found: Sequence[FileEvidence], _result: RunResult) -> Iterator[Line]:
    """Classes of files of encrypted copies that can be read without the key, or that none can."""
    encrypted = [one for one in found if one.condition.is_protected]
    for state, why in _READABLE.items():
        if classes := dict.fromkeys(one.file_class for one in encrypted if one.state is state):
            yield Line(FOUND, f"files readable {why}: {', '.join(classes)}")
    is_readable = any(one.state in (EvidenceState.LEAK, *_READABLE) for one in encrypted)
    if not is_readable and any(one.state is EvidenceState.ENCRYPTED for one in encrypted):
        yield Line(FOUND, "no plaintext in files of encrypted copies")


KIND = Kind(FileEvidence, blocks=blocks, part="trust", lines=lines)

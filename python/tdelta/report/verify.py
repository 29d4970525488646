"""Output of ``tdelta verify``: file by file the evidence of the bytes, and in plain words its limits.

The limits are part of the answer, in the text and in the document: a reader who skips them would read *looks random* as
*encrypted*, and *not found* as *absent*.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tdelta.document.blocks import Block, Cell, Listing, Medium, Paragraph, Table, columns, is_for
from tdelta.document.labels import listed
from tdelta.document.quantities import MISSING, amounts, counted
from tdelta.engines.files import class_of
from tdelta.evidence.reading import BlockKinds, FileReading, Marker, ReadState
from tdelta.evidence.search import FileClass
from tdelta.findings import evidence
from tdelta.messages.checks import FINDS, NO_MARKER
from tdelta.records import EvidenceState, FileEvidence, RunResult, Validity
from tdelta.report.values import values_of

VERIFY_SCHEMA = "tdelta.verify/1"
ANSWERED, UNDECIDED, INVALID = 0, 3, 4

_SHOWN = 40
_ORDER = (ReadState.PLAIN, ReadState.MIXED, ReadState.LOOKS_RANDOM, ReadState.ENCRYPTED, ReadState.EMPTY)
_STATES = {ReadState.PLAIN: "bad", ReadState.ENCRYPTED: "good", ReadState.LOOKS_RANDOM: "good"}
_LAST = (FileClass.OTHER, FileClass.LOGS, FileClass.DICTIONARY)
"""Classes of which no rows of the user's are known; all others come before them."""
_COMPRESSED = (
    "Bytes that look random are encrypted or compressed: they cannot tell which, nor by which cipher, nor whether the"
    " key is safe."
)
_ABSENT = (
    "No marker was found. If it is known to be in the rows, it is not in the clear in these files; where rows are"
    " compressed or stored in another encoding, its absence says nothing."
)
_NO_MARKER = (
    "No marker was given: only one that is known to be in the rows (--marker) can show that they are not in the clear."
)


def reading_exit_code(readings: Sequence[FileReading], markers: Sequence[Marker]) -> int:
    """4 if anything is plain, 0 if something can be said, 3 if nothing can."""
    if any(reading.state is ReadState.PLAIN for reading in readings):
        return INVALID
    was_searched = bool(markers) and any(reading.state is not ReadState.EMPTY for reading in readings)
    return ANSWERED if was_searched or any(reading.says_something for reading in readings) else UNDECIDED


def run_exit_code(result: RunResult) -> int:
    """4 if a check of the evidence failed, 0 if some class of an encrypted twin was shown encrypted, else 3."""
    if any(check.failed for check in _checks(result)):
        return INVALID
    is_shown = any(one.state is EvidenceState.ENCRYPTED for one in result.of(FileEvidence))
    return ANSWERED if is_shown else UNDECIDED


def readings_blocks(target: Path, readings: Sequence[FileReading], markers: Sequence[Marker]) -> Iterator[Block]:
    yield Paragraph(_summary(readings, target), "lead")
    if not readings:
        return
    titles = columns("bytes", "state", "bits per byte", "findings", texts=("state", "findings"))
    rows = [
        (
            _name(one.path, target),
            amounts((one.size_bytes,), "bytes")[0],
            Cell(one.state.value, _STATES.get(one.state, "")),
            _bits(one.statistics.by_block[0]),
            "; ".join(one.reasons),
        )
        for one in sorted(readings, key=lambda reading: _rank(reading, target))
    ]
    yield Table("Files", titles, rows, name="file", most=_SHOWN)
    yield Listing([("", limit) for limit in limits(readings, markers)], "cautions")


def run_blocks(result: RunResult) -> list[Block]:
    blocks = list(evidence.KIND.shown(result))
    if not any(is_for(block, Medium.TERMINAL) for block in blocks):
        blocks = [Paragraph(f"Run {result.settings.run_id} has no evidence: its files were not searched.")]
    return [*blocks, Listing(listed(_checks(result)), "checks")]


def limits(readings: Sequence[FileReading], markers: Sequence[Marker]) -> list[str]:
    shown = []
    if markers and not any(reading.markers for reading in readings):
        shown.append(_ABSENT)
    if not markers:
        shown.append(_NO_MARKER)
    if any(reading.state in (ReadState.LOOKS_RANDOM, ReadState.MIXED) for reading in readings):
        shown.append(_COMPRESSED)
    return shown


def readings_document(
    target: Path, readings: Sequence[FileReading], markers: Sequence[Marker], exit_code: int
) -> dict[str, object]:
    return {
        "schema": VERIFY_SCHEMA,
        "exit_code": exit_code,
        "path": str(target),
        "run_id": None,
        "answer": _summary(readings, target),
        "markers": [
            {"text": one.text, "searched": [{"encoding": name, "hex": data.hex()} for name, data in one.needles]}
            for one in markers
        ],
        "files": values_of(tuple(readings)),
        "evidence": [],
        "validity": [],
        "limits": limits(readings, markers),
    }


def run_document(result: RunResult, exit_code: int) -> dict[str, object]:
    return {
        "schema": VERIFY_SCHEMA,
        "exit_code": exit_code,
        "path": None,
        "run_id": result.settings.run_id,
        "answer": "; ".join(check.detail for check in _checks(result)),
        "markers": [],
        "files": [],
        "evidence": values_of(result.of(FileEvidence)),
        "validity": values_of(_checks(result)),
        "limits": [],
    }


def _checks(result: RunResult) -> tuple[Validity, ...]:
    return tuple(check for check in result.validity if check.code in (NO_MARKER, FINDS))


def _rank(reading: FileReading, target: Path) -> tuple[bool, int, int, Path]:
    """Where a marker was found; then files with rows and logs of writes, other ones, an engine's catalogue last."""
    found = _class(reading.path, target)
    weight = _LAST.index(found) + 1 if found in _LAST else 0
    return not reading.markers, weight, _ORDER.index(reading.state), reading.path


def _class(path: Path, target: Path) -> FileClass:
    """By its path below the target; where that says nothing, with the target's own name, which may be a schema's."""
    if path == target:
        return class_of(path.name)
    below = path.relative_to(target).as_posix()
    found = class_of(below)
    return class_of(f"{target.name}/{below}") if found is FileClass.OTHER else found


def _summary(readings: Sequence[FileReading], target: Path) -> str:
    if not readings:
        return "Undecided: no regular file to read."
    counts = [(state, [one for one in readings if one.state is state]) for state in _ORDER]
    shown = ", ".join(f"{len(found):,} {_words(state, found, target)}" for state, found in counts if found)
    return f"{counted(len(readings), 'file')}: {shown}."


def _words(state: ReadState, found: Sequence[FileReading], target: Path) -> str:
    match state:
        case ReadState.PLAIN:
            catalogue = sum(_class(one.path, target) is FileClass.DICTIONARY for one in found)
            of_engine = f"; {catalogue:,} of them an engine's own catalogue" if catalogue else ""
            return f"plain (readable without a key{of_engine})"
        case ReadState.LOOKS_RANDOM:
            return "looking random (encrypted or compressed)"
        case _:
            return state.value


def _bits(kinds: BlockKinds) -> str:
    return MISSING if kinds.entropy_mean_bits is None else f"{kinds.entropy_mean_bits:.2f}"


def _name(path: Path, target: Path) -> str:
    return path.name if path == target else str(path.relative_to(target))

"""The meaning of markers that were found, or not found, in a class of files.

Finding nothing says something only where there was something to find: in each class the plain twins are the positive
control. An encrypted twin's class is ``encrypted`` only if a plain twin's files of that class did show markers; else it
is ``not tested``. Markers in an encrypted twin are a ``leak``, unless its scope does not cover the class: then they are
``uncovered``, which is what the user asked for and has to know; or they were read through the mount of encrypted
storage, which shows them to whoever may read files there: ``mounted``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tdelta.evidence.search import FileClass, MarkerHit
from tdelta.messages import Detail
from tdelta.messages.checks import FINDS, NO_MARKER
from tdelta.records import CheckState, Condition, EvidenceState, FileEvidence, Validity

_NAMED = 3
_HOMES = {FileClass.DATABASE: "database file", FileClass.TABLES: "tables", FileClass.STORAGE: "storage"}
"""Where rows lie at rest: a plain twin must show markers there."""


@dataclass(frozen=True, slots=True)
class Searched:
    """The search of one twin. ``covered`` are the classes that its encryption covers; None: every one."""

    condition: Condition
    found: tuple[MarkerHit, ...]
    covered: frozenset[FileClass] | None = None

    @property
    def is_plain(self) -> bool:
        return self.condition.is_plain

    def covers(self, file_class: FileClass) -> bool:
        return self.covered is None or file_class in self.covered

    def markers_in(self, file_class: FileClass) -> int:
        return sum(found.markers_found for found in self.found if found.file_class is file_class)


def classify(searched: Sequence[Searched]) -> tuple[FileEvidence, ...]:
    """A record for every twin and every class of files that any twin has, and always one of temporary files."""
    seen = {found.file_class for one in searched for found in one.found}
    home = FileClass.TABLES if FileClass.TABLES in seen else FileClass.DATABASE
    classes = [file_class for file_class in FileClass if file_class in seen | {home, FileClass.TEMP}]
    return tuple(_evidence(one, file_class, searched) for one in searched for file_class in classes)


def _evidence(one: Searched, file_class: FileClass, searched: Sequence[Searched]) -> FileEvidence:
    files = [found for found in one.found if found.file_class is file_class]
    return FileEvidence(
        condition=one.condition,
        file_class=file_class.value,
        state=_state(one, file_class, searched),
        files=tuple(found.name for found in files),
        leaking=() if one.is_plain else tuple(found.name for found in files if found.markers_found),
        scanned_bytes=sum(found.scanned_bytes for found in files),
        markers_found=one.markers_in(file_class),
    )


def _state(one: Searched, file_class: FileClass, searched: Sequence[Searched]) -> EvidenceState:
    if one.markers_in(file_class):
        return _state_where_found(one, file_class)
    if one.is_plain:
        return EvidenceState.MISSING if file_class in _HOMES else EvidenceState.NOT_TESTED
    was_read = any(found.scanned_bytes for found in one.found if found.file_class is file_class)
    is_shown = any(control.markers_in(file_class) for control in _controls(one, searched))
    return EvidenceState.ENCRYPTED if was_read and is_shown else EvidenceState.NOT_TESTED


def _state_where_found(one: Searched, file_class: FileClass) -> EvidenceState:
    if one.is_plain:
        return EvidenceState.PLAIN
    if one.covers(file_class):
        return EvidenceState.LEAK
    return EvidenceState.MOUNTED if one.condition.is_on_encrypted_storage else EvidenceState.UNCOVERED


def _controls(one: Searched, searched: Sequence[Searched]) -> list[Searched]:
    """The plain twins of the same stratum; of the whole run, if its own has none."""
    plain = [other for other in searched if other.is_plain]
    return [other for other in plain if other.condition.stratum == one.condition.stratum] or plain


def validity(evidence: Sequence[FileEvidence], not_searched: tuple[Detail, ...] = ()) -> tuple[Validity, ...]:
    """Both checks of a run: that nothing leaks, and that the search would have seen it.

    `not_searched`: why some twins were not searched; empty if all were.
    """
    return (_no_marker(evidence, not_searched), _finds(evidence, not_searched))


def _no_marker(evidence: Sequence[FileEvidence], not_searched: tuple[Detail, ...]) -> Validity:
    leaks = tuple(_leak(one) for one in evidence if one.state is EvidenceState.LEAK)
    if leaks:
        return Validity(NO_MARKER, CheckState.FAILED, leaks)
    encrypted = [one for one in evidence if one.state is EvidenceState.ENCRYPTED]
    if not encrypted:
        untested = not_searched or (
            Detail.of("not-checked", why="no encrypted copy, or no marker in unencrypted ones"),
        )
        return Validity(NO_MARKER, CheckState.NOT_SHOWN, (*untested, *_uncovered(evidence)))
    read, classes = sum(one.scanned_bytes for one in encrypted), ", ".join(_classes(encrypted))
    fine = Detail.of("markers-absent", classes=classes, twins=_twins(encrypted), read=read)
    return Validity(NO_MARKER, CheckState.OK, (fine, *_uncovered(evidence), *_left_open(evidence), *not_searched))


def _leak(one: FileEvidence) -> Detail:
    return Detail.of(
        "plaintext-found",
        files=_files(one.leaking),
        file_class=one.file_class,
        condition=one.condition.key,
        markers=one.markers_found,
    )


def _uncovered(evidence: Sequence[FileEvidence]) -> Iterator[Detail]:
    """Parts that each scope leaves in the clear, in its own words, and that storage shows as long as it is mounted."""
    for condition, classes in _by_condition(evidence, EvidenceState.UNCOVERED):
        yield Detail.of("left-in-the-clear", condition=condition, classes=classes)
    for condition, classes in _by_condition(evidence, EvidenceState.MOUNTED):
        yield Detail.of("clear-while-mounted", condition=condition, classes=classes)


def _by_condition(evidence: Sequence[FileEvidence], state: EvidenceState) -> Iterator[tuple[str, str]]:
    found = [one for one in evidence if one.state is state]
    for condition in dict.fromkeys(one.condition for one in found):
        yield condition.key, ", ".join(_classes(one for one in found if one.condition == condition))


def _finds(evidence: Sequence[FileEvidence], not_searched: tuple[Detail, ...]) -> Validity:
    missing = [one for one in evidence if one.state is EvidenceState.MISSING]
    if missing:
        homes = ((_HOMES[FileClass(one.file_class)], one.condition.key) for one in missing)
        absent = tuple(Detail.of("home-without-marker", home=home, condition=key) for home, key in homes)
        return Validity(FINDS, CheckState.FAILED, absent)
    plain = [one for one in evidence if one.state is EvidenceState.PLAIN]
    if not plain:
        return Validity(
            FINDS,
            CheckState.NOT_SHOWN,
            not_searched or (Detail.of("not-checked", why="no unencrypted copy was searched"),),
        )
    fine = Detail.of("markers-present", classes=", ".join(_classes(plain)), twins=_twins(plain))
    return Validity(FINDS, CheckState.OK, (fine, *not_searched))


def _left_open(evidence: Sequence[FileEvidence]) -> Iterator[Detail]:
    """The classes in which some encrypted twin could not be tested, but for those that hold no rows by design."""
    is_open = [
        one
        for one in evidence
        if one.state is EvidenceState.NOT_TESTED and not one.condition.is_plain and one.file_class != FileClass.OTHER
    ]
    names = _classes(is_open)
    if names:
        there = {one.file_class for one in evidence if one.files}
        shown = (name if name in there else f"{name} (no such file)" for name in names)
        yield Detail.of("not-checked", why=", ".join(shown))


def _classes(evidence: Iterable[FileEvidence]) -> list[str]:
    return list(dict.fromkeys(one.file_class for one in evidence))


def _twins(evidence: Iterable[FileEvidence]) -> int:
    return len({one.condition for one in evidence})


def _files(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more

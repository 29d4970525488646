"""What a run is for, and what its owner says of it: facts of the run that are there from its beginning or put later.

A run that was requested by itself has no fact of its kind. Labels and notes are facts, too, so that a result is
never touched by them; they are sealed as all facts are.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from tdelta.errors import UsageError
from tdelta.messages import Refusal
from tdelta.records.kept import label_fault

KIND = "kind"
LABELS = "labels"
NOTE = "note"
PROCESS = "process"
"""The facts' names. The last is which process conducts the run: see `tdelta.session.keeping`."""

MOST_LABELS = 32
LONGEST_NOTE = 2000


def checked_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """The labels, each once, composed as Unicode has it, so that what looks the same is the same.

    Raises:
        UsageError: some cannot be labels, or they are too many.
    """
    found = tuple(dict.fromkeys(unicodedata.normalize("NFC", label) for label in labels))
    faults = [fault for label in found if (fault := label_fault(label)) is not None]
    if len(found) > MOST_LABELS:
        faults.append(Refusal.of("too-many-labels", most=MOST_LABELS, found=len(found)))
    if faults:
        raise UsageError(*faults)
    return found


def checked_note(note: str) -> str:
    """The note without what stands blank around it.

    Raises:
        UsageError: it is too long, or has characters that move a terminal's cursor (new lines are fine).
    """
    text = note.strip()
    if len(text) > LONGEST_NOTE or not all(sign.isprintable() or sign == "\n" for sign in text):
        raise UsageError(Refusal.of("not-a-note", most=LONGEST_NOTE, found=len(text)))
    return text

"""The purpose of a stored run, and its names beside its id."""

from __future__ import annotations

from enum import Enum, StrEnum, auto

from tdelta.messages import Refusal

LAST = "last"
"""The name of the newest run that was asked for by itself."""

LONGEST_LABEL = 64


class OfLast(Enum):
    """Of which runs ``last`` is the newest: all, those with a result, or those that can be resumed."""

    ANY = auto()
    FINISHED = auto()
    UNFINISHED = auto()


class RunKind(StrEnum):
    """The purpose of a run. Only one of the first kind is ever meant by ``last``."""

    RUN = "run"
    PILOT = "pilot"
    CALIBRATION = "calibration"
    IMPORTED = "imported"


def label_fault(label: str) -> Refusal | None:
    """Why this cannot be a label; None where it can.

    A label has 1 to 64 characters, none of them blank, a comma or one that moves a terminal's cursor, does not begin
    with ``-`` and is not ``last``.
    """
    is_plain = label.isprintable() and not any(sign.isspace() or sign == "," for sign in label)
    if 0 < len(label) <= LONGEST_LABEL and is_plain and not label.startswith("-") and label != LAST:
        return None
    return Refusal.of(
        "out-of-range",
        what="a label",
        wanted=f"1 to {LONGEST_LABEL} characters without blanks and commas, not 'last' and not begin with '-'",
        found=repr(label[: 2 * LONGEST_LABEL]),
    )

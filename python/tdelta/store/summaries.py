"""One line of the list of runs, and what of a run is enough to name it."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tdelta.errors import UsageError
from tdelta.inputs import out_of_range
from tdelta.messages import Refusal
from tdelta.records import Decision
from tdelta.records.kept import RunKind, label_fault

# The purpose of a run, and its owner's words on it: facts of the run that are there from its beginning or put
# later.
#
# A run that was requested by itself has no fact of its kind. Labels and notes are facts, too, so that a
# result is never touched by them; they are sealed as all facts are.

KIND = "kind"
LABELS = "labels"
NOTE = "note"
PROCESS = "process"
"""The facts' names. The last is which process conducts the run: see `tdelta.session.keeping`."""

MOST_LABELS = 32
LONGEST_NOTE = 2000


def checked_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """The labels, each once, composed as Unicode has it, so that what looks the same is the same."""
    found = tuple(dict.fromkeys(unicodedata.normalize("NFC", label) for label in labels))
    faults = [fault for label in found if (fault := label_fault(label)) is not None]
    if len(found) > MOST_LABELS:
        faults.append(Refusal.of("too-many", what="labels", most=MOST_LABELS))
    if faults:
        raise UsageError(*faults)
    return found


def checked_note(note: str) -> str:
    """The note without what stands blank around it."""
    text = note.strip()
    if len(text) > LONGEST_NOTE or not all(sign.isprintable() or sign == "\n" for sign in text):
        wanted = f"at most {LONGEST_NOTE} characters, without control characters"
        raise UsageError(out_of_range("a note", wanted, f"{len(text)} characters"))
    return text


RUNS_NAMED = 10
"""How many recent runs an error names."""


class RunStatus(StrEnum):
    """Where a run stands. One that was killed stays ``running`` until it is resumed."""

    PLANNED = "planned"
    RUNNING = "running"
    DONE = "done"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One line of the list of runs. ``decision`` is None until the run has a result, ``metric`` is what it is of.

    ``overheads`` are the medians of the primary verdicts' ratios, one for each condition that was judged.
    """

    run_id: str
    created_unix_seconds: float
    status: RunStatus
    study: str
    engine: str
    workload: str
    trials: int
    decision: Decision | None
    overheads: tuple[float, ...] = ()
    kind: RunKind = RunKind.RUN
    labels: tuple[str, ...] = ()
    note: str = ""
    metric: str = ""


def answered(result: str | None) -> tuple[Decision | None, tuple[float, ...], str]:
    """The decision of a stored result, the medians it rests on, and their metric; all of it is much to decode."""
    if not result:
        return None, (), ""
    stored = json.loads(result)
    primary = [verdict for verdict in stored["verdicts"] if verdict["primary"]]
    metric = primary[0]["metric"] if primary else ""
    return Decision(stored["decision"]), tuple(float(verdict["ratio"]["median"]) for verdict in primary), metric


def fits(text: str, run_id: str) -> bool:
    """Whether this is the beginning of an id, or of the letters after its date."""
    _, _, letters = run_id.partition("-")
    return run_id.startswith(text) or letters.startswith(text)


def some(run_ids: Sequence[str]) -> str:
    named = ", ".join(run_ids[:RUNS_NAMED])
    return named if len(run_ids) <= RUNS_NAMED else f"{named} and {len(run_ids) - RUNS_NAMED} more"

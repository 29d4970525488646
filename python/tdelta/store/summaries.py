"""One line of the list of runs, and what of a run is enough to name it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tdelta.records import Decision
from tdelta.records.kept import RunKind

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
    """The first of them in words, and how many more."""
    named = ", ".join(run_ids[:RUNS_NAMED])
    return named if len(run_ids) <= RUNS_NAMED else f"{named} and {len(run_ids) - RUNS_NAMED} more"

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from tdelta.document.labels import condition_label
from tdelta.records import RunResult, Verdict
from tdelta.records.history import Against

ALL = "all"
"""The transaction of verdicts over the whole mix."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A stored run with its answer.

    ``exit_code`` is what the command ends with, after ``--undecided``; ``undecided_passes`` is what that option says.
    ``against`` is the run beside an earlier one, where that was asked for.
    """

    result: RunResult
    exit_code: int
    created_unix_seconds: float
    undecided_passes: bool = False
    against: Against | None = None

    @property
    def created(self) -> str:
        """When the run was begun, in UTC, as ISO 8601 has it: ``2026-11-25T18:40:29+00:00``."""
        return datetime.fromtimestamp(self.created_unix_seconds, UTC).isoformat(timespec="seconds")

    @property
    def name(self) -> str:
        """What series of runs this one belongs to: ``sqlite/order-entry``, with a study's name where it has one."""
        settings = self.result.settings
        parts = (settings.engine, settings.study, settings.workload)
        return "/".join(dict.fromkeys(part for part in parts if part))

    def label(self, verdict: Verdict) -> str:
        """What the condition of a verdict is called, with the transaction type where it is of one."""
        label = condition_label(verdict.condition, self.result.settings)
        return label if verdict.transaction == ALL else f"{label}: {verdict.transaction}"

    def labelled(self) -> Iterator[tuple[str, Verdict]]:
        return ((self.label(verdict), verdict) for verdict in self.result.primary)

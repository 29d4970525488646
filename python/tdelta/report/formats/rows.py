"""The verdicts of a run as CSV, a row per condition, metric and transaction type, and the whole answer as JSON."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tdelta.document.labels import condition_label
from tdelta.records import RunResult, Verdict
from tdelta.records.history import Against
from tdelta.report.document import document, to_json
from tdelta.report.history import against_values
from tdelta.store.export import write_rows

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
        """The series of runs that this one belongs to: ``sqlite/order-entry``, with a study's name where it has one."""
        settings = self.result.settings
        parts = (settings.engine, settings.study, settings.workload)
        return "/".join(dict.fromkeys(part for part in parts if part))

    def label(self, verdict: Verdict) -> str:
        """The label of a verdict's condition, with the transaction type where it is of one."""
        label = condition_label(verdict.condition, self.result.settings)
        return label if verdict.transaction == ALL else f"{label}: {verdict.transaction}"

    def labelled(self) -> Iterator[tuple[str, Verdict]]:
        return ((self.label(verdict), verdict) for verdict in self.result.primary)


Cell = str | int | float | bool | None


def verdict_rows(answered: Answered) -> list[dict[str, Cell]]:
    """One row per verdict; every row has the same columns. Figures that do not exist are None.

    Ratios are quotients of a cost over the baseline's; values are in the row's ``unit`` per operation.
    """
    factors = dict.fromkeys(name for v in answered.result.verdicts for name, _ in v.condition.levels)
    return [valid(_row(verdict, answered, factors)) for verdict in answered.result.verdicts]


def as_csv(answered: Answered) -> str:
    """The rows as CSV with a header; a figure that does not exist is an empty cell."""
    rows = verdict_rows(answered)
    return csv_text(_COLUMNS if not rows else list(rows[0]), rows)


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Cell]]) -> str:
    """Rows as CSV (RFC 4180, but for line feeds alone), with a header."""
    out = io.StringIO()
    write_rows(out, columns, rows)
    return out.getvalue()


_COLUMNS = ("run_id", "created", "engine", "study", "workload", "condition", "metric", "transaction", "decision")
"""The header where a run came to no verdict."""


def _row(verdict: Verdict, answered: Answered, factors: Iterable[str]) -> dict[str, Cell]:
    settings, ratio, levels = answered.result.settings, verdict.ratio, dict(verdict.condition.levels)
    typical = verdict.typical
    return {
        "run_id": settings.run_id,
        "created": answered.created,
        "engine": settings.engine,
        "study": settings.study,
        "workload": settings.workload,
        "condition": verdict.condition.key,
        "label": answered.label(verdict),
        "role": verdict.condition.role.value,
        "baseline": verdict.baseline.key,
        **{f"factor_{name}": levels.get(name) for name in factors},
        "metric": verdict.metric.value,
        "transaction": verdict.transaction,
        "is_primary": verdict.primary,
        "decision": verdict.decision.value,
        "unit": verdict.unit,
        "baseline_value": finite(verdict.baseline_value),
        "condition_value": finite(verdict.condition_value),
        "ratio": finite(ratio.median),
        "ratio_hdi95_low": finite(ratio.hdi95[0]),
        "ratio_hdi95_high": finite(ratio.hdi95[1]),
        "ratio_hdi99_low": finite(ratio.hdi99[0]),
        "ratio_hdi99_high": finite(ratio.hdi99[1]),
        "typical_ratio": None if typical is None else finite(typical.median),
        "reasons": "; ".join(reason.text for reason in verdict.reasons),
    }


def valid(row: Mapping[str, Cell]) -> dict[str, Cell]:
    """A row whose texts can be written as UTF-8: a lone surrogate, which JSON may hold, becomes a question mark."""
    return {
        name: cell.encode("utf-8", "replace").decode("utf-8") if isinstance(cell, str) else cell
        for name, cell in row.items()
    }


def finite(value: float) -> float | None:
    """A number, or None where there is none."""
    return value if math.isfinite(value) else None


def as_json(answered: Answered) -> str:
    """The document that ``--json`` prints (docs/json.md), with ``against`` where that was asked for."""
    values = document(answered.result, answered.exit_code)
    if answered.against is not None:
        values["against"] = against_values(answered.against)
    return to_json(values)

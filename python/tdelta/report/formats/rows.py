"""The verdicts of a run as rows: one per condition, metric and transaction type, as CSV."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence

from tdelta.records import Verdict
from tdelta.report.formats.answered import Answered
from tdelta.store.export import write_rows

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

"""CSV for Apache Otava: one row per run, with ``time``, attributes and a column of ratios per condition.

Ratios are quotients over the baseline, since Otava reports changes relative to the value: from 1.10 to 1.20 is +9 %,
while from an overhead of 10 % to one of 20 % would be +100 %. Rows of several runs go below each other where they have
the same columns, as the runs of one study or project have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tdelta.report.formats.answered import Answered
from tdelta.report.formats.rows import Cell, csv_text, finite, valid

ATTRIBUTES = ("time", "run", "engine", "study", "workload", "library", "decision")
_LIBRARY = "library under test"


def otava_csv(answered: Answered) -> str:
    """The row of one run, below its header."""
    return csv_text(*table((answered,)))


def table(runs: Iterable[Answered]) -> tuple[list[str], list[dict[str, Cell]]]:
    """The columns and rows of several runs, in their order; a cell is empty where a run has no such condition."""
    rows = [_row(answered) for answered in runs]
    names = dict.fromkeys((*ATTRIBUTES, *(name for row in rows for name in row)))
    return list(names), rows


def _row(answered: Answered) -> dict[str, Cell]:
    result = answered.result
    settings = result.settings
    row: dict[str, Cell] = {
        "time": answered.created,
        "run": settings.run_id,
        "engine": settings.engine,
        "study": settings.study,
        "workload": settings.workload,
        "library": str(result.versions.get(_LIBRARY, "")),
        "decision": result.decision.value,
    }
    for verdict in result.verdicts:
        if verdict.transaction == "all":
            name = _unused(f"{verdict.metric.value}_{_slug(answered.label(verdict))}", row)
            row[name] = finite(verdict.ratio.median)
    return valid(row)


def _slug(label: str) -> str:
    return re.sub(r"[^0-9a-z]+", "_", label.lower()).strip("_") or "condition"


def _unused(name: str, row: dict[str, Cell]) -> str:
    number = 2
    unused = name
    while unused in row:
        unused, number = f"{name}_{number}", number + 1
    return unused

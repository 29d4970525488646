"""The answers of a fleet as a table: one row per target and judged condition. Text, CSV and JSON have the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from tdelta.document.effect import limits
from tdelta.document.labels import condition_label, decision_word
from tdelta.document.quantities import counted, printable, ratio_cells
from tdelta.report.drawing import NARROWEST, draw, paragraph, plain_table
from tdelta.report.formats.rows import Cell, csv_text, finite, valid

if TYPE_CHECKING:
    from tdelta.records import RunResult
    from tdelta.session.fleet import TargetRun

FLEET_SCHEMA = "tdelta.fleet/1"
COLUMNS = (
    *("target", "node", "run_id", "exit_code", "engine", "study", "workload", "condition", "metric", "decision"),
    *("ratio", "hdi95_low", "hdi95_high", "fault"),
)
Answered = tuple["TargetRun", "RunResult | None"]


def fleet_rows(runs: Sequence[Answered]) -> list[dict[str, Cell]]:
    """The rows; figures that do not exist are None. Ratios are quotients of a cost over the baseline's."""
    return [valid(row) for run, result in runs for row in _rows(run, result)]


def fleet_csv(runs: Sequence[Answered]) -> str:
    return csv_text(COLUMNS, fleet_rows(runs))


def fleet_document(runs: Sequence[Answered], inventory: str, exit_code: int) -> dict[str, object]:
    return {"schema": FLEET_SCHEMA, "inventory": inventory, "exit_code": exit_code, "rows": fleet_rows(runs)}


def fleet_headline(runs: Sequence[Answered]) -> str:
    """How many targets came to which answer: ``15 targets: 11 slower, 3 negligible, 1 without an answer``."""
    counts = Counter(map(_word, runs))
    return f"{counted(len(runs), 'target')}: {', '.join(f'{n} {word}' for word, n in counts.most_common())}"


def on_one_line(fault: str) -> str:
    return "; ".join(line.strip() for line in fault.splitlines())


def fleet_text(runs: Sequence[Answered], width: int, *, color: bool = False) -> str:
    """How many came to which answer, a table of the rows, and below it why some targets have no answer."""
    width = max(NARROWEST, width)
    table = plain_table(
        (heading, False) for heading in ("target", "engine", "condition", "answer", "95% interval", "run")
    )
    for run, result in runs:
        if result is None or not result.primary:
            table.add_row(printable(run.target), "", "", "no answer", "", run.run_id)
            continue
        for verdict in result.primary:
            settings = result.settings
            overhead, hdi = ratio_cells(verdict.ratio, limits(settings))
            table.add_row(
                printable(run.target),
                settings.engine,
                condition_label(verdict.condition, settings),
                f"{decision_word(verdict.decision, verdict.metric.value)} {overhead}",
                hdi,
                run.run_id,
            )
    parts: list[Text | Table] = [*paragraph(fleet_headline(runs), width, "bold"), Text(), table]
    if any(run.fault for run, _ in runs):
        parts.append(Text())
    for run, _ in runs:
        if run.fault:
            parts += paragraph(f"{printable(run.target)}: {printable(on_one_line(run.fault))}", width, "red")
    return draw(parts, width, color=color)


def _word(answered: Answered) -> str:
    _, result = answered
    if result is None or not result.primary:
        return "without an answer"
    return decision_word(result.decision, result.primary[0].metric.value)


def _rows(run: TargetRun, result: RunResult | None) -> Iterator[dict[str, Cell]]:
    row: dict[str, Cell] = dict.fromkeys(COLUMNS)
    row |= {
        "target": run.target,
        "node": run.node,
        "run_id": run.run_id,
        "exit_code": run.exit_code,
        "fault": run.fault or None,
    }
    if result is None:
        yield row
        return
    settings = result.settings
    row |= {"engine": settings.engine, "study": settings.study, "workload": settings.workload}
    if not result.primary:
        yield {**row, "decision": result.decision.value}
    for verdict in result.primary:
        yield {
            **row,
            "condition": condition_label(verdict.condition, settings),
            "metric": verdict.metric.value,
            "decision": verdict.decision.value,
            "ratio": finite(verdict.ratio.median),
            "hdi95_low": finite(verdict.ratio.hdi95[0]),
            "hdi95_high": finite(verdict.ratio.hdi95[1]),
        }

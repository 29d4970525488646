"""The answers of a fleet: one row per target and judged configuration. Text, page, CSV and JSON have the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tdelta import __version__
from tdelta.document.blocks import MARKER, Block, Column, Medium, Page, Paragraph, Section, Table, headed
from tdelta.document.blocks import Cell as TableCell
from tdelta.document.effect import limits
from tdelta.document.labels import condition_label, decision_word
from tdelta.document.quantities import MISSING, counted, printable
from tdelta.document.wording import verdict_cells
from tdelta.records import Decision
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

_HOW = "Each row is the headline result of one configuration; tdelta report RUN writes the page of its run."
_STATES = {Decision.NEGLIGIBLE: "good", Decision.WITHIN: "good", Decision.OVER: "bad", Decision.INVALID: "bad"}


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


def compose_fleet(runs: Sequence[Answered], inventory: str) -> Page:
    """The page of a fleet, whose table can be sorted and searched."""
    return Page(
        title=f"tdelta: fleet of {inventory}",
        eyebrow=f"tdelta fleet: {inventory}",
        headline=fleet_headline(runs),
        is_alarm=False,
        sections=[Section("targets", "Targets", list(fleet_blocks(runs)))],
        marker=f"{MARKER}: fleet",
        footer=f"Drawn by tdelta {__version__} from the stored runs alone. This file asks nothing of any network.",
    )


def fleet_blocks(runs: Sequence[Answered]) -> Iterator[Block]:
    """A table of the answers, and below it why some targets have none."""
    yield Paragraph(fleet_headline(runs), "lead", Medium.TERMINAL)
    yield Paragraph(_HOW, medium=Medium.PAGE)
    titles = ("target", "engine", "configuration", "answer", "overhead", "95% interval", "run")
    shown = [Column(title, title in ("overhead", "95% interval"), is_whole=title == "run") for title in titles]
    rows = [row for run, result in runs for row in _cells(run, result)]
    yield Table("Targets and their answers", [*shown, Column("node", is_brief=False)], rows, sortable=True)
    faults = [("", f"{printable(run.target)}: {printable(on_one_line(run.fault))}") for run, _ in runs if run.fault]
    yield from headed("Without an answer", faults, "faults")


def _cells(run: TargetRun, result: RunResult | None) -> Iterator[tuple[str | TableCell, ...]]:
    target = printable(run.target)
    if result is None or not result.primary:
        nothing = TableCell("no answer", "bad")
        yield target, MISSING, MISSING, nothing, MISSING, MISSING, run.run_id or MISSING, run.node
        return
    settings = result.settings
    for verdict in result.primary:
        word = decision_word(verdict.decision, verdict.metric.value)
        yield (
            target,
            settings.engine,
            condition_label(verdict.condition, settings),
            TableCell(word, _STATES.get(verdict.decision, "")),
            *verdict_cells(verdict, limits(settings))[1],
            run.run_id,
            run.node,
        )


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

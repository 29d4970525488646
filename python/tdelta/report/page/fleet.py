"""The page of a fleet: how many targets came to which answer, and a table of all, to be sorted and searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tdelta import __version__
from tdelta.document.blocks import Block, Cell, Column, Listing, Page, Paragraph, Section, Table
from tdelta.document.effect import limits
from tdelta.document.labels import condition_label, decision_word
from tdelta.document.quantities import MISSING, printable, ratio_cells
from tdelta.records import Decision
from tdelta.report.fleet import Answered, fleet_headline, on_one_line
from tdelta.report.page.compose import MARKER

_NO_ANSWER = "no answer"
_STATES = {Decision.NEGLIGIBLE: "good", Decision.WITHIN: "good", Decision.OVER: "bad", Decision.INVALID: "bad"}
_HOW = "Each row is the primary verdict of one condition; tdelta report RUN writes the page of its run."


def compose_fleet(runs: Sequence[Answered], inventory: str) -> Page:
    names = ("target", "engine", "condition", "answer", "overhead", "95% interval", "run", "node")
    columns = [Column(name, is_number=name in ("overhead", "95% interval")) for name in names]
    rows = [row for answered in runs for row in _rows(answered)]
    blocks: list[Block] = [Paragraph(_HOW), Table("Targets and their answers", columns, rows, sortable=True)]
    faults = [(run.target, on_one_line(run.fault)) for run, _ in runs if run.fault]
    sections = [Section("targets", "Targets", blocks)]
    if faults:
        texts = [("", f"{printable(target)}: {printable(fault)}") for target, fault in faults]
        sections.append(Section("faults", "Without an answer", [Listing(texts)]))
    return Page(
        title=f"tdelta: fleet of {inventory}",
        eyebrow=f"tdelta fleet: {inventory}",
        headline=fleet_headline(runs),
        is_alarm=False,
        sections=sections,
        marker=f"{MARKER}: fleet",
        footer=f"Drawn by tdelta {__version__} from the stored runs alone. This file asks nothing of any network.",
    )


def _rows(answered: Answered) -> Iterator[tuple[str | Cell, ...]]:
    run, result = answered
    if result is None or not result.primary:
        nothing = Cell(_NO_ANSWER, "bad")
        yield printable(run.target), MISSING, MISSING, nothing, MISSING, MISSING, run.run_id or MISSING, run.node
        return
    for verdict in result.primary:
        overhead, hdi = ratio_cells(verdict.ratio, limits(result.settings))
        word = decision_word(verdict.decision, verdict.metric.value)
        yield (
            printable(run.target),
            result.settings.engine,
            condition_label(verdict.condition, result.settings),
            Cell(word, _STATES.get(verdict.decision, "")),
            overhead,
            hdi,
            run.run_id,
            run.node,
        )

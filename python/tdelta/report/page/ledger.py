"""The ledger and the what-if on the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tdelta.records import Amount, Ledger, RunResult, WhatIf
from tdelta.report.ledger import NAMES, amount_cells, function_rows, items_text, ledger_note, share_text, told_lines
from tdelta.report.page.blocks import Block, Column, Paragraph, Section, Table
from tdelta.report.page.figures.what_if import what_if_figure
from tdelta.report.page.wording import label
from tdelta.report.quantities import MISSING
from tdelta.report.whatif import NOTE as WHAT_IF_NOTE
from tdelta.report.whatif import held_text


def ledger_section(result: RunResult) -> Section | None:
    """Of what the extra CPU of each encrypted condition is made; None where the run has no ledger."""
    if not result.of(Ledger):
        return None
    lead = Paragraph(ledger_note(result, label))
    return Section("ledger", "Where the cost goes", [lead, *(_table(one, result) for one in result.of(Ledger))])


def what_if_section(result: RunResult) -> Section | None:
    """Predicted overhead against cache share over the measured cells; None without enough of them."""
    if not result.of(WhatIf):
        return None
    blocks: list[Block] = [Paragraph(f"{WHAT_IF_NOTE} {held_text(result)}")]
    blocks += [what_if_figure(one, number) for number, one in enumerate(result.of(WhatIf))]
    return Section("what-if", "What if the cache were another", blocks)


def _table(ledger: Ledger, result: RunResult) -> Table:
    columns = [Column(""), *(Column(title, is_number=True) for title in ("per operation", "95 % HDI", "share"))]
    rows = list(_rows(ledger, amount_cells(ledger)))
    if not told_lines(ledger):
        return Table(label(ledger.condition, result.settings), columns[:3], [row[:3] for row in rows])
    return Table(label(ledger.condition, result.settings), [*columns, Column("counts × prices")], rows)


def _rows(ledger: Ledger, cells: Callable[[Amount], tuple[str, str]]) -> Iterator[tuple[str, ...]]:
    yield "extra CPU", *cells(ledger.cpu), "", ""
    for line in told_lines(ledger):
        counted = items_text(line)
        source = f" ({line.source})" if line.source and counted != line.source else ""
        yield NAMES[line.kind], *cells(line.amount), share_text(line), f"{counted or MISSING}{source}"
    for difference, what in function_rows(ledger):
        yield "of it, sampled", difference, "", "", what
    if ledger.elapsed is not None:
        yield "extra time", *cells(ledger.elapsed), "", ""
    if ledger.waiting is not None:
        yield "waiting", *cells(ledger.waiting), "", ""

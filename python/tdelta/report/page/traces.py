"""Statements on the page."""

from __future__ import annotations

from tdelta.records import RunResult
from tdelta.report.page.blocks import Column, Paragraph, Section, Table
from tdelta.report.page.wording import label
from tdelta.report.quantities import MISSING
from tdelta.report.traces import NOTE, by_statement, cells, columns_of, estimate_words, heading_words, legend

_WIDTH = 160


def trace_section(result: RunResult) -> Section | None:
    """What each statement cost on each twin, with ratios; None where none was traced."""
    traces = result.traces
    if traces is None:
        return None
    names = columns_of(traces)
    rows = [
        (
            f"{statement} · {label(one.condition, result.settings)}",
            *cells(one, names),
            estimate_words(one.cpu_ratio) or MISSING,
            estimate_words(one.elapsed_ratio) or MISSING,
        )
        for statement, found in by_statement(traces)
        for one in found
    ]
    headings = (*names, "CPU, over plain", "elapsed, over plain")
    columns = [Column(""), *(Column(name, is_number=True) for name in headings)]
    texts = [Paragraph(text) for text in legend(traces, _WIDTH)]
    table = Table("Statements, twins below one another", columns, rows)
    return Section("statements", "Statements", [Paragraph(NOTE), table, *texts, Paragraph(heading_words(traces))])

"""Statements on the page."""

from __future__ import annotations

from collections.abc import Iterable

from tdelta.records import RunResult, Traces
from tdelta.report.page.blocks import Block, Column, Paragraph, Section, Table
from tdelta.report.page.wording import label
from tdelta.report.quantities import MISSING
from tdelta.report.traces import NOTE, by_statement, cells, columns_of, estimate_words, heading_words, legend

_WIDTH = 160


def trace_section(result: RunResult) -> Section | None:
    """What each statement cost on each twin, with ratios; None where none was traced."""
    traces = result.one(Traces)
    if traces is None:
        return None
    names = columns_of(traces)
    counted, ratios = [], []
    for statement, found in by_statement(traces):
        for one in found:
            name = f"{statement} · {label(one.condition, result.settings)}"
            counted.append((name, *cells(one, names)))
            over = [estimate_words(ratio) for ratio in (one.cpu_ratio, one.elapsed_ratio)]
            if any(over):
                ratios.append((name, *(words or MISSING for words in over)))
    blocks: list[Block] = [Paragraph(NOTE), Table("Statements, twins below one another", _columns(names), counted)]
    if ratios:
        blocks.append(Table("Over the plain twins, with the 95 % HDI", _columns(("CPU", "elapsed")), ratios))
    blocks += [Paragraph(text) for text in legend(traces, _WIDTH)]
    return Section("statements", "Statements", [*blocks, Paragraph(heading_words(traces))])


def _columns(names: Iterable[str]) -> list[Column]:
    return [Column(""), *(Column(name, is_number=True) for name in names)]

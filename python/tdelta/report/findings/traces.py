from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from tdelta.document.blocks import Block, Medium, Paragraph, Table, columns
from tdelta.document.quantities import MISSING, amounts, cut, decimals, interval, microseconds, percent
from tdelta.document.wording import label
from tdelta.records import Estimate, RunResult, StatementTrace, Traces

_WIDTHS = {Medium.TERMINAL: 80, Medium.PAGE: 160}
HEADINGS = ("physical", "logical", "current")
"""Reads, in the customary order."""

NOTE = (
    "All but calls is of one call. CPU (the thread that ran it), reads, rows and log are of extra trials whose"
    " statements were metered one by one; elapsed is of the measured trials. The ratios are over the plain twins, with"
    " their 95% interval."
)


def blocks(result: RunResult) -> list[Block]:
    """What each statement cost on each twin, with ratios; nothing where none was traced."""
    traces = result.one(Traces)
    if traces is None:
        return []
    titles = columns_of(traces)
    counted: list[tuple[str, ...]] = []
    ratios: list[tuple[str, ...]] = []
    for statement, found in by_statement(traces):
        counted.append((statement,))
        for one in found:
            name = label(one.condition, result.settings)
            counted.append((name, *cells(one, titles)))
            over = [estimate_words(ratio) for ratio in (one.cpu_ratio, one.elapsed_ratio)]
            if any(over):
                ratios.append((f"{statement}, {name}", *(words or MISSING for words in over)))
    caption = "Over the plain twins, with the 95% interval"
    return [
        Table("Statements, twins below one another", columns(*titles), counted, name="Statements"),
        *([Table(caption, columns("CPU", "elapsed"), ratios, name="against plain")] if ratios else []),
        *(Paragraph(text, medium=on) for on, width in _WIDTHS.items() for text in legend(traces, width)),
        Paragraph(NOTE, "note"),
        Paragraph(heading_words(traces), "note"),
    ]


def by_statement(traces: Traces) -> Iterator[tuple[str, Sequence[StatementTrace]]]:
    """The traces of each statement, by name and first word (``group/2 INSERT``), conditions in the design's order."""
    order = list(dict.fromkeys(one.statement for one in traces.statements))
    found = sorted(traces.statements, key=lambda one: order.index(one.statement))  # stable: conditions keep their order
    for statement, group in groupby(found, key=lambda one: one.statement):
        traced = list(group)
        first = traced[0].sql.partition(" ")[0]
        yield f"{statement} {first}" if first.isalpha() else statement, traced


def columns_of(traces: Traces) -> tuple[str, ...]:
    """The headings of the table: without the reads that the engine has nothing for."""
    log = ("log",) if any(one.log_bytes is not None for one in traces.statements) else ()
    return ("calls", "CPU", "elapsed", *(heading for heading in HEADINGS if heading in traces.headings), "rows", *log)


def cells(one: StatementTrace, columns: Sequence[str]) -> tuple[str, ...]:
    found = {
        "calls": f"{one.calls:,}",
        "CPU": microseconds(one.cpu_us),
        "elapsed": microseconds(one.elapsed_us),
        "rows": MISSING if one.rows is None else _count(one.rows),
        "log": MISSING if one.log_bytes is None else amounts((one.log_bytes,), "bytes")[0],
    }
    return tuple(found[name] if name in found else _count(one.reads[name]) for name in columns)


def estimate_words(ratio: Estimate | None) -> str:
    """A ratio with its 95% interval; empty where there is none."""
    if ratio is None or not math.isfinite(ratio.median):
        return ""
    places = decimals((ratio.median, *ratio.hdi95))
    return f"{percent(ratio.median, places)} ({interval(ratio.hdi95, places)})"


def legend(traces: Traces, width: int) -> list[str]:
    """What each statement is: the head of its text."""
    texts = {one.statement: one.sql for one in traces.statements}
    return [cut(f"{name}: {text}", width) for name, text in texts.items()]


def heading_words(traces: Traces) -> str:
    """What the engine has under each heading of reads; and that it has none."""
    shown = [f"{heading}: {traces.headings[heading]}" for heading in HEADINGS if heading in traces.headings]
    missing = [heading for heading in HEADINGS if heading not in traces.headings]
    if missing:
        shown.append(f"{', '.join(missing)} reads: the engine does not tell them of a statement")
    return "; ".join(shown) + "."


def _count(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"

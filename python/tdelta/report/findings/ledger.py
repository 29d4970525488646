"""The ledger: of what the extra CPU of an operation is made, and what of the extra time is waiting."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from rich.table import Table
from rich.text import Text

from tdelta.records import (
    Amount,
    Condition,
    FunctionShare,
    Ledger,
    LedgerItem,
    LedgerKind,
    LedgerLine,
    RunResult,
    RunSettings,
)
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.findings.profiles import function_name
from tdelta.report.labels import condition_label
from tdelta.report.page.blocks import Block, Column, Paragraph
from tdelta.report.page.blocks import Table as PageTable
from tdelta.report.page.wording import label
from tdelta.report.quantities import MISSING, microseconds, printable, signed_amount, small_amount, small_count

NAMES = {
    LedgerKind.CIPHER: "cipher",
    LedgerKind.INTEGRITY: "integrity",
    LedgerKind.LOG: "log",
    LedgerKind.IO: "extra I/O",
    LedgerKind.REST: "rest",
}
"""What lines are called, for people."""

NOT_TIMED = "timed calls"
"""What `Ledger.in_rest` calls a reason for which the cipher's line is predicted, and not timed."""

_UNITS = (("s", 1e6), ("ms", 1e3), ("µs", 1.0))

NOTE = (
    "Lines of the extra CPU are counts in the trials times prices measured apart from them, on this machine, in the"
    " code under test; where it says timed, they are what the server's own calls of OpenSSL took, in trials of their"
    " own. The rest is what lines leave, below zero where they come to more. Waiting is the extra response time less"
    " the extra CPU, and less the time in the run queue where it is known."
)


def text(result: RunResult, width: int) -> list[Text | Table]:
    """The ledgers of a run, one below the other; nothing where it has none."""
    if not result.of(Ledger):
        return []
    table = plain_table((("ledger", False), ("per op", True), ("95 % HDI", True), ("share", True), ("", False)))
    for ledger in result.of(Ledger):
        table.add_row(Text(condition_label(ledger.condition, result.settings), style="bold"))
        cells = amount_cells(ledger)
        table.add_row("  extra CPU", *cells(ledger.cpu), "", "")
        for line in told_lines(ledger):
            table.add_row(f"    {NAMES[line.kind]}", *cells(line.amount), share_text(line), items_text(line))
        for difference, what in function_rows(ledger):
            table.add_row("      sampled", difference, "", "", what)
        if ledger.elapsed is not None:
            table.add_row("  extra time", *cells(ledger.elapsed), "", "")
        if ledger.waiting is not None:
            table.add_row("    waiting", *cells(ledger.waiting), "", "")
    return [table, Text(), *paragraph(ledger_note(result, condition_label), width, "dim")]


def ledger_note(result: RunResult, label: Callable[[Condition, RunSettings], str]) -> str:
    """What lines are, and what has none: once where that is so of all ledgers, else with the conditions it is so of."""
    absent: dict[str, list[Ledger]] = {}
    for ledger in result.of(Ledger):
        for words in ledger.in_rest:
            absent.setdefault(words, []).append(ledger)
    sentences = [NOTE, *filter(None, (where_words(ledger, result, label) for ledger in result.of(Ledger)))]
    for words, ledgers in absent.items():
        what, colon, why = words.partition(": ")
        of = "; ".join(label(ledger.condition, result.settings) for ledger in ledgers)
        where = "" if len(ledgers) == len(result.of(Ledger)) else f" ({of})"
        begins = "Calls of the cipher were not timed" if what == NOT_TIMED else f"No line for {what}"
        sentences.append(f"{begins}{where}{colon}{why}.")
    return " ".join(sentences)


def told_lines(ledger: Ledger) -> tuple[LedgerLine, ...]:
    """The lines; none where all is rest, which would say the total again."""
    return ledger.lines if len(ledger.lines) > 1 else ()


def amount_cells(ledger: Ledger) -> Callable[[Amount], tuple[str, str]]:
    """How amounts of a ledger are told: all in one unit, with so many places as leave its largest three figures."""
    largest = max(abs(total.us) for total in (ledger.cpu, ledger.elapsed) if total is not None)
    unit, size = next((step for step in _UNITS if largest >= step[1]), _UNITS[-1])
    places = max(0, 2 - math.floor(math.log10(max(largest / size, 1e-3))))

    def text(us: float) -> str:
        return f"{round(us / size, places) + 0.0:,.{places}f}".replace("-", "−")

    return lambda amount: (f"{text(amount.us)} {unit}", " … ".join(text(end) for end in amount.hdi95))


def share_text(line: LedgerLine) -> str:
    """A line's share of the CPU difference, with its interval where it has one."""
    if line.share is None:
        return MISSING
    middle = f"{_per_cent(line.share)} %"
    if line.share_hdi95 is None:
        return middle
    low, high = line.share_hdi95
    return f"{middle} ({_per_cent(low)} … {_per_cent(high)})"


def _per_cent(share: float) -> str:
    return f"{round(100 * share) + 0:,}".replace("-", "−")


def function_rows(ledger: Ledger) -> list[tuple[str, str]]:
    """Functions that make up the rest: the difference, and the name with CPU time plain and encrypted."""
    return [
        (
            signed_amount(one.difference_ns),
            f"{_called(one)}: {small_amount(one.plain_ns)} → {small_amount(one.encrypted_ns)}",
        )
        for one in ledger.functions
    ]


def _called(one: FunctionShare) -> str:
    return f"{printable(one.function)} in {printable(one.dso)}" if one.function else function_name(one)


def where_words(ledger: Ledger, result: RunResult, label: Callable[[Condition, RunSettings], str]) -> str:
    """What makes up a rest that is much, or that this cannot be said; empty where the rest is not."""
    of = label(ledger.condition, result.settings)
    if ledger.where_unknown:
        return f"Where the rest of {of} goes cannot be said: {ledger.where_unknown}."
    if ledger.functions:
        return f"Functions below the rest of {of} are those that took most more than on the plain twin."
    return ""


def items_text(line: LedgerLine) -> str:
    """Counts and prices of a line: ``4,460 pages decrypted × 1.49 µs``; where it has none, what it is from."""
    if not line.items:
        return line.source
    if line.is_timed:
        return f"timed: {', '.join(item_text(item) for item in line.items)}"
    return ", ".join(item_text(item) for item in line.items if abs(item.count) >= 0.0005) or line.source


def item_text(item: LedgerItem) -> str:
    """One count and its price."""
    return f"{small_count(item.count)} {item.what} × {microseconds(item.price_us)}"


def blocks(result: RunResult) -> list[Block]:
    """Of what the extra CPU of each encrypted condition is made; None where the run has no ledger."""
    if not result.of(Ledger):
        return []
    lead = Paragraph(ledger_note(result, label))
    return [lead, *(_table(one, result) for one in result.of(Ledger))]


def _table(ledger: Ledger, result: RunResult) -> PageTable:
    columns = [Column(""), *(Column(title, is_number=True) for title in ("per operation", "95 % HDI", "share"))]
    rows = list(_rows(ledger, amount_cells(ledger)))
    if not told_lines(ledger):
        return PageTable(label(ledger.condition, result.settings), columns[:3], [row[:3] for row in rows])
    return PageTable(label(ledger.condition, result.settings), [*columns, Column("counts × prices")], rows)


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

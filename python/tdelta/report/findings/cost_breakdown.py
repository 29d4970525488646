"""The cost breakdown: the components of the extra CPU of an operation, and how much of the extra time is off CPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from tdelta.document.blocks import Block, Cell, Paragraph, Table, columns
from tdelta.document.quantities import MISSING, microseconds, printable, signed_amount, small_amount, small_count
from tdelta.document.wording import label
from tdelta.records import (
    Amount,
    ComponentKind,
    Condition,
    CostBreakdown,
    CostComponent,
    CostItem,
    FunctionShare,
    RunResult,
    RunSettings,
)
from tdelta.report.findings.profiles import function_name

NAMES = {
    ComponentKind.CIPHER: "cipher",
    ComponentKind.INTEGRITY: "integrity",
    ComponentKind.IO: "extra I/O",
    ComponentKind.RESIDUAL: "residual",
}
"""The names of components in text and page."""

NOT_TIMED = "timed calls"
"""How a reason in `CostBreakdown.unattributed` begins that says why the cipher's component is not timed."""

_COUNTS = "counts × unit costs"
_UNITS = (("s", 1e6), ("ms", 1e3), ("µs", 1.0))

NOTE = (
    "Each component of the extra CPU is a quantity counted in the trials × a unit cost that was measured separately on"
    " this machine, in the code under test. Timed components are what the server's own calls of OpenSSL took, in extra"
    " trials. The residual is what the components do not explain; it can be negative. Off CPU is the extra response"
    " time minus the extra CPU, and minus the time in the run queue where that is known."
)


def blocks(result: RunResult) -> list[Block]:
    """The components of the extra CPU of each encrypted condition; nothing where the run has no breakdown."""
    found = result.of(CostBreakdown)
    if not found:
        return []
    rows: list[Sequence[str | Cell]] = []
    for breakdown in found:
        rows += [(label(breakdown.condition, result.settings),), *_rows(breakdown)]
    titles = columns("per op", "95% interval", "share", _COUNTS, texts=(_COUNTS,))
    if not any(map(shown_components, found)):
        titles, rows = titles[:3], [row[:3] for row in rows]
    table = Table("Components of the extra CPU", titles, rows, name="cost breakdown")
    return [table, Paragraph(cost_note(result, label), "note")]


def _rows(breakdown: CostBreakdown) -> Iterator[tuple[str | Cell, ...]]:
    cells = amount_cells(breakdown)
    yield "extra CPU", *cells(breakdown.cpu), "", ""
    for line in shown_components(breakdown):
        counted = items_text(line)
        source = f"{counted or MISSING} ({line.source})" if line.source and counted != line.source else counted
        yield _below(NAMES[line.kind]), *cells(line.amount), share_text(line), Cell(source or MISSING, brief=counted)
    for difference, what in function_rows(breakdown):
        yield Cell("of it, sampled", brief="    sampled"), difference, "", "", what
    if breakdown.elapsed is not None:
        yield "extra time", *cells(breakdown.elapsed), "", ""
    if breakdown.off_cpu is not None:
        yield _below("off CPU"), *cells(breakdown.off_cpu), "", ""


def _below(name: str) -> Cell:
    return Cell(name, brief=f"  {name}")


def cost_note(result: RunResult, label: Callable[[Condition, RunSettings], str]) -> str:
    """What components are, and which costs have none: with the conditions, where that is not so of all."""
    absent: dict[str, list[CostBreakdown]] = {}
    for breakdown in result.of(CostBreakdown):
        for words in breakdown.unattributed:
            absent.setdefault(words, []).append(breakdown)
    sentences = [NOTE, *filter(None, (where_words(breakdown, result, label) for breakdown in result.of(CostBreakdown)))]
    for words, breakdowns in absent.items():
        what, colon, why = words.partition(": ")
        of = "; ".join(label(breakdown.condition, result.settings) for breakdown in breakdowns)
        where = "" if len(breakdowns) == len(result.of(CostBreakdown)) else f" ({of})"
        begins = "Calls of the cipher were not timed" if what == NOT_TIMED else f"No component for {what}"
        sentences.append(f"{begins}{where}{colon}{why}.")
    return " ".join(sentences)


def shown_components(breakdown: CostBreakdown) -> tuple[CostComponent, ...]:
    """The components; none where all is residual, which would only repeat the total."""
    return breakdown.components if len(breakdown.components) > 1 else ()


def amount_cells(breakdown: CostBreakdown) -> Callable[[Amount], tuple[str, str]]:
    """Format amounts: all in one unit, with as many decimals as leave the largest three significant figures."""
    largest = max(abs(total.us) for total in (breakdown.cpu, breakdown.elapsed) if total is not None)
    unit, size = next((step for step in _UNITS if largest >= step[1]), _UNITS[-1])
    places = max(0, 2 - math.floor(math.log10(max(largest / size, 1e-3))))

    def text(us: float) -> str:
        return f"{round(us / size, places) + 0.0:,.{places}f}".replace("-", "−")

    return lambda amount: (f"{text(amount.us)} {unit}", " … ".join(text(end) for end in amount.hdi95))


def share_text(line: CostComponent) -> str:
    """A component's share of the CPU difference, with its interval where it has one."""
    if line.share is None:
        return MISSING
    middle = f"{_per_cent(line.share)}%"
    if line.share_hdi95 is None:
        return middle
    low, high = line.share_hdi95
    return f"{middle} ({_per_cent(low)} … {_per_cent(high)})"


def _per_cent(share: float) -> str:
    return f"{round(100 * share) + 0:,}".replace("-", "−")


def function_rows(breakdown: CostBreakdown) -> list[tuple[str, str]]:
    """Functions that the residual consists of: the difference, and the name with CPU time plain and encrypted."""
    return [
        (
            signed_amount(one.difference_ns),
            f"{_called(one)}: {small_amount(one.plain_ns)} → {small_amount(one.encrypted_ns)}",
        )
        for one in breakdown.functions
    ]


def _called(one: FunctionShare) -> str:
    return f"{printable(one.function)} in {printable(one.dso)}" if one.function else function_name(one)


def where_words(breakdown: CostBreakdown, result: RunResult, label: Callable[[Condition, RunSettings], str]) -> str:
    """What a large residual consists of, or that this is unknown; empty where the residual is small."""
    of = label(breakdown.condition, result.settings)
    if breakdown.where_unknown:
        return f"What the residual of {of} consists of is unknown: {breakdown.where_unknown}."
    if breakdown.functions:
        return f"The functions under the residual of {of} are those with the largest difference from the plain twin."
    return ""


def items_text(line: CostComponent) -> str:
    """Counts and unit costs: ``4,460 pages decrypted × 1.49 µs``; where there are none, the source."""
    if not line.items:
        return line.source
    if line.is_timed:
        return f"timed: {', '.join(item_text(item) for item in line.items)}"
    return ", ".join(item_text(item) for item in line.items if abs(item.count) >= 0.0005) or line.source


def item_text(item: CostItem) -> str:
    return f"{small_count(item.count)} {item.what} × {microseconds(item.unit_cost_us)}"

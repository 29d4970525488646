"""The cost breakdown: the components of the extra CPU of an operation, and how much of the extra time is off CPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from tdelta import inference
from tdelta.document.blocks import Block, Cell, Paragraph, Table, columns
from tdelta.document.quantities import MISSING, microseconds, printable, signed_amount, small_amount, small_count
from tdelta.document.wording import label
from tdelta.findings.base import FinishedRun, Kind
from tdelta.findings.profiles import function_name
from tdelta.records import Amount, ComponentKind, CostBreakdown, CostComponent, RunResult

_NAMES = {
    ComponentKind.CIPHER: "cipher",
    ComponentKind.INTEGRITY: "integrity",
    ComponentKind.IO: "extra I/O",
    ComponentKind.RESIDUAL: "residual",
}
_NOT_TIMED = "timed calls"
"""How a reason in `CostBreakdown.unattributed` begins that says why the cipher's component is not timed."""

_COUNTS = "counts × unit costs"
_UNITS = (("s", 1e6), ("ms", 1e3), ("µs", 1.0))
_LEAST_COUNT = 0.0005

NOTE = (
    "Each component of the extra CPU is a quantity counted in the trials × a unit cost that was measured separately on"
    " this machine, in the code under test. Timed components are what the server's own calls of OpenSSL took, in extra"
    " trials. The residual is what the components do not explain; it can be negative. Off CPU is the extra response"
    " time minus the extra CPU, and minus the time in the run queue where that is known."
)


def of_run(run: FinishedRun) -> Iterator[CostBreakdown]:
    if run.explained is not None:
        yield from inference.cost_breakdowns(run.trials, run.settings, run.explained)


def blocks(found: Sequence[CostBreakdown], result: RunResult) -> Iterator[Block]:
    """The components of the extra CPU of each encrypted condition."""
    rows: list[Sequence[str | Cell]] = []
    for one in found:
        rows += [(label(one.condition, result.settings),), *_rows(one)]
    titles = columns("per op", "95% interval", "share", _COUNTS, texts=(_COUNTS,))
    if not any(map(_components, found)):
        titles, rows = titles[:3], [row[:3] for row in rows]
    yield Table("Components of the extra CPU", titles, rows, name="cost breakdown")
    yield Paragraph(note(found, result), "note")


def _components(one: CostBreakdown) -> tuple[CostComponent, ...]:
    """The components; none where all is residual, which would only repeat the total."""
    return one.components if len(one.components) > 1 else ()


def _rows(one: CostBreakdown) -> Iterator[tuple[str | Cell, ...]]:
    cells = _formatted(one)
    yield "extra CPU", *cells(one.cpu), "", ""
    for line in _components(one):
        counted = _counted(line)
        source = f"{counted or MISSING} ({line.source})" if line.source and counted != line.source else counted
        name = _NAMES[line.kind]
        yield (
            Cell(name, brief=f"  {name}"),
            *cells(line.amount),
            share_text(line),
            Cell(source or MISSING, brief=counted),
        )
    for function in one.functions:
        called = printable(function.function)
        called = f"{called} in {printable(function.dso)}" if called else function_name(function)
        what = f"{called}: {small_amount(function.plain_ns)} → {small_amount(function.encrypted_ns)}"
        yield Cell("of it, sampled", brief="    sampled"), signed_amount(function.difference_ns), "", "", what
    if one.elapsed is not None:
        yield "extra time", *cells(one.elapsed), "", ""
    if one.off_cpu is not None:
        yield Cell("off CPU", brief="  off CPU"), *cells(one.off_cpu), "", ""


def _formatted(one: CostBreakdown) -> Callable[[Amount], tuple[str, str]]:
    """Format amounts: all in one unit, with as many decimals as leave the largest three significant figures."""
    largest = max(abs(total.us) for total in (one.cpu, one.elapsed) if total is not None)
    unit, size = next((step for step in _UNITS if largest >= step[1]), _UNITS[-1])
    places = max(0, 2 - math.floor(math.log10(max(largest / size, 1e-3))))

    def text(us: float) -> str:
        return f"{round(us / size, places) + 0.0:,.{places}f}".replace("-", "−")

    return lambda amount: (f"{text(amount.us)} {unit}", " to ".join(text(end) for end in amount.hdi95))


def share_text(line: CostComponent) -> str:
    """A component's share of the CPU difference, with its interval where it has one."""
    if line.share is None:
        return MISSING
    middle, *ends = (f"{round(100 * one) + 0:,}".replace("-", "−") for one in (line.share, *(line.share_hdi95 or ())))
    return f"{middle}% ({' to '.join(ends)})" if ends else f"{middle}%"


def _counted(line: CostComponent) -> str:
    """Counts and unit costs: ``4,460 pages decrypted × 1.49 µs``; where there are none, the source."""
    shown = [
        f"{small_count(item.count)} {item.what} × {microseconds(item.unit_cost_us)}"
        for item in line.items
        if line.is_timed or abs(item.count) >= _LEAST_COUNT
    ]
    return f"{'timed: ' if line.is_timed else ''}{', '.join(shown)}" if shown else line.source


def note(found: Sequence[CostBreakdown], result: RunResult) -> str:
    """The meaning of components, and costs that have none: with the conditions, where that is not so of all."""
    sentences = [NOTE]
    absent: dict[str, list[str]] = {}
    for one in found:
        name = label(one.condition, result.settings)
        if one.where_unknown:
            sentences.append(f"The content of the residual of {name} is unknown: {one.where_unknown}.")
        elif one.functions:
            words = "are those with the largest difference from the unencrypted copy"
            sentences.append(f"The functions under the residual of {name} {words}.")
        for reason in one.unattributed:
            absent.setdefault(reason.text, []).append(name)
    for words, names in absent.items():
        what, colon, why = words.partition(": ")
        where = "" if len(names) == len(found) else f" ({'; '.join(names)})"
        begins = "Calls of the cipher were not timed" if what == _NOT_TIMED else f"No component for {what}"
        sentences.append(f"{begins}{where}{colon}{why}.")
    return " ".join(sentences)


KIND = Kind(CostBreakdown, of_run, blocks, "cost-breakdown", "Where the cost goes")

"""The output of ``tdelta cipher-cost``: what encrypting a page costs, and the JSON document."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

from tdelta.document.blocks import Block, Heading, Listing, Medium, Paragraph, Table, columns
from tdelta.document.quantities import MISSING, duration, small_share
from tdelta.measure.cipher_cost import LEVELS, CipherCost, CipherCostCell
from tdelta.report.values import record_values, values_of

CIPHER_COST_SCHEMA = "tdelta.cipher-cost/1"

_DIRECTIONS = ("decrypt", "encrypt", "authenticate")
_FIGURES = 3


def cipher_cost_document(cost: CipherCost) -> dict[str, object]:
    texts = {"cautions": list(map(str, cost.cautions)), "caution_codes": values_of(cost.cautions)}
    return {"schema": CIPHER_COST_SCHEMA, **record_values(cost), **texts}


def cipher_cost_blocks(cost: CipherCost) -> Iterator[Block]:
    """A sentence, a table for each page size, how sure, cautions."""
    levels = tuple(level for level in LEVELS if any(cell.aes_instructions == level for cell in cost.cells))
    yield from (Paragraph(line, "lead") for line in _headline(cost, levels))
    for size in dict.fromkeys(cell.page_bytes for cell in cost.cells):
        title = f"Pages of {_size(size)}: CPU time per page, and 10⁹ bytes per second"
        yield Heading(title, Medium.BOTH)
        yield _table(title, [cell for cell in cost.cells if cell.page_bytes == size], levels)
    yield from (Paragraph(line, "note") for line in _notes(cost, levels))
    yield Listing([("", str(caution)) for caution in cost.cautions], "cautions")


def _table(title: str, cells: Sequence[CipherCostCell], levels: Sequence[str]) -> Table:
    """A row for each cipher, by direction; of both levels of AES instructions how many times as long, too."""
    found = {(cell.direction, cell.task.name, cell.aes_instructions): cell for cell in cells}
    rows: list[tuple[str, ...]] = []
    for direction in _DIRECTIONS:
        names = dict.fromkeys(name for way, name, _ in found if way == direction)
        rows += [(direction,)] if names else []
        rows += [(name, *_figures([found[direction, name, level] for level in levels])) for name in names]
    ratio = ("ratio",) if len(levels) > 1 else ()
    times, speeds = ([f"{level}, {unit}" for level in levels] for unit in ("µs", "GB/s"))
    return Table(title, columns(*times, *ratio, *speeds), rows)


def _figures(cells: Sequence[CipherCostCell]) -> Iterator[str]:
    yield from (_number(cell.us_per_page) for cell in cells)
    if len(cells) > 1:
        on, off = (cell.us_per_page for cell in cells)
        yield f"{off / on:,.1f}" if on else MISSING
    yield from (_number(cell.gigabytes_per_second) for cell in cells)


def _headline(cost: CipherCost, levels: Sequence[str]) -> list[str]:
    """One cell in words: AES-256-CBC decryption of the smallest page, or the first cell there is."""
    first = min(cost.cells, key=lambda cell: (not _is_usual(cell), cell.page_bytes))
    cells = {level: cost.cell(first.task, level) for level in levels}
    where = " ".join(str(word) for word in (cost.machine.get("cpu_model"), "and", cost.library_version) if word)
    task, on, off = first.task, cells.get("on"), cells.get("off")
    times = [
        *([f"{_number(on.us_per_page)} µs with the CPU's AES instructions"] if on else []),
        *([f"{_number(off.us_per_page)} µs without them"] if off else []),
    ]
    ratio = f": {_number(off.us_per_page / on.us_per_page)} times as long" if on and off and on.us_per_page else ""
    return [f"{task.name}, {task.direction}, a page of {_size(task.page_bytes)}: {', '.join(times)}{ratio}.", where]


def _is_usual(cell: CipherCostCell) -> bool:
    return (cell.task.name, cell.direction) == ("aes-256-cbc", "decrypt")


def _notes(cost: CipherCost, levels: Sequence[str]) -> list[str]:
    return [
        *_levels_note(cost, levels),
        f"Each figure is a median over {cost.passes} passes of one batch a cell; {_spread(cost)}",
        f"Pages are in {_size(cost.ring_bytes)} of memory. Disk reads, the cache and the database's own code are not"
        " included: docs/how-it-works.md compares it with a run.",
        f"{duration(cost.elapsed_seconds)} in all, seed {cost.seed}; --json has every figure.",
    ]


def _levels_note(cost: CipherCost, levels: Sequence[str]) -> list[str]:
    if "off" not in levels:
        return []
    slowdown = cost.slowdown_without_instructions
    proof = (
        ""
        if slowdown is None
        else f" That this works is measured: AES-256-CBC decryption takes {_number(slowdown)} times as long."
    )
    return [
        "on: OpenSSL as it finds this CPU. off: AES-NI, PCLMULQDQ, VAES and VPCLMULQDQ, and nothing else, are hidden"
        f" from it.{proof}"
    ]


def _spread(cost: CipherCost) -> str:
    spreads = {cell: _quartile_share(cell) for cell in cost.cells}
    widest = max(cost.cells, key=lambda cell: spreads[cell])
    task = widest.task
    return (
        f"the middle half of a cell's batches spans {small_share(statistics.median(spreads.values()))} of its median"
        f" (at most {small_share(spreads[widest])}: {task.name}, {task.direction}, {_size(task.page_bytes)},"
        f" {widest.aes_instructions})."
    )


def _quartile_share(cell: CipherCostCell) -> float:
    low, high = cell.us_per_page_quartiles
    return (high - low) / cell.us_per_page if cell.us_per_page else math.inf


def _number(value: float) -> str:
    return f"{value:,.{_decimals(value)}f}" if math.isfinite(value) else MISSING


def _decimals(value: float) -> int:
    return max(0, _FIGURES - 1 - math.floor(math.log10(value))) if math.isfinite(value) and value > 0 else 0


def _size(size_bytes: int) -> str:
    for unit, step in (("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes % step == 0:
            return f"{size_bytes // step} {unit}"
    return f"{size_bytes} B"

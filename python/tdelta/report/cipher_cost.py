"""The output of ``tdelta cipher-cost``: a table of µs per page, one of GB/s, and the JSON document."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text

from tdelta.document.quantities import MISSING, duration, small_share
from tdelta.measure.cipher_cost import CipherCost, CipherCostCell
from tdelta.measure.page_tasks import LEVELS
from tdelta.report.drawing import NARROWEST, draw, paragraph
from tdelta.report.values import record_values, values_of

CIPHER_COST_SCHEMA = "tdelta.cipher-cost/1"

_DIRECTIONS = ("decrypt", "encrypt", "authenticate")
_FIGURES = 3
_RATIO_DECIMALS = 1
_BETWEEN_SIZES = "   "
_INDENT = "  "


def cipher_cost_document(cost: CipherCost) -> dict[str, object]:
    texts = {"cautions": list(map(str, cost.cautions)), "caution_codes": values_of(cost.cautions)}
    return {"schema": CIPHER_COST_SCHEMA, **record_values(cost), **texts}


def cipher_cost_text(cost: CipherCost, width: int, *, color: bool = False) -> str:
    """The costs in a terminal or a pipe: a sentence, two tables, how sure, cautions.

    Args:
        width: columns; at least 40 are used. More page sizes than fit go into a table below.
    """
    width = max(NARROWEST, width)
    levels = tuple(level for level in LEVELS if any(cell.aes_instructions == level for cell in cost.cells))
    sections = (
        [text for line in _headline(cost, levels) for text in paragraph(line, width, "bold")],
        _tables(cost, "µs of CPU time per page", width, _time_columns(levels), lambda cell: cell.us_per_page),
        _tables(cost, "GB/s, 10⁹ bytes per second", width, levels, lambda cell: cell.gigabytes_per_second),
        [text for line in _notes(cost, levels) for text in paragraph(line, width, "dim")],
        [text for caution in cost.cautions for text in paragraph(f"- {caution}", width, "yellow", indent=_INDENT)],
    )
    return draw([part for section in sections if section for part in (*section, Text())][:-1], width, color=color)


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


def _time_columns(levels: Sequence[str]) -> tuple[str, ...]:
    return (*levels, "ratio") if len(levels) == len(LEVELS) else tuple(levels)


@dataclass(frozen=True, slots=True)
class _Block:
    """The columns of one page size: a heading over its columns, and a cell of text for each row and column."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def widths(self) -> tuple[int, ...]:
        return tuple(
            max(len(title), *(len(row[index]) for row in self.rows)) for index, title in enumerate(self.columns)
        )

    @property
    def width(self) -> int:
        return max(sum(self.widths) + len(self.columns) - 1, len(self.heading))

    def line(self, cells: Sequence[str]) -> str:
        return " ".join(f"{cell:>{width}}" for cell, width in zip(cells, self.widths, strict=True)).rjust(self.width)


def _tables(
    cost: CipherCost, title: str, width: int, columns: tuple[str, ...], value: Callable[[CipherCostCell], float]
) -> list[Text]:
    """A table, or several below each other where the page sizes do not fit side by side."""
    tasks = list(dict.fromkeys(cell.task for cell in cost.cells))
    rows = list(dict.fromkeys((task.name, task.direction) for task in tasks))
    values = {
        ((cell.task.name, cell.direction, cell.page_bytes), cell.aes_instructions): value(cell) for cell in cost.cells
    }
    blocks = [_block(size, columns, rows, values) for size in dict.fromkeys(task.page_bytes for task in tasks)]
    label_width = max(len(_INDENT) + max(len(name) for name, _ in rows), *(len(way) for way in _DIRECTIONS))
    lines: list[Text] = [Text(title, style="bold")]
    for number, chunk in enumerate(_chunks(blocks, width - label_width)):
        lines += [Text()] if number else []
        lines += [*_headings(chunk, label_width), *_body(chunk, rows, label_width)]
    return lines


def _block(
    size_bytes: int,
    columns: tuple[str, ...],
    rows: Sequence[tuple[str, str]],
    values: Mapping[tuple[tuple[str, str, int], str], float],
) -> _Block:
    """The columns of one page size, each with as many decimals as its smallest figure needs, so that points line up."""
    texts = []
    for column in columns:
        figures = [_figure(values, (*row, size_bytes), column) for row in rows]
        places = _RATIO_DECIMALS if column == "ratio" else _decimals(min(figures))
        texts.append([f"{figure:,.{places}f}" if math.isfinite(figure) else MISSING for figure in figures])
    return _Block(_size(size_bytes), columns, tuple(zip(*texts, strict=True)))


def _figure(values: Mapping[tuple[tuple[str, str, int], str], float], task: tuple[str, str, int], column: str) -> float:
    if column != "ratio":
        return values[task, column]
    on, off = values[task, "on"], values[task, "off"]
    return off / on if on else math.nan


def _chunks(blocks: Sequence[_Block], width: int) -> Iterable[Sequence[_Block]]:
    widest = max(block.width for block in blocks) + len(_BETWEEN_SIZES)
    fitting = max(1, width // widest)
    groups = math.ceil(len(blocks) / fitting)
    step = math.ceil(len(blocks) / groups)
    return [blocks[start : start + step] for start in range(0, len(blocks), step)]


def _headings(blocks: Sequence[_Block], label_width: int) -> list[Text]:
    sizes = "".join(f"{_BETWEEN_SIZES}{block.heading:>{block.width}}" for block in blocks)
    columns = "".join(f"{_BETWEEN_SIZES}{block.line(block.columns)}" for block in blocks)
    has_columns = any(len(block.columns) > 1 for block in blocks)
    return [Text(" " * label_width + line, style="dim") for line in (sizes, columns)[: 1 + has_columns]]


def _body(blocks: Sequence[_Block], rows: Sequence[tuple[str, str]], label_width: int) -> list[Text]:
    lines = []
    for direction in _DIRECTIONS:
        mine = [index for index, (_, way) in enumerate(rows) if way == direction]
        lines += [Text(direction)] if mine else []
        for index in mine:
            label = f"{_INDENT}{rows[index][0]}"
            figures = "".join(f"{_BETWEEN_SIZES}{block.line(block.rows[index])}" for block in blocks)
            lines.append(Text(f"{label:<{label_width}}{figures}"))
    return lines


def _notes(cost: CipherCost, levels: Sequence[str]) -> list[str]:
    return [
        *_levels_note(cost, levels),
        f"Each figure is a median over {cost.passes} passes of one batch a cell; {_spread(cost)}",
        f"Pages lie in {_size(cost.ring_bytes)} of memory. Reading the disk, the cache and the database's own code"
        " are not in here: docs/how-it-works.md compares it with a run.",
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

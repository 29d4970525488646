"""The measured cost of a page beside what its cipher alone takes."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from tdelta.records import PageCost, RunResult
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.labels import condition_label
from tdelta.report.page.blocks import Block, Paragraph
from tdelta.report.page.figures.page_costs import page_cost_table, page_costs
from tdelta.report.quantities import MISSING, microseconds


def text(result: RunResult, width: int) -> list[Text | Table]:
    """The measured cost of a page beside what its cipher alone takes."""
    if not result.of(PageCost):
        return []
    headings = (("cost of a page", False), ("pages per op", True), ("extra CPU", True), ("95 % HDI", True))
    table = plain_table((*headings, ("cipher alone", True)))
    for cost in result.of(PageCost):
        table.add_row(condition_label(cost.condition, result.settings), *_page_cells(cost))
    alone = dict.fromkeys(cost.cipher_measured for cost in result.of(PageCost) if cost.cipher_us_per_page is not None)
    note = "Extra CPU time for each page read or written, beyond the plain twins'."
    note += f" The cipher alone, measured on this machine: {'; '.join(alone)}." if alone else ""
    return [table, Text(), *paragraph(note, width, "dim")]


def _page_cells(cost: PageCost) -> tuple[str, ...]:
    pages = f"{cost.pages_per_operation:.3g}"
    alone = MISSING if cost.cipher_us_per_page is None else microseconds(cost.cipher_us_per_page)
    if cost.cpu_us_per_page is None or cost.hdi95 is None:
        return pages, MISSING, MISSING, alone
    low, high = (microseconds(end) for end in cost.hdi95)
    return pages, microseconds(cost.cpu_us_per_page), f"{low.removesuffix(' µs')} … {high}", alone


def blocks(result: RunResult) -> Iterator[Block]:
    """A figure, or where hardly a page moved the table alone."""
    if not result.of(PageCost):
        return
    figure = page_costs(result.of(PageCost), result.settings)
    if figure is not None:
        yield figure
    else:
        yield Paragraph("Hardly a page moved between cache and file, so a cost for each cannot be told.", "note")
        yield page_cost_table(result.of(PageCost), result.settings)

"""What a page of encrypted data cost beyond plain, beside what its cipher alone costs on this CPU.

An interval for what was measured, an open diamond for the floor. The distance between the two is everything that is not
the cipher itself: copies, checks, allocation, lost cache lines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from tdelta.records import PageCost, RunSettings
from tdelta.report.page.blocks import WIDTH, Column, Figure, Table
from tdelta.report.page.plot import (
    Frame,
    Scale,
    bottom_axis,
    circle,
    diamond,
    drawing,
    line,
    plain_ticks,
    scale_over,
    text,
    vertical_line,
    wrapped,
)
from tdelta.report.page.wording import label
from tdelta.report.quantities import MISSING, microseconds

_ROW = 40.0
_LABEL = 190.0
_FOOT = 48.0
_LINE = 16.0


def page_costs(costs: Sequence[PageCost], settings: RunSettings) -> Figure | None:
    """The figure of all conditions that moved pages; None where none has a cost."""
    shown = [cost for cost in costs if cost.cpu_us_per_page is not None and math.isfinite(cost.cpu_us_per_page)]
    if not shown:
        return None
    title = "What a page cost, and what its cipher alone costs"
    description = "; ".join(_words(cost, settings) for cost in shown) + "."
    drawn = _layout(shown, settings, title, description)
    caption = (
        "Circle and bar: extra CPU time for each page read or written, beyond the plain twins', posterior median"
        " and 95 % HDI. Diamond: what the cipher alone takes for such a page on this machine, measured in a loop of"
        " its own."
    )
    return Figure("page-costs", title, drawn, caption, page_cost_table(costs, settings))


def page_cost_table(costs: Sequence[PageCost], settings: RunSettings) -> Table:
    """All page costs, those that hardly moved a page with a dash."""
    titles = ("pages per operation", "extra CPU per page", "95 % HDI", "cipher alone", "the floor is of")
    rows = [(label(cost.condition, settings), *_cells(cost)) for cost in costs]
    columns = [Column(""), *(Column(title, is_number=title != titles[-1]) for title in titles)]
    return Table("Numbers: cost of a page", columns, rows, folded=True)


def _cells(cost: PageCost) -> tuple[str, ...]:
    floor = MISSING if cost.cipher_us_per_page is None else microseconds(cost.cipher_us_per_page)
    if cost.cpu_us_per_page is None:
        return f"{cost.pages_per_operation:.3g}", "hardly a page moved", MISSING, floor, cost.cipher_measured
    hdi = MISSING if cost.hdi95 is None else f"{microseconds(cost.hdi95[0])} … {microseconds(cost.hdi95[1])}"
    return f"{cost.pages_per_operation:.3g}", microseconds(cost.cpu_us_per_page), hdi, floor, cost.cipher_measured


def _values(costs: Sequence[PageCost]) -> list[float]:
    values = [0.0]
    for cost in costs:
        values += [cost.cpu_us_per_page or 0.0, *(cost.hdi95 or ()), cost.cipher_us_per_page or 0.0]
    return values


def _layout(costs: Sequence[PageCost], settings: RunSettings, title: str, description: str) -> Markup:
    frame = Frame(_LABEL, 6.0, WIDTH - 20, 6.0 + _ROW * len(costs))
    scale = scale_over(_values(costs), frame.left, frame.right, margin=0.03)
    ticks = plain_ticks(scale.low, scale.high, 6, "µs")
    marks = bottom_axis(frame, scale, ticks, "extra CPU time per page", width=WIDTH)
    marks.append(vertical_line(frame, scale(0.0), "zero"))
    for at, cost in enumerate(costs):
        middle = frame.top + _ROW * (at + 0.5)
        marks += _names(cost, settings, middle)
        marks += _marks(cost, scale, middle)
    return drawing(WIDTH, frame.bottom + _FOOT, title, description, marks, name="page-costs")


def _names(cost: PageCost, settings: RunSettings, middle: float) -> list[Markup]:
    lines = wrapped(label(cost.condition, settings), _LABEL - 14)
    first = middle + 4.5 - _LINE * (len(lines) - 1) / 2
    return [text(0.0, first + _LINE * n, words, "label") for n, words in enumerate(lines)]


def _marks(cost: PageCost, scale: Scale, y: float) -> list[Markup]:
    marks = []
    if cost.hdi95 is not None:
        marks.append(line(scale(cost.hdi95[0]), y, scale(cost.hdi95[1]), y, "hdi95"))
    if cost.cpu_us_per_page is not None:
        marks.append(circle(scale(cost.cpu_us_per_page), y, 4.8, "dot"))
    if cost.cipher_us_per_page is not None:
        marks.append(diamond(scale(cost.cipher_us_per_page), y, 6.0, "truth"))
    return marks


def _words(cost: PageCost, settings: RunSettings) -> str:
    floor = (
        "floor unknown"
        if cost.cipher_us_per_page is None
        else f"the cipher alone {microseconds(cost.cipher_us_per_page)}"
    )
    return f"{label(cost.condition, settings)}: {microseconds(cost.cpu_us_per_page or 0.0)} per page, {floor}"

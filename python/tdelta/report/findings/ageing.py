"""Age: the ratio against how long instances had been at work."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from tdelta.records import Ageing, Role, RunResult
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.labels import condition_label
from tdelta.report.page.blocks import Block, Column, Paragraph
from tdelta.report.page.blocks import Table as PageTable
from tdelta.report.page.wording import label
from tdelta.report.quantities import duration, interval, percent

_NOTE = (
    "What a typical block costs over the plain twins' at the end of a round, over the same at its start; the interval"
    " holds how instances differ. Nothing is decided on it."
)
_TITLES = ("at work for", "change", "95 % HDI, %")


def text(result: RunResult, width: int) -> list[Text | Table]:
    """A row for each condition, identical twins included; nothing where rounds are few or short."""
    if not result.of(Ageing):
        return []
    table = plain_table((("change with age", False), *((title, True) for title in _TITLES)))
    for one in result.of(Ageing):
        table.add_row(condition_label(one.condition, result.settings), *_cells(one))
    return [table, Text(), *paragraph(_NOTE, width, "dim")]


def blocks(result: RunResult) -> list[Block]:
    """The same for the page, and the ratio by age."""
    found = result.of(Ageing)
    if not found:
        return []
    rows = [(label(one.condition, result.settings), f"{one.rounds}", f"{one.blocks}", *_cells(one)) for one in found]
    numbers = (*(Column(title, is_number=True) for title in ("rounds", "blocks", *_TITLES)),)
    ages = [duration(one.seconds) for one in found[0].bins]
    by_age = [
        (label(one.condition, result.settings), *(percent(one_bin.ratio) for one_bin in one.bins)) for one in found
    ]
    return [
        Paragraph(_lead(found)),
        PageTable("How the ratio changed with age", [Column(""), *numbers], rows),
        PageTable("Over plain, by age", [Column(""), *(Column(f"to {age}", is_number=True) for age in ages)], by_age),
        Paragraph(_NOTE, "note"),
    ]


def _lead(found: tuple[Ageing, ...]) -> str:
    judged = [one for one in found if one.condition.role is not Role.AA]
    apart = [one for one in judged if not one.hdi95[0] <= 1.0 <= one.hdi95[1]]
    if not apart:
        return "Nothing shows that what encryption costs changes with age."
    return "What encryption costs changed while the instances were at work."


def _cells(one: Ageing) -> tuple[str, str, str]:
    return duration(one.seconds), percent(one.change), interval(one.hdi95)

"""Idle servers: CPU time and writes of servers that run without any work."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from tdelta.records import IdleMeasure, RunResult
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.labels import condition_label
from tdelta.report.page.blocks import Block, Column, Paragraph
from tdelta.report.page.blocks import Table as PageTable
from tdelta.report.page.wording import label
from tdelta.report.quantities import amounts, duration

_NOTE = (
    "Each server ran alone and without a load after the blocks of a round: medians over the rounds, the CPU time"
    " between its quartiles. It is in no other figure, since servers are frozen between their trials, and nothing is"
    " decided on it."
)
_TITLES = ("CPU, s per hour", "quartiles", "written per second", "rounds")
_HOUR = 3600.0


def text(result: RunResult, width: int) -> list[Text | Table]:
    """A row for each condition; nothing where no server was looked at."""
    found = result.of(IdleMeasure)
    if not found:
        return []
    table = plain_table((("server without work", False), *((title, True) for title in _TITLES)))
    for one in found:
        table.add_row(condition_label(one.condition, result.settings), *_cells(one))
    return [table, Text(), *paragraph(_note(found[0]), width, "dim")]


def blocks(result: RunResult) -> list[Block]:
    """The same for the page."""
    found = result.of(IdleMeasure)
    if not found:
        return []
    columns = [Column(""), *(Column(title, is_number=True) for title in _TITLES)]
    rows = [(label(one.condition, result.settings), *_cells(one)) for one in found]
    return [PageTable("Servers without work", columns, rows), Paragraph(_note(found[0]), "note")]


def _note(one: IdleMeasure) -> str:
    return f"{_NOTE} A look took {duration(one.seconds)}."


def _cells(one: IdleMeasure) -> tuple[str, ...]:
    cpu, written = one.cpu_share, one.written_bytes_per_second
    low, median, high = (f"{share * _HOUR:,.1f}" for share in (cpu.low, cpu.median, cpu.high))
    return median, f"{low} … {high}", amounts((written.median,), "bytes")[0], f"{one.rounds}"

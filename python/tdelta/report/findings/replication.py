"""Replicas: how fast they apply, how far they are after a load, what they take, and what commits wait for them."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from tdelta.records import Estimate, ReplicationMeasure, RunResult, Typical
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.labels import condition_label
from tdelta.report.page.blocks import Block, Column, Paragraph
from tdelta.report.page.blocks import Table as PageTable
from tdelta.report.page.wording import label
from tdelta.report.quantities import MISSING, amounts, ratio_cells
from tdelta.report.sentence import limits

_NOTE = (
    "Medians over the trials, per operation of the load where nothing else is said. Where the replica is stopped beside"
    " the load, applies is how many operations per second it applies once it has all of their log: a load above that"
    " leaves it behind. Elsewhere lag is how long it took after the load until all was applied. CPU is the replica's,"
    " until it is at rest. Over plain is the ratio of means of the time to apply, or of the lag, in the same blocks,"
    " from sixteen blocks on; nothing is decided on it. Both servers are on one machine and share its CPUs and disks."
)
_TITLES = ("response", "load", "applies", "lag", "over plain", "95 % HDI", "CPU", "over plain", "95 % HDI")
_IN_TERMINAL = (0, 1, 2, 3, 4, 6, 7)


def text(result: RunResult, width: int) -> list[Text | Table]:
    """The table with its note; nothing where no server has a replica."""
    found = result.of(ReplicationMeasure)
    if not found:
        return []
    table = plain_table((("replicas", False), *((_TITLES[at], True) for at in _IN_TERMINAL)))
    table.padding = (0, 1, 0, 0)
    for one in found:
        cells = _cells(one, result)
        table.add_row(condition_label(one.condition, result.settings), *(cells[at] for at in _IN_TERMINAL))
    return [table, Text(), *paragraph(_NOTE, width, "dim")]


def blocks(result: RunResult) -> list[Block]:
    """The same for the page, with intervals, and how much log there was."""
    found = result.of(ReplicationMeasure)
    if not found:
        return []
    columns = [Column(""), *(Column(title, is_number=True) for title in _TITLES)]
    rows = [(label(one.condition, result.settings), *_cells(one, result)) for one in found]
    logs = [
        (label(one.condition, result.settings), _bytes(one.log_bytes), _bytes(one.lag_bytes), f"{one.unconfirmed:,}")
        for one in found
    ]
    titles = ("log per operation", "not applied when the load ended", "commits that did not wait")
    return [
        PageTable("Replicas", columns, rows),
        PageTable("The log", [Column(""), *(Column(title, is_number=True) for title in titles)], logs),
        Paragraph(_NOTE, "note"),
    ]


def _cells(one: ReplicationMeasure, result: RunResult) -> tuple[str, ...]:
    return (
        _time(one.response_seconds),
        _rate(one.load_rate),
        _rate(one.apply_rate),
        _time(one.lag_seconds),
        *_ratio(one.time_ratio, result),
        _time(one.cpu_seconds),
        *_ratio(one.cpu_ratio, result),
    )


def _time(of: Typical | None) -> str:
    return MISSING if of is None else amounts((1e6 * of.median,), "µs")[0]


def _rate(of: Typical | None) -> str:
    return MISSING if of is None else f"{of.median:,.0f}/s"


def _bytes(of: Typical | None) -> str:
    return MISSING if of is None else amounts((of.median,), "bytes")[0]


def _ratio(ratio: Estimate | None, result: RunResult) -> tuple[str, str]:
    return (MISSING, MISSING) if ratio is None else ratio_cells(ratio, limits(result.settings))

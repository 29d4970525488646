"""Replicas: how fast they apply, how far they are after a load, what they take, and what commits wait for them."""

from __future__ import annotations

from tdelta.document.blocks import Block, Column, Medium, Paragraph, Table, columns
from tdelta.document.effect import limits
from tdelta.document.quantities import MISSING, amounts, ratio_cells
from tdelta.document.wording import label
from tdelta.records import Estimate, ReplicationMeasure, RunResult, Typical

_NOTE = (
    "Medians over the trials, per operation of the load where nothing else is said. Where the replica is stopped beside"
    " the load, applies is how many operations per second it applies once it has all of their log: a load above that"
    " leaves it behind. Elsewhere lag is how long it took after the load until all was applied. CPU is the replica's,"
    " until it is at rest. Over plain is the ratio of means of the time to apply, or of the lag, in the same blocks,"
    " from sixteen blocks on; nothing is decided on it. Both servers are on one machine and share its CPUs and disks."
)
_TITLES = ("response", "load", "applies", "lag", "over plain", "95% interval", "CPU", "over plain", "95% interval")
_PAGE_ALONE = (5, 8)


def blocks(result: RunResult) -> list[Block]:
    """A row for each condition; on the page with intervals, and how much log there was."""
    found = result.of(ReplicationMeasure)
    if not found:
        return []
    titles = [Column(title, is_number=True, is_brief=at not in _PAGE_ALONE) for at, title in enumerate(_TITLES)]
    rows = [(label(one.condition, result.settings), *_cells(one, result)) for one in found]
    logs = [
        (label(one.condition, result.settings), _bytes(one.log_bytes), _bytes(one.lag_bytes), f"{one.unconfirmed:,}")
        for one in found
    ]
    of_logs = columns("log per operation", "not applied when the load ended", "commits that did not wait")
    return [
        Table("Replicas", [Column(""), *titles], rows, name="replicas"),
        Table("The log", of_logs, logs, medium=Medium.PAGE),
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

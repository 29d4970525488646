"""Tails on the page: a table for each figure, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator

from tdelta.records import RunResult
from tdelta.report.page.blocks import Block, Column, Heading, Listing, Paragraph, Table
from tdelta.report.tails import TailGroup, tail_groups, tail_notes

_FOLDED_FROM = 3


def tail_blocks(result: RunResult) -> Iterator[Block]:
    """How often the threshold was exceeded and the 99th percentiles; nothing where the run has neither."""
    groups = tail_groups(result)
    if not groups:
        return
    yield Heading("Tails over the plain twins'")
    yield from (Paragraph(note) for note in tail_notes(result))
    mix = sum(group.is_mix for group in groups)
    for number, group in enumerate(groups):
        yield _table(group, folded=number >= mix and len(groups) - mix >= _FOLDED_FROM)
    reasons = [("", f"{r.label}, {g.title}: {r.reason}.") for g in groups for r in g.rows if r.reason]
    if reasons:
        yield Listing(reasons)


def _table(group: TailGroup, *, folded: bool) -> Table:
    titles = ("baseline", "twin", "ratio", "95 % interval")
    columns = [Column(""), *(Column(title, is_number=True) for title in titles)]
    rows = [(row.label, row.baseline, row.condition, row.ratio, row.interval) for row in group.rows]
    return Table(group.title, columns, rows, folded=folded)

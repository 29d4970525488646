"""Tails on the page: a table for each figure, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator

from tdelta.records import RunResult
from tdelta.report.page.blocks import Block, Column, Heading, Listing, Paragraph, Table
from tdelta.report.tails import TailGroup, reason_lines, tail_groups, tail_notes

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
        yield tail_table(group, ("baseline", "twin"), folded=number >= mix and len(groups) - mix >= _FOLDED_FROM)
    reasons = [("", reason) for reason in reason_lines(groups)]
    if reasons:
        yield Listing(reasons)


def tail_table(group: TailGroup, sides: tuple[str, str], *, folded: bool = False) -> Table:
    """The rows of a figure; ``sides`` are the headings of both sides' figures."""
    columns = [Column(""), *(Column(title, is_number=True) for title in (*sides, "ratio", "95 % interval"))]
    rows = [(row.label, row.baseline, row.condition, row.ratio, row.interval) for row in group.rows]
    return Table(group.title, columns, rows, folded=folded)

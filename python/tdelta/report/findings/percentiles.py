"""Percentiles of the mix that every run has: on the page here, in the terminal as rows of the table of costs."""

from __future__ import annotations

from collections.abc import Iterator

from tdelta.records import Percentile, RunResult
from tdelta.report.page.blocks import Block, Column, Table
from tdelta.report.page.wording import label
from tdelta.report.quantities import amounts, percent


def blocks(result: RunResult) -> Iterator[Block]:
    """A row for each condition and percentile; nothing where a run has none."""
    found = result.of(Percentile)
    if not found:
        return
    columns = [Column(""), *(Column(title, is_number=True) for title in ("percentile", "plain", "twin", "change"))]
    rows = []
    for one in found:
        sides = amounts((one.baseline_ns / 1e3, one.condition_ns / 1e3), "µs")
        rows.append((label(one.condition, result.settings), f"p{100 * one.quantile:g}", *sides, percent(one.quotient)))
    yield Table("Percentiles of the mix's response times, for orientation: without intervals", columns, rows)

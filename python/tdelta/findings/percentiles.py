"""Percentiles of the mix that every run has; in a terminal they are rows of the table of costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tdelta import inference
from tdelta.document.blocks import Block, Medium, Table, columns
from tdelta.document.quantities import amounts, percent
from tdelta.document.wording import label
from tdelta.findings.base import FinishedRun, Kind
from tdelta.records import Percentile, RunResult


def of_run(run: FinishedRun) -> Sequence[Percentile]:
    return inference.mix_percentiles(run.trials, run.settings, run.read_trials)


def blocks(found: Sequence[Percentile], result: RunResult) -> Iterator[Block]:
    rows = []
    for one in found:
        sides = amounts((one.baseline_ns / 1e3, one.condition_ns / 1e3), "µs")
        rows.append((label(one.condition, result.settings), f"p{100 * one.quantile:g}", *sides, percent(one.quotient)))
    caption = "Percentiles of the mix's response times, for orientation: without intervals"
    yield Table(caption, columns("percentile", "plain", "twin", "change"), rows, medium=Medium.PAGE)


KIND = Kind(Percentile, of_run, blocks, "latency")

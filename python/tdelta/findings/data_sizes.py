"""How large the data of each kind of twin is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tdelta.document.blocks import Block, Medium, Table, columns
from tdelta.document.quantities import amounts
from tdelta.document.wording import label
from tdelta.findings.base import FinishedRun, Kind
from tdelta.records import Condition, Finding, RunResult


@dataclass(frozen=True, slots=True)
class DataSize(Finding):
    """How large one kind of twin's data was when it had been loaded and nothing else done to it: as the engine counts.

    ``condition`` is the first of those whose twins are copies of it.
    """

    FINDING = "data_sizes"

    condition: Condition
    size_bytes: int


def of_run(run: FinishedRun) -> Iterator[DataSize]:
    known = run.data_bytes
    yield from (DataSize(c, known[c.key]) for c in run.settings.conditions if c.key in known)


def blocks(found: Sequence[DataSize], result: RunResult) -> Iterator[Block]:
    """A row for each kind of twin, where there are several."""
    if len(found) > 1:
        sizes = amounts([one.size_bytes for one in found], "bytes")
        rows = [(label(one.condition, result.settings), size) for one, size in zip(found, sizes, strict=True)]
        caption = "Data when it had been loaded, as the engine counts it"
        yield Table(caption, columns("size"), rows, medium=Medium.PAGE)


KIND = Kind(DataSize, of_run, blocks, "resources")

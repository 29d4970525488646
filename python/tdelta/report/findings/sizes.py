from __future__ import annotations

from tdelta.records import DataSize, RunResult
from tdelta.report.page.blocks import Block, Column, Table
from tdelta.report.page.wording import label
from tdelta.report.quantities import amounts


def blocks(result: RunResult) -> list[Block]:
    """A row for each kind of twin; nothing where there is one kind, or none is known."""
    found = result.of(DataSize)
    if len(found) < 2:
        return []
    sizes = amounts([one.size_bytes for one in found], "bytes")
    rows = [(label(one.condition, result.settings), size) for one, size in zip(found, sizes, strict=True)]
    return [
        Table(
            "Data when it had been loaded, as the engine counts it", [Column(""), Column("size", is_number=True)], rows
        )
    ]

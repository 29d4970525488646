"""``[size]`` of ``workload.toml``, held against the rows that the same file asks for.

A run takes its scale from these two numbers and announces disk and time by them: one that is far too small would have
it make rows without end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tdelta.messages import Refusal
from tdelta.workloads import distributions, limits
from tdelta.workloads.faults import shown
from tdelta.workloads.files import FolderFiles
from tdelta.workloads.model import Table

_ROW_BYTES = 3
"""The least that SQLite's file format adds to a row: its pointer, its length and its header's (section 1.6)."""
_FREE_BYTES = 1 << 20
"""What need not be in ``fixed_bytes``: it changes no plan."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of a table: so many for a unit of scale, so many at any scale."""

    per_scale: float
    fixed: float


def read_size(files: FolderFiles, document: Mapping[str, object], tables: Sequence[Table]) -> tuple[int, int]:
    """Bytes a unit of scale and fixed bytes, of ``[size]``; faults where they, or the rows, cannot be."""
    size = document.get("size")
    if not isinstance(size, dict):
        files.fault(Refusal.of("size-missing"), "size")
        return 1, 0
    files.unknown_keys(size, ("bytes_per_scale", "fixed_bytes"), "size")
    per_scale, fixed = size.get("bytes_per_scale"), size.get("fixed_bytes", 0)
    if type(per_scale) is not int or not 0 < per_scale <= limits.MOST_BYTES:
        wanted = f"a whole number above 0 and of at most {limits.MOST_BYTES}"
        files.fault(
            Refusal.of("out-of-range", what="bytes_per_scale", wanted=wanted, found=shown(per_scale)),
            "size",
            "bytes_per_scale",
        )
        per_scale = 1
    if type(fixed) is not int or not 0 <= fixed <= limits.MOST_BYTES:
        wanted = f"a whole number of at least 0 and at most {limits.MOST_BYTES}"
        files.fault(
            Refusal.of("out-of-range", what="fixed_bytes", wanted=wanted, found=shown(fixed)), "size", "fixed_bytes"
        )
        fixed = 0
    if not files.faults:
        _hold_against_rows(files, tables, per_scale, fixed)
    return per_scale, fixed


def _hold_against_rows(files: FolderFiles, tables: Sequence[Table], per_scale: int, fixed: int) -> None:
    """Faults where the rows alone take more than the size says, or are too many or too long."""
    counted = _counted(tables)
    for table in tables:
        rows, longest = counted[table.name], _row_bytes(table, longest=True)
        if max(rows.per_scale, rows.fixed) > limits.MOST_ROWS:
            files.fault(Refusal.of("too-many", what="rows at scale 1", most=limits.MOST_ROWS), "tables", table.name)
        if longest > limits.LONGEST_ROW_BYTES:
            said = Refusal.of("too-large", what="a row", most=f"{limits.LONGEST_ROW_BYTES} bytes")
            files.fault(said, "tables", table.name)
    least_per_scale = sum(counted[table.name].per_scale * _row_bytes(table) for table in tables)
    least_fixed = sum(counted[table.name].fixed * _row_bytes(table) for table in tables)
    if per_scale < least_per_scale:
        files.fault(_too_small("bytes_per_scale", least_per_scale, per_scale), "size", "bytes_per_scale")
    if max(fixed, _FREE_BYTES) < least_fixed:
        files.fault(_too_small("fixed_bytes", least_fixed, fixed), "size", "fixed_bytes")


def _too_small(key: str, least: float, found: int) -> Refusal:
    return Refusal.of("size-too-small", key=key, least=least, found=found)


def _counted(tables: Iterable[Table]) -> dict[str, _Rows]:
    counted: dict[str, _Rows] = {}
    for table in tables:
        if table.rows_per is not None:
            parent, each = table.rows_per
            counted[table.name] = _Rows(counted[parent].per_scale * each, counted[parent].fixed * each)
        else:
            counted[table.name] = _Rows(table.rows_per_scale or 0.0, table.fixed_rows or 0)
    return counted


def _row_bytes(table: Table, *, longest: bool = False) -> float:
    """The least that a row takes on average in a file of SQLite, or the most that its texts can."""
    return _ROW_BYTES + sum(
        1
        + (1.0 if longest else 1.0 - column.null_share)
        * distributions.text_bytes(column.distribution, column.parameters, longest)
        for column in table.columns
    )

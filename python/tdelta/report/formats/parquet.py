"""Parquet, by pyarrow: the verdicts of an answer, or the trials of a run, as the columns that CSV has.

pyarrow is the extra ``tdelta[parquet]``. All rows are held in memory at once, unlike in the other formats.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tdelta.errors import EnvironmentFault
from tdelta.messages import Refusal
from tdelta.report.formats.answered import Answered
from tdelta.report.formats.rows import Cell, verdict_rows
from tdelta.store import Store
from tdelta.store.export import Destination, columns, opened_bytes


def answer(answered: Answered) -> bytes:
    """The verdicts, one row each.

    Raises:
        EnvironmentFault: pyarrow is not installed.
    """
    rows = verdict_rows(answered)
    return parquet({name: [row[name] for row in rows] for name in (rows[0] if rows else ())})


def write_trials(store: Store, run_id: str, destination: Destination) -> None:
    """The trials, one row each.

    Raises:
        UnknownName: the store has no such run.
        StorageFault: the file cannot be written.
        EnvironmentFault: pyarrow is not installed.
    """
    made = parquet(columns(store, run_id))
    if isinstance(destination, Path):
        with opened_bytes(destination) as out:
            out.write(made)
    else:
        destination.flush()
        destination.buffer.write(made)


def parquet(values: Mapping[str, Sequence[Cell]]) -> bytes:
    """Columns of equal length as a Parquet file.

    Raises:
        EnvironmentFault: pyarrow is not installed.
    """
    arrow, writing = _pyarrow()
    table = arrow.table({name: arrow.array(_of_one_type(cells)) for name, cells in values.items()})
    out = io.BytesIO()
    writing.write_table(table, out)
    return out.getvalue()


def _pyarrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise EnvironmentFault(Refusal.of("library-missing", library="pyarrow", extra="parquet", fault=error)) from None


def _of_one_type(cells: Sequence[Cell]) -> list[Cell]:
    """A Parquet column has one type: whole numbers beside fractions become fractions, numbers beside words words."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if len(kinds) <= 1:
        return list(cells)
    to = float if kinds == {int, float} else str
    return [None if cell is None else to(cell) for cell in cells]

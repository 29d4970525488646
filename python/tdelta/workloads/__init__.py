r"""Workloads as data: a folder says which tables there are, how rows are drawn, and what transactions do.

A folder holds ``workload.toml`` (tables, distributions, weights), ``schema.sql`` (generic SQL) and, per transaction, a
script ``NAME.sql`` in pgbench's language. :func:`load` reads a built-in folder by name or a user's by path, and reports
every fault of it at once. Nothing here runs a workload or makes its rows: Rust does, from :meth:`Workload.plan` and
:meth:`Workload.scripts`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tdelta.errors import UnknownName

if TYPE_CHECKING:
    from tdelta.workloads.dialect import Dialect
    from tdelta.workloads.model import Column, Table, Transaction, Workload
else:
    from tdelta.lazily import lazy_getattr

    # The parser of SQL is slow to import, and an engine's profile needs no more than `tdelta.workloads.dialect`.
    __getattr__ = lazy_getattr(__name__, model=("Column", "Table", "Transaction", "Workload"))


BUILT_IN: tuple[str, ...] = (
    "order-entry",
    "read-only",
    "point-select",
    "scan",
    "insert",
    "connect",
    "warehouse",
    "dml-trace",
    "spill",
)
"""The names of the workloads that come with tdelta."""


def load(name_or_path: str | os.PathLike[str], dialects: Mapping[str, Dialect]) -> Workload:
    """Reads a workload.

    Args:
        name_or_path: a name in :data:`BUILT_IN`, or the path of a folder (with a ``/`` in it, or one that exists).
        dialects: each engine's, by its name.

    Raises:
        UnknownName: neither a built-in name nor a folder.
        WorkloadError: the folder has faults; all of them are named, each with file and line.
    """
    from tdelta.workloads.folder import read_folder  # not earlier: see above

    text = os.fspath(name_or_path)
    if text in BUILT_IN:
        return read_folder(Path(__file__).parent / text.replace("-", "_"), dialects)
    path = Path(text)
    if not isinstance(name_or_path, str) or os.sep in text or path.is_dir():
        return read_folder(path, dialects)
    raise UnknownName("workload", text, BUILT_IN)

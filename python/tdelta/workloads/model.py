"""A workload: tables and how their values are drawn, transactions and how often each runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tdelta.workloads.dialect import Dialect
from tdelta.workloads.scan import without_last_comments
from tdelta.workloads.schema import Schema


@dataclass(frozen=True, slots=True)
class Column:
    """A column: the distribution of its values with its parameters, and the share of values that are NULL."""

    name: str
    distribution: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    null_share: float = 0.0


@dataclass(frozen=True, slots=True)
class Table:
    """A table, its columns in the order of ``workload.toml``.

    Exactly one of ``fixed_rows`` (whatever the scale), ``rows_per_scale`` (rows a unit of scale) and ``rows_per`` (the
    parent table and the rows for each of its rows) is set. ``primary_key`` is as ``schema.sql`` says.
    """

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    fixed_rows: int | None = None
    rows_per_scale: float | None = None
    rows_per: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transaction type: its share of the mix is ``weight`` over the sum of weights.

    ``writes``: it changes rows. ``connects``: it opens its connection anew.
    """

    name: str
    title: str
    weight: float
    text: str
    writes: bool
    connects: bool = False


@dataclass(frozen=True, slots=True)
class KeyTable:
    """A table of sampled keys that tdelta makes in each copy of a user's database, for scripts to draw rows by.

    It is called ``tdelta_key_NAME`` and holds keys of ``table``, see `tdelta.workloads.keys`.
    """

    name: str
    table: str


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload that has passed every check. Made by :func:`tdelta.workloads.load`.

    ``bytes_per_scale`` and ``fixed_bytes`` say how large a plain file of SQLite of scale s is, indexes included:
    ``fixed_bytes + s * bytes_per_scale``. A workload on a user's database has no ``tables`` and no size of its own, but
    may have ``keys``. ``rebuilds`` are statements that rebuild the tables, by engine, in its own words; ``routines``
    those that make a stored routine, and last the one that calls it. ``spills``: its transactions are to write
    temporary files, and a run checks that they did.
    """

    name: str
    version: int
    title: str
    description: str
    tables: tuple[Table, ...]
    transactions: tuple[Transaction, ...]
    bytes_per_scale: int
    fixed_bytes: int
    schemas: Mapping[str, Schema] = field(default_factory=dict, repr=False)
    keys: tuple[KeyTable, ...] = ()
    rebuilds: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    routines: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    spills: bool = False

    @property
    def connects(self) -> bool:
        return any(transaction.connects for transaction in self.transactions)

    def rows(self, scale: float) -> dict[str, int]:
        """Rows of each table at a scale, in load order. A scaled table has at least one row."""
        counts: dict[str, int] = {}
        for table in self.tables:
            if table.rows_per is not None:
                parent, each = table.rows_per
                counts[table.name] = counts[parent] * each
            elif table.fixed_rows is not None:
                counts[table.name] = table.fixed_rows
            else:
                counts[table.name] = max(1, round((table.rows_per_scale or 0.0) * scale))
        return counts

    def scale_for(self, size_bytes: float) -> float:
        """The scale at which a plain file of SQLite takes about ``size_bytes``; a hundredth of a unit at least."""
        return max(0.01, (size_bytes - self.fixed_bytes) / self.bytes_per_scale)

    def size_at(self, scale: float) -> int:
        """About how many bytes a plain file of SQLite of this scale takes."""
        return round(self.fixed_bytes + self.bytes_per_scale * scale)

    def plan(self, scale: float) -> dict[str, object]:
        """The data plan for the row generator at a scale above 0: JSON values only, tables in load order."""
        if not scale > 0:
            raise ValueError(f"scale must be above 0, found {scale}")
        counts = self.rows(scale)
        return {
            "tables": [
                {
                    "name": table.name,
                    "rows": counts[table.name],
                    "columns": [_column_plan(table, column) for column in table.columns],
                }
                for table in self.tables
            ]
        }

    def scripts(self) -> dict[str, dict[str, object]]:
        """Each transaction's ``weight``, script ``text`` and whether it ``writes``, by name, as JSON values."""
        return {
            t.name: {"weight": t.weight, "text": without_last_comments(t.text), "writes": t.writes}
            for t in self.transactions
        }

    @property
    def most_spans(self) -> int:
        """At most so many transactions and statements have response times: semicolons end all but a script's last."""
        return sum(2 + t.text.count(";") for t in self.transactions)

    def tables_sql(self, dialect: Dialect) -> tuple[str, ...]:
        """The statements to run before the load: tables with their primary keys."""
        return self._schema(dialect).tables

    def indexes_sql(self, dialect: Dialect) -> tuple[str, ...]:
        """The statements to run after the load: building an index once is faster and packs it tightly."""
        return self._schema(dialect).indexes

    def _schema(self, dialect: Dialect) -> Schema:
        return self.schemas.get(dialect.name) or self.schemas[""].into(dialect)


def _column_plan(table: Table, column: Column) -> dict[str, object]:
    plan: dict[str, object] = {"name": column.name, "distribution": column.distribution, **column.parameters}
    if table.rows_per is not None and column.distribution in ("parent", "line"):
        parent, each = table.rows_per
        plan |= {"table": parent, "fanout": each} if column.distribution == "parent" else {"fanout": each}
    if column.null_share:
        plan["null_share"] = column.null_share
    return plan

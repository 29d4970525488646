"""Reads what is in a copy of a user's database: the values of `tdelta.workloads.database`, by SQL that answers JSON.

Everything is asked of the library under test. What a virtual table holds belongs to its module and is not described.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from tdelta.engines.embedded.sql import literal
from tdelta.workloads.database import (
    ColumnSample,
    Database,
    DatabaseColumn,
    DatabaseIndex,
    DatabaseTable,
    IndexColumn,
    quoted,
)
from tdelta.workloads.proposal import biggest, rangeable, updatable

Query = Callable[[str], str]
"""Runs one statement: the first value of its first row, as text; empty for NULL."""

_SAMPLED_ROWS = 1000
_VIRTUAL, _STORED = 2, 3
_OBJECTS = (
    "SELECT json_group_array(json_object('name', name, 'type', type, 'wr', wr)) FROM pragma_table_list"
    " WHERE schema = 'main' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
)
_NAMES = "SELECT json_group_array(lower(name)) FROM sqlite_schema"
_COLUMNS = (
    "SELECT json_group_array(json_object('name', name, 'pk', pk, 'hidden', hidden)) FROM pragma_table_xinfo({table})"
)
_INDEXES = (
    "SELECT json_group_array(json_object('name', l.name, 'unique', l.\"unique\", 'origin', l.origin,"
    " 'partial', l.partial, 'columns', json((SELECT json_group_array(json_object('cid', x.cid, 'name', x.name,"
    " 'collation', x.coll)) FROM pragma_index_xinfo(l.name) AS x WHERE x.key = 1))))"
    " FROM pragma_index_list({table}) AS l"
)
_FOREIGN_KEYS = 'SELECT json_group_array("from") FROM pragma_foreign_key_list({table})'
_MOMENT = re.compile(
    r"\bcurrent_(?:time|date|timestamp)\b"
    r"|\b(?:date|time|datetime|julianday|unixepoch|strftime|timediff|random|randomblob|uuid)\s*\(",
    re.IGNORECASE,
)
_SIZES = "SELECT json_group_object(name, pgsize) FROM dbstat WHERE aggregate = 1"


def virtual_tables(query: Query) -> tuple[str, ...]:
    return tuple(found["name"] for found in json.loads(query(_OBJECTS)) if found["type"] == "virtual")


def describe(query: Query) -> Database:
    objects = json.loads(query(_OBJECTS))
    ordinary = sorted((found for found in objects if found["type"] == "table"), key=lambda found: str(found["name"]))
    sizes = _sizes(query)
    tables = [_table(query, found["name"], is_without_rowid=bool(found["wr"]), sizes=sizes) for found in ordinary]
    database = Database(
        tables=tuple(tables),
        names=frozenset(json.loads(query(_NAMES))),
        virtual_tables=tuple(found["name"] for found in objects if found["type"] == "virtual"),
    )
    return _with_samples(query, database)


def reads_clock_or_random(query: Query) -> bool:
    """Whether the schema has words by which a trigger or a default may read the clock or draw by chance."""
    return _MOMENT.search(query("SELECT group_concat(sql, char(10)) FROM sqlite_schema")) is not None


def bounded(query: Query, table: DatabaseTable) -> DatabaseTable:
    number = quoted(table.integer_key) if table.integer_key is not None else "NULL"
    declared = [quoted(name) for name in table.declared_key]
    present = " AND ".join(f"{name} IS NOT NULL" for name in declared) or "TRUE"
    name = quoted(table.name)
    counts = (
        f"(SELECT count(*) FROM {name})",
        f"(SELECT count(*) FROM {name} WHERE {present})",
        f"(SELECT min({number}) FROM {name})",
        f"(SELECT max({number}) FROM {name})",
    )
    rows, keyed_rows, lowest, highest = json.loads(query(f"SELECT json_array({', '.join(counts)})"))
    return dataclasses.replace(table, rows=rows, keyed_rows=keyed_rows, lowest=lowest, highest=highest)


def _table(query: Query, name: str, *, is_without_rowid: bool, sizes: dict[str, int] | None) -> DatabaseTable:
    text = literal(name)
    bare = DatabaseTable(
        name=name,
        rows=0,
        size_bytes=0,
        columns=tuple(_column(found) for found in json.loads(query(_COLUMNS.format(table=text)))),
        indexes=tuple(_index(found) for found in json.loads(query(_INDEXES.format(table=text)))),
        foreign_key_columns=frozenset(json.loads(query(_FOREIGN_KEYS.format(table=text)))),
        is_without_rowid=is_without_rowid,
    )
    table = _renumbered(bounded(query, bare))
    size = sizes.get(name, 0) if sizes is not None else _estimated_bytes(query, table)
    return dataclasses.replace(table, size_bytes=size)


def _renumbered(table: DatabaseTable) -> DatabaseTable:
    """As the table will be after VACUUM, which numbers rows anew where no column and no index has their numbers."""
    if table.is_without_rowid or table.row_number_column is not None or table.indexes or not table.rows:
        return table
    return dataclasses.replace(table, lowest=1, highest=table.rows)


def _column(found: dict[str, Any]) -> DatabaseColumn:
    hidden = found["hidden"]
    return DatabaseColumn(found["name"], found["pk"], hidden == _VIRTUAL, hidden in (_VIRTUAL, _STORED))


def _index(found: dict[str, Any]) -> DatabaseIndex:
    columns = tuple(
        IndexColumn(column["name"] if column["cid"] >= 0 else None, column["collation"]) for column in found["columns"]
    )
    return DatabaseIndex(
        name=found["name"],
        columns=columns,
        is_unique=bool(found["unique"]),
        is_partial=bool(found["partial"]),
        is_of_key=found["origin"] == "pk",
    )


def _sizes(query: Query) -> dict[str, int] | None:
    """Bytes of each table by the library's own count; None where the library was built without it."""
    has_count = query("SELECT count(*) FROM pragma_module_list WHERE name = 'dbstat'") == "1"
    return dict(json.loads(query(_SIZES))) if has_count else None


def _estimated_bytes(query: Query, table: DatabaseTable) -> int:
    """Rows times the mean length of a sample of them."""
    lengths = " + ".join(f"coalesce(length(CAST({quoted(name)} AS BLOB)), 0) + 1" for name in table.stored_columns)
    rows = f"(SELECT * FROM {quoted(table.name)} LIMIT {_SAMPLED_ROWS})"
    return round(float(query(f"SELECT coalesce(avg({lengths}), 0.0) FROM {rows}")) * table.rows)


def _with_samples(query: Query, database: Database) -> Database:
    """Sample the columns that a proposal could update, and those that its ranges could follow."""
    sampled = {
        table.name: dataclasses.replace(table, samples=_samples(query, table), indexes=_spread(query, table))
        for table in biggest(database)
    }
    return dataclasses.replace(database, tables=tuple(sampled.get(table.name, table) for table in database.tables))


def _spread(query: Query, table: DatabaseTable) -> tuple[DatabaseIndex, ...]:
    """The indexes, those that ranges could follow with the number of different values in a sample."""
    indexes = rangeable(table)
    columns = tuple(dict.fromkeys(index.columns[0].name or "" for index in indexes))
    if not columns:
        return table.indexes
    counts = ", ".join(f"count(DISTINCT {quoted(name)})" for name in columns)
    found = json.loads(query(f"SELECT json_array({counts}) FROM {_sample(table, columns)}"))
    distinct = dict(zip(columns, found, strict=True))
    spread = {i.name: dataclasses.replace(i, distinct=distinct[i.columns[0].name or ""]) for i in indexes}
    return tuple(spread.get(index.name, index) for index in table.indexes)


def _samples(query: Query, table: DatabaseTable) -> tuple[ColumnSample, ...]:
    columns = updatable(table)
    if not columns:
        return ()
    counts = " || ',' || ".join(_counts(quoted(name)) for name in columns)
    found = json.loads(query(f"SELECT '[' || {counts} || ']' FROM {_sample(table, columns)}"))
    return tuple(ColumnSample(name, *counted) for name, counted in zip(columns, found, strict=True))


def _sample(table: DatabaseTable, columns: Iterable[str]) -> str:
    """Up to 1000 rows, evenly over the table, since its first rows may be of another age than its last."""
    listed = ", ".join(quoted(name) for name in columns)
    stride = max(1, -(-table.rows // _SAMPLED_ROWS))
    place = quoted("\x01place")  # a name that no column has
    rows = f"SELECT {listed}, row_number() OVER () AS {place} FROM {quoted(table.name)}"
    return f"({rows}) WHERE {place} % {stride} = 0"


def _counts(column: str) -> str:
    turned = f"substr({column}, 2) || substr({column}, 1, 1)"
    sums: Iterable[str] = (
        f"typeof({column}) = 'integer'",
        f"typeof({column}) = 'real' AND {column} <> 0",
        f"typeof({column}) = 'text'",
        f"typeof({column}) = 'text' AND {column} COLLATE BINARY <> {turned}",
        f"CASE typeof({column}) WHEN 'text' THEN length({column}) END",
    )
    return f"json_array(count(*), {', '.join(f'coalesce(sum({test}), 0)' for test in sums)})"

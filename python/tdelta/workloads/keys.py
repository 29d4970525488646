"""Tables of sampled keys, by which scripts draw rows that numbers cannot name: sparse, textual, composite keys.

``tdelta_key_NAME(n INTEGER PRIMARY KEY, k1, k2, …)`` holds up to 10,000 keys of one table, evenly spread over their
order, numbered from 1. The same statements make it in every copy, so every twin has the same rows in it.
"""

from __future__ import annotations

from collections.abc import Iterable

from tdelta.workloads.database import Database, DatabaseTable, TableKey
from tdelta.workloads.dialect import Dialect
from tdelta.workloads.model import KeyTable

MOST_KEYS = 10_000
"""The most keys of one table that are sampled; of a longer table they name a part, evenly spread."""

PREFIX = "tdelta_key_"  # what the names of key tables begin with


def key_table_name(name: str) -> str:
    return f"{PREFIX}{name}"


def key_count(table: DatabaseTable) -> int:
    return -(-_keys(table) // _stride(table)) if _keys(table) else 0


def key_columns(key: TableKey) -> tuple[str, ...]:
    """The columns of a key table beside ``n``: ``k1``, ``k2``, … in the order of the key."""
    return tuple(f"k{place}" for place in range(1, len(key.columns) + 1))


def key_sql(wanted: KeyTable, database: Database, dialect: Dialect) -> tuple[str, ...]:
    """The statements that make a key table. Raises `ValueError`: there is no such table, or it has no key."""
    table = database.table(wanted.table)
    if table is None or table.key is None:
        raise ValueError(f"{wanted.table} has no keys to sample")
    quoted = dialect.quoted
    made, listed = quoted(key_table_name(wanted.name)), ", ".join(key_columns(table.key))
    ordered = ", ".join(quoted(name) for name in table.key.names)
    named = ", ".join(
        f"{quoted(name)} AS {column}" for name, column in zip(table.key.names, key_columns(table.key), strict=True)
    )
    present = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in table.key.names)
    numbered = (
        f"SELECT {named}, row_number() OVER (ORDER BY {ordered}) AS place FROM {quoted(table.name)} WHERE {present}"
    )
    taken = f"(place - 1) % {_stride(table)} = 0"
    if dialect.has_types:
        return (
            f"CREATE TABLE {made} AS SELECT row_number() OVER (ORDER BY place) AS n, {listed}"
            f" FROM ({numbered}) AS numbered WHERE {taken}",
            f"ALTER TABLE {made} ADD PRIMARY KEY (n)",
        )
    return (
        f"CREATE TABLE {made} (n INTEGER PRIMARY KEY, {listed})",
        f"INSERT INTO {made} ({listed}) SELECT {listed} FROM ({numbered}) WHERE {taken} ORDER BY place",
    )


def key_variables(keys: Iterable[KeyTable], database: Database) -> dict[str, int]:
    """The variable ``keys_NAME`` of each key table: how many keys it holds."""
    found = {}
    for wanted in keys:
        table = database.table(wanted.table)
        found[f"keys_{wanted.name}"] = 0 if table is None else key_count(table)
    return found


def _keys(table: DatabaseTable) -> int:
    return table.rows if table.key is not None and table.key.is_integer else table.keyed_rows


def _stride(table: DatabaseTable) -> int:
    return max(1, -(-_keys(table) // MOST_KEYS))

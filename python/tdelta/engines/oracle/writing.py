"""Transactions as Oracle takes them, and loads by python-oracledb's direct path."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_LIMIT = re.compile(r"\bLIMIT\s+(\d+)", re.IGNORECASE)
_TABLE_ALIAS = re.compile(r"\b((?:FROM|JOIN)\s+\w+)\s+AS\s+(?=\w)", re.IGNORECASE)
_DERIVED = re.compile(r"\b(?:FROM|JOIN)\s*\(", re.IGNORECASE)
_ALIAS = re.compile(r"\s+AS\s+(?=\w)", re.IGNORECASE)
_INSERT = re.compile(r"INSERT INTO (?P<table>\w+) \((?P<columns>[^)]*)\) VALUES ")

_ROWS_AT_ONCE = 20_000
"""A direct path load writes new blocks above all that there are: many small ones would leave many half empty."""


def written(text: str) -> str:
    """A transaction's script: ``LIMIT`` in Oracle's words, and tables named without ``AS``, which it does not take."""
    text = _TABLE_ALIAS.sub(r"\1 ", _LIMIT.sub(r"FETCH FIRST \1 ROWS ONLY", text))
    for found in reversed([*_DERIVED.finditer(text)]):
        end = _closing(text, found.end())
        if (alias := _ALIAS.match(text, end)) is not None:
            text = f"{text[:end]} {text[alias.end() :]}"
    return text


def _closing(text: str, start: int) -> int:
    """Where the parenthesis ends that was opened before ``start``."""
    depth = 1
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return len(text)


class DirectPath:
    """A cursor whose ``executemany`` loads rows by the direct path, many at once, and the rest as the load commits.

    Args:
        cursor: the driver's, whose session works in tdelta's schema.
    """

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor
        self._target: tuple[str, tuple[str, ...]] | None = None
        self._rows: list[tuple[Any, ...]] = []
        self._schema = ""

    def executemany(self, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep the rows of an insert for the next load, or have them loaded."""
        found = _INSERT.match(sql)
        if found is None:
            self._cursor.executemany(sql, rows)
            return
        target = found["table"], tuple(name.strip() for name in found["columns"].split(","))
        if target != self._target:
            self._flush()
            self._target = target
        self._rows += (tuple(row.values()) for row in rows)
        if len(self._rows) >= _ROWS_AT_ONCE:
            self._flush()

    @property
    def connection(self) -> DirectPath:
        """This: it is committed and rolled back as the driver's connection is."""
        return self

    def commit(self) -> None:
        """Load what is left; a direct path load is committed by itself."""
        self._flush()
        self._cursor.connection.commit()

    def rollback(self) -> None:
        """Forget what was not loaded yet."""
        self._rows.clear()
        self._cursor.connection.rollback()

    def close(self) -> None:
        """Close the connection."""
        self._cursor.connection.close()

    def __getattr__(self, name: str) -> Any:
        """All else is the driver's."""
        return getattr(self._cursor, name)

    def _flush(self) -> None:
        if self._target is None or not self._rows:
            return
        if not self._schema:
            self._cursor.execute("SELECT SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA') FROM dual")
            self._schema = str(self._cursor.fetchall()[0][0])
        table, columns = self._target
        self._cursor.connection.direct_path_load(
            self._schema, table.upper(), [name.upper() for name in columns], self._rows
        )
        self._rows = []


def fetching(cursor: Any, rows: int) -> None:
    """Have a cursor fetch so many rows in every round trip, the first one included."""
    cursor.arraysize = rows
    cursor.prefetchrows = rows

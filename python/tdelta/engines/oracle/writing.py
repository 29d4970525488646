"""Transactions as Oracle takes them, and loads by python-oracledb's direct path."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tdelta.engines.server.dbapi import LoadsAside

_LIMIT = re.compile(r"\bLIMIT\s+(\d+)", re.IGNORECASE)
_TABLE_ALIAS = re.compile(r"\b((?:FROM|JOIN)\s+\w+)\s+AS\s+(?=\w)", re.IGNORECASE)
_DERIVED = re.compile(r"\b(?:FROM|JOIN)\s*\(", re.IGNORECASE)
_ALIAS = re.compile(r"\s+AS\s+(?=\w)", re.IGNORECASE)


def written(text: str) -> str:
    """A transaction's script: ``LIMIT`` in Oracle's words, and tables named without ``AS``, which it does not take."""
    text = _TABLE_ALIAS.sub(r"\1 ", _LIMIT.sub(r"FETCH FIRST \1 ROWS ONLY", text))
    for found in reversed([*_DERIVED.finditer(text)]):
        end = _closing(text, found.end())
        if (alias := _ALIAS.match(text, end)) is not None:
            text = f"{text[:end]} {text[alias.end() :]}"
    return text


def _closing(text: str, start: int) -> int:
    depth = 1
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return len(text)


class DirectPath(LoadsAside):
    def __init__(self, cursor: Any) -> None:
        super().__init__(cursor)
        self._schema = ""

    def load(self, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        """Rows as sequences, names as the catalog has them."""
        if not self._schema:
            self._cursor.execute("SELECT SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA') FROM dual")
            self._schema = str(self._cursor.fetchall()[0][0])
        named = [name.upper() for name in columns]
        self._cursor.connection.direct_path_load(self._schema, table.upper(), named, rows)


def fetching(cursor: Any, rows: int) -> None:
    """Have a cursor fetch so many rows in every round trip, the first one included."""
    cursor.arraysize = rows
    cursor.prefetchrows = rows

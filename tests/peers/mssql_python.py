"""mssql-python as far as tdelta uses it, on a synthetic conversation; see `replaying`."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import replaying

_WORDS = {
    "table": "Base table or view not found; Invalid object name",
    "constraint": "Integrity constraint violation; Violation of PRIMARY KEY constraint",
    "gone": "Communication link failure",
    "slow": "Timeout error; [Microsoft][ODBC Driver 18 for SQL Server]Query timeout expired",
    "transaction": "Syntax error or access violation",
}


class Error(Exception):
    """As the driver raises: words alone."""


def _error(kind: str, words: str) -> Error:
    return Error(f"Driver Error: {_WORDS[kind]}; DDBC Error: {words}")


_PEER = replaying.Peer("sqlserver", "tsql", _error)


class ConnectionStringParseError(Exception):
    """As the driver raises: it is none of its ``Error``."""


class Connection(replaying.Connection):
    timeout = 0

    def cursor(self) -> Cursor:
        return Cursor(self)


class Cursor(replaying.Cursor):
    """Its limit of time is the connection's as it was made."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.limit_seconds = connection.timeout
        self._later: Any = None

    def execute(self, sql: str, parameters: Any = ()) -> None:
        self._later = None
        super().execute(sql, parameters)

    def setinputsizes(self, _sizes: Sequence[tuple[int, int, int]]) -> None:
        """As the driver's."""

    def nextset(self) -> bool:
        later, self._later = self._later, None
        self._told(None, ())
        if later is None:
            return False
        assert later()
        return True

    def _is_carried_out(self, entry: Any, found: re.Match[str], text: str) -> bool:
        carry_out = partial(super()._is_carried_out, entry, found, text)
        if not entry.get("later"):
            return carry_out()
        self._later = carry_out
        self._told(None, ())
        return True

    def _work(self, text: str, parameters: Any) -> None:
        """``BEGIN`` alone is the begin of a block, which has an end."""
        here = self.connection
        if text == "BEGIN" or (text in ("COMMIT", "ROLLBACK") and not here.is_begun):
            raise here.peer.errors("transaction", f"Incorrect syntax, or no corresponding BEGIN TRANSACTION: {text}")
        match text:
            case "BEGIN TRANSACTION":
                here.is_begun = True
            case "COMMIT":
                here.commit()
            case "ROLLBACK":
                here.rollback()
            case _:
                super()._work(text, parameters)

    def bulkcopy(
        self,
        table: str,
        rows: Iterable[Any],
        batch_size: int = 0,
        *,
        timeout: int,
        column_mappings: Sequence[str],
        table_lock: bool,
    ) -> None:
        """On a connection of its own: what another one has not committed keeps it waiting."""
        assert (timeout, table_lock) == (0, True)
        here, marks = self.connection, ", ".join("?" for _ in column_mappings)
        with contextlib.closing(here.opened(f"tables-{here.schema}")) as own:
            own.execute("BEGIN")
            own.executemany(f"INSERT INTO {table} ({', '.join(column_mappings)}) VALUES ({marks})", rows)
            own.execute("COMMIT")
        here.notes.execute("INSERT INTO ran (session, sql) VALUES (?, ?)", (here.id, f"bulk copy into {table}"))


def pooling(*, enabled: bool) -> None:
    """As the driver's."""


def connect(text: str, *, autocommit: bool, timeout: int) -> Connection:
    assert timeout > 0
    found = re.search(r"Server=\{([^,]+),\d+\};Database=\{(\w+)\}", text)
    assert found is not None
    if "Pwd={}" in text:
        raise ConnectionStringParseError("Empty value for keyword 'pwd'")
    opened = Connection(_PEER, found[1], found[2])
    opened.autocommit = autocommit
    return opened

"""Loads past a server's SQL: rows of inserts are kept, and many are handed at once to what the driver has for that."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

_INSERT = re.compile(r'INSERT INTO "?(?P<table>\w+)"? \((?P<columns>[^)]*)\) VALUES ')

_ROWS_AT_ONCE = 20_000
"""Such a load writes new blocks or extents above all that there are: many small ones would leave many half empty."""


class LoadsAside(ABC):
    """A cursor whose ``executemany`` loads rows past SQL, many at once, and the rest as the load commits."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor
        self._target: tuple[str, tuple[str, ...]] | None = None
        self._rows: list[tuple[Any, ...]] = []

    @abstractmethod
    def load(self, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        """Load and commit rows."""

    def executemany(self, sql: str, rows: Sequence[Mapping[str, Any] | Sequence[Any]]) -> None:
        """Keep the rows of an insert for the next load, or have them loaded."""
        found = _INSERT.match(sql)
        if found is None:
            self._cursor.executemany(sql, rows)
            return
        target = found["table"], tuple(name.strip(' "') for name in found["columns"].split(","))
        if target != self._target:
            self._flush()
            self._target = target
        self._rows += (tuple(row.values() if isinstance(row, Mapping) else row) for row in rows)
        if len(self._rows) >= _ROWS_AT_ONCE:
            self._flush()

    @property
    def connection(self) -> LoadsAside:
        """This: it is committed and rolled back as the driver's connection is."""
        return self

    def commit(self) -> None:
        """Load what is left; such a load is committed by itself."""
        self._flush()
        self._cursor.connection.commit()

    def rollback(self) -> None:
        """Forget what was not loaded yet."""
        self._rows.clear()
        self._cursor.connection.rollback()

    def close(self) -> None:
        self._cursor.connection.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)

    def _flush(self) -> None:
        if self._target is not None and self._rows:
            self.load(*self._target, self._rows)
            self._rows = []

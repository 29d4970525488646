"""Loads by mssql-python's bulk copy.

https://learn.microsoft.com/en-us/sql/connect/python/mssql-python/bulk-copy
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tdelta.engines.shared.driven.aside import LoadsAside


class BulkCopy(LoadsAside):
    """A cursor that loads by bulk copy, which has a connection of its own.

    The table is locked as a whole, which a minimally logged load takes, and there is no limit of time.
    """

    def load(self, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        """What this connection did is committed first: the other one would wait for it."""
        self._cursor.connection.commit()
        self._cursor.bulkcopy(table, rows, timeout=0, column_mappings=list(columns), table_lock=True)

"""DuckDB behind the load loop in Python: statements by its DB-API, every row fetched."""

from __future__ import annotations

import contextlib

from tdelta.driver.duckdb.database import Connection
from tdelta.driver.scripted.clients import ClientError
from tdelta.driver.scripted.evaluating import Value, Variables
from tdelta.driver.scripted.programs import Kind, Statement


def mark(number: int) -> str:
    """How DuckDB writes the N-th parameter, which may come more than once."""
    return f"${number}"


class DuckdbClient:
    """One connection; see `tdelta.driver.scripted.clients.Client`.

    The DB-API has no prepared statement: each execution is parsed and planned, as it is for whoever uses DuckDB so.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._is_open = False

    def execute(self, statement: Statement, variables: Variables) -> int:
        """Run one statement to its end."""
        if statement.kind is Kind.CONNECT:
            raise ClientError("script", r"\connect: DuckDB runs within the process, which connects to nothing")
        values = [variables[name] for name in statement.names]
        if statement.kind is Kind.BOUNDARY:
            self._connection.run(statement.sql)
            self._is_open = not self._is_open
            return 0
        rows = self._connection.fetch(statement.sql, values)
        if statement.into is not None:
            if not rows:
                raise ClientError("no_row", f"\\gset got no row of: {statement.sql}")
            variables.update({name: _value(found) for name, found in zip(statement.into, rows[0], strict=True)})
        return len(rows) if statement.kind is Kind.QUERY else 0

    def abandon(self) -> None:
        """Leave an open transaction; after a conflict DuckDB may have left it already."""
        if self._is_open:
            self._is_open = False
            with contextlib.suppress(ClientError):
                self._connection.run("ROLLBACK")


def _value(found: object) -> Value:
    """A fetched value as scripts have them; a decimal number becomes a double."""
    if found is None or isinstance(found, int | float | str | bytes):
        return found
    try:
        return float(str(found))
    except ValueError:
        return str(found)

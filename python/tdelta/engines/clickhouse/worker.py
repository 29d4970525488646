"""What runs in a worker process of ClickHouse: one twin, with its driver under the load loop.

Started as ``python -m tdelta.engines.clickhouse.worker PARENT_PID`` (see `tdelta.driver.worker_protocol`).
"""

from __future__ import annotations

from typing import Any

from tdelta.driver.dbapi import ClientError, explained, loop_cost
from tdelta.driver.hosting import NoTwin, TwinHost
from tdelta.driver.worker_protocol import Reply, Request, serve
from tdelta.engines.clickhouse.database import STYLE, Database, definition, reading_sql
from tdelta.engines.clickhouse.engine import quoted
from tdelta.engines.clickhouse.proof import page_costs
from tdelta.engines.shared.generated_rows import write_files
from tdelta.measure.usage import spent

PROGRAM = "tdelta.engines.clickhouse.worker"


class ClickhouseHost(TwinHost):
    """The state of one worker: its database and, of the load's connections, its twin."""

    def __init__(self) -> None:
        super().__init__()
        self._database: Database | None = None

    def refused(self, error: Exception) -> list[str] | None:
        """What ClickHouse said, or the system of a file, as well."""
        return list(explained(error)[:2]) if isinstance(error, (ClientError, OSError)) else super().refused(error)

    def do_write_rows(self, request: Request) -> Reply:
        """Make the rows of every table and write them into a file that ClickHouse reads. Says how large these are."""
        return dict(write_files(request["plan"], request["seed"], request["files"]))

    def do_open(self, request: Request) -> Reply:
        """Open (or make) the twin, with so many connections for the load."""
        self.do_close({})
        self._database = Database(request["options"])
        if connections := request.get("connections", 0):
            self.twin = self._database.load_twin(connections)
        return {"library": f"ClickHouse {self._database.text('SELECT version()')}"}

    def do_digest(self, request: Request) -> Reply:
        """Rows and checksum of the files of rows, before any table has them; empty tables say which types to read."""
        database, sums = self._open(), {}
        database.run(*map(definition, request["tables_sql"]))
        for table, columns in request["tables"]:
            of_bytes = request["hexadecimal"].get(table, ())
            source = reading_sql(request["files"][table], columns, database.types(table), of_bytes)
            sums[table] = database.digest(f"({source})", columns)
        return sums

    def do_load(self, request: Request) -> Reply:
        """Make the tables and fill them out of their files."""
        self._open().run(*map(definition, request["tables_sql"]))
        self._open().fill(request)
        return {}

    def do_facts(self, request: Request) -> Reply:
        """The first value of each query, by name."""
        return {name: self._open().text(sql) for name, sql in request["queries"].items()}

    def do_cipher(self, _request: Request) -> Reply:
        """What ClickHouse says of the disk's encryption."""
        return dict(self._open().cipher())

    def do_checksums(self, request: Request) -> Reply:
        """Row counts and order-independent checksums of tables."""
        return {table: self._open().digest(quoted(table), columns) for table, columns in request["tables"]}

    def do_trial(self, request: Request) -> Reply:
        """Run one trial; in a cold one nothing of the twin is in any cache before each operation."""
        return super().do_trial({**request, "trial": request["trial"] | {"cold": request.get("is_cold", False)}})

    def do_step(self, request: Request) -> Reply:
        """Make all rows anew out of their files, or rebuild what there is by some statements; says what that took."""
        database = self._open()

        def step() -> None:
            if request["load"] is not None:
                self.do_load(request["load"])
            database.run(*request["statements"])

        database.run(*(f"{sql} SYNC" for sql in request["before"]))
        return {**spent(step), "files": database.file_sizes()}

    def do_loop_cost(self, request: Request) -> Reply:
        """Run the transactions on a client that does nothing; scripts may fail on the rows it makes up."""
        return loop_cost({**STYLE, "parameters": "named"}, "clickhouse", request, Unconnected)  # what sqlglot can read

    def do_run(self, request: Request) -> Reply:
        """Run statements."""
        self._open().run(*request["statements"])
        return {}

    def do_prove(self, _request: Request) -> Reply:
        """Time a page cipher."""
        return page_costs(self._open())

    def do_price(self, request: Request) -> Reply:
        """Time the bytes of tables of its own, in a database that is empty."""
        from tdelta.engines.clickhouse.block_prices import block_prices  # not earlier: few workers are asked

        return {"passes": block_prices(self._open(), request["repeats"], request["least_seconds"])}

    def do_close(self, request: Request) -> Reply:
        """Close the twin."""
        super().do_close(request)
        if self._database is not None:
            self._database.close()
            self._database = None
        return {}

    def _open(self) -> Database:
        if self._database is None:
            raise NoTwin
        return self._database


class Unconnected:
    """A cursor that does nothing, with transactions that end by methods."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor
        self.connection = self
        self.execute, self.fetchall = cursor.execute, cursor.fetchall

    @property
    def description(self) -> Any:
        """The columns of the last statement."""
        return self._cursor.description

    def commit(self) -> None:
        """Nothing."""

    def rollback(self) -> None:
        """Nothing."""


if __name__ == "__main__":
    serve(ClickhouseHost())

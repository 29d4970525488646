"""What runs in a worker process of Turso: one twin, with its driver under the load loop.

Started as ``python -m tdelta.engines.turso.worker PARENT_PID`` (see `tdelta.driver.worker_protocol`).
"""

from __future__ import annotations

import contextlib

from tdelta.driver.dbapi import ClientError, explained, loop_cost
from tdelta.driver.hosting import NoTwin
from tdelta.driver.worker import Host
from tdelta.driver.worker_protocol import Reply, Request, serve
from tdelta.engines.turso.database import STYLE, Database
from tdelta.engines.turso.proof import page_costs
from tdelta.engines.turso.writing import Line, QueuedCursor, as_writer

PROGRAM = "tdelta.engines.turso.worker"


class TursoHost(Host):
    """The state of one worker: its database and, of the load's connections, its twin."""

    def __init__(self) -> None:
        super().__init__()
        self._database: Database | None = None
        self._exposed: list[QueuedCursor] = []
        self._afterwards: list[str] = []

    def refused(self, error: Exception) -> list[str] | None:
        """What Turso said, or the system of a file, as well."""
        return list(explained(error)[:2]) if isinstance(error, (ClientError, OSError)) else super().refused(error)

    def do_open(self, request: Request) -> Reply:
        """Open (or make) the twin's file, with so many connections for the load."""
        self.do_close({})
        self._database = Database(request["options"])
        self.twin = self._database.load_twin(request["connections"])
        return {"library": f"Turso {self._database.text('SELECT turso_version()')}"}

    def do_prepare(self, request: Request) -> Reply:
        """Compile the transactions, those that write as writers."""
        return super().do_prepare(_written(request))

    def do_facts(self, request: Request) -> Reply:
        """The first value of each query, by name."""
        return {name: self._open().text(sql) for name, sql in request["queries"].items()}

    def do_cool(self, _request: Request) -> Reply:
        """Open the file anew, with nothing of it in any cache."""
        self._open().cool()
        return {}

    def do_loop_cost(self, request: Request) -> Reply:
        """Run the transactions on a client that does nothing; scripts may fail on the rows it makes up."""
        return loop_cost(STYLE, "sqlite", _written(request), lambda cursor: QueuedCursor(Line(), cursor))

    def do_expose(self, request: Request) -> Reply:
        """Run statements on a connection of its own, and hold others on a second one, until concealed."""
        database = self._open()
        self._afterwards = list(request["afterwards"])
        for statements in (request["statements"], request["held"]):
            self._exposed.append(database.connect())
            for sql in statements:
                with database.translated_errors():
                    self._exposed[-1].execute(sql)
                    self._exposed[-1].fetchall()
        return {}

    def do_conceal(self, _request: Request) -> Reply:
        """Let go of what is held, put the rows back, write the log into the file."""
        database = self._open()
        while self._exposed:
            cursor = self._exposed.pop()
            with (
                contextlib.suppress(ClientError),
                database.translated_errors(),
            ):  # only what is held has a transaction open
                cursor.execute("ROLLBACK")
            database.drop(cursor)
        database.run(*self._afterwards)
        self._afterwards = []
        database.settle()
        return {}

    def do_prove(self, request: Request) -> Reply:
        """Time a page cipher on two files of its own."""
        return page_costs(request["files"]["plain"], request["files"]["encrypted"])

    def do_price(self, request: Request) -> Reply:
        """Time pages of two files of its own."""
        from tdelta.engines.turso.page_prices import page_prices  # not earlier: few workers are asked

        return {"passes": page_prices(request["files"], request["passes"])}

    def do_close(self, request: Request) -> Reply:
        """Close the twin and its file."""
        self._exposed = []
        super().do_close(request)
        if self._database is not None:
            self._database.close()
            self._database = None
        return {}

    def _run(self, sql: str) -> None:
        self._open().run(sql)

    def _open(self) -> Database:
        if self._database is None:
            raise NoTwin
        return self._database


def _written(request: Request) -> Reply:
    scripts = [{**one, "text": as_writer(one["text"])} for one in request["transactions"]]
    return {**request, "transactions": scripts}


if __name__ == "__main__":
    serve(TursoHost())

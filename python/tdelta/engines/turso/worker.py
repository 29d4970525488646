"""What runs in a worker process of Turso: one twin, with its driver under the load loop.

Started as ``python -m tdelta.engines.turso.worker PARENT_PID``; how it is spoken to, `tdelta.driver.orders` says.
"""

from __future__ import annotations

import contextlib

from tdelta.driver.dbapi import ClientError, explained, loop_cost
from tdelta.driver.hosting import NoTwin
from tdelta.driver.orders import Order, serve
from tdelta.driver.worker import Host
from tdelta.engines.turso.database import STYLE, Database
from tdelta.engines.turso.page_prices import page_prices
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

    def do_open(self, order: Order) -> Order:
        """Open (or make) the twin's file, with so many connections for the load."""
        self.do_close({})
        self._database = Database(order["options"])
        self.twin = self._database.load_twin(order["connections"])
        return {"library": f"Turso {self._database.text('SELECT turso_version()')}"}

    def do_prepare(self, order: Order) -> Order:
        """Compile the transactions, those that write as writers."""
        return super().do_prepare(_written(order))

    def do_facts(self, order: Order) -> Order:
        """The first value of each query, by name."""
        return {name: self._open().text(sql) for name, sql in order["queries"].items()}

    def do_cool(self, _order: Order) -> Order:
        """Open the file anew, with nothing of it in any cache."""
        self._open().cool()
        return {}

    def do_loop_cost(self, order: Order) -> Order:
        """Run the transactions on a client that does nothing; scripts may fail on the rows it makes up."""
        return loop_cost(STYLE, "sqlite", _written(order), lambda cursor: QueuedCursor(Line(), cursor))

    def do_expose(self, order: Order) -> Order:
        """Run statements on a connection of its own, and hold others on a second one, until concealed."""
        database = self._open()
        self._afterwards = list(order["afterwards"])
        for statements in (order["statements"], order["held"]):
            self._exposed.append(database.connect())
            for sql in statements:
                with database.translated_errors():
                    self._exposed[-1].execute(sql)
                    self._exposed[-1].fetchall()
        return {}

    def do_conceal(self, _order: Order) -> Order:
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

    def do_prove(self, order: Order) -> Order:
        """Time a page cipher on two files of its own."""
        return page_costs(order["files"]["plain"], order["files"]["encrypted"])

    def do_price(self, order: Order) -> Order:
        """Time pages of two files of its own."""
        return {"passes": page_prices(order["files"], order["passes"])}

    def do_close(self, order: Order) -> Order:
        """Close the twin and its file."""
        self._exposed = []
        super().do_close(order)
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


def _written(order: Order) -> Order:
    scripts = [{**one, "text": as_writer(one["text"])} for one in order["transactions"]]
    return {**order, "transactions": scripts}


if __name__ == "__main__":
    serve(TursoHost())

"""What runs in a worker process of the toy server: a schema is a file beside the server's own."""

from __future__ import annotations

import json
import sqlite3

from tdelta import _native
from tdelta.driver.dbapi import explained
from tdelta.driver.orders import Order, serve
from tdelta.driver.worker import Host


class ToyServerHost(Host):
    """One session, or one condition's."""

    def do_connect(self, order: Order) -> Order:
        options = order["options"]
        path = "-".join(filter(None, (options["socket"], options.get("database"))))
        self.database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        style = json.dumps({"parameters": "qmark"})
        self.twin = _native.DbApiTwin(style, lambda _old: self.database.cursor(), order["connections"], explained)
        return {}

    def do_observe(self, _order: Order) -> Order:
        return {}

    def do_run(self, order: Order) -> Order:
        for statement in order["statements"]:
            self.database.execute(statement)
        return {}

    def do_rows(self, order: Order) -> Order:
        found = self.database.execute(order["sql"])
        rows = [[None if cell is None else str(cell) for cell in row] for row in found]
        return {"columns": [column[0] for column in found.description or ()], "rows": rows}


if __name__ == "__main__":
    serve(ToyServerHost())

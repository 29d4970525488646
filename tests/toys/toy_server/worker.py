import json
import sqlite3

from tdelta import _native
from tdelta.driver.dbapi import explained
from tdelta.driver.worker import Host
from tdelta.driver.worker_protocol import Reply, Request, serve


class ToyServerHost(Host):
    def do_connect(self, request: Request) -> Reply:
        options = request["options"]
        path = "-".join(filter(None, (options["socket"], options.get("database"))))
        self.database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        style = json.dumps({"parameters": "qmark"})
        self.twin = _native.DbApiTwin(style, lambda _old: self.database.cursor(), request["connections"], explained)
        return {}

    def do_observe(self, _request: Request) -> Reply:
        return {}

    def do_run(self, request: Request) -> Reply:
        for statement in request["statements"]:
            self.database.execute(statement)
        return {}

    def do_rows(self, request: Request) -> Reply:
        found = self.database.execute(request["sql"])
        rows = [[None if cell is None else str(cell) for cell in row] for row in found]
        return {"columns": [column[0] for column in found.description or ()], "rows": rows}


if __name__ == "__main__":
    serve(ToyServerHost())

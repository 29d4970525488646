"""What runs in a worker process: one twin, driven through the library its users install.

Started as ``python -m tdelta.driver.worker PARENT_PID``; how it is spoken to, `tdelta.driver.orders` says.
"""

from __future__ import annotations

import json

from tdelta import _native
from tdelta.driver.hosting import TwinHost
from tdelta.driver.orders import Order, serve
from tdelta.measure.usage import spent

_ROOM = frozenset({"full", "io"})
"""Kinds of what is said where there is no room, or no file may grow any more."""


class Host(TwinHost):
    """The state of one worker. As it is, it connects to servers."""

    def do_client(self, _order: Order) -> Order:
        """Which client this is."""
        return {"client": "tdelta's own"}

    def do_connect(self, order: Order) -> Order:
        """Connect to a server, on so many connections for the load and one beside them; what was open is closed."""
        self.do_close({})
        self.twin = _native.ServerTwin(json.dumps(order["options"]), order["connections"])
        return {}

    def do_observe(self, order: Order) -> Order:
        """Say what counts as the server's processes, which counters to read, and how it settles after a trial."""
        self._server().observe(json.dumps(order["observed"]))
        return {}

    def do_run(self, order: Order) -> Order:
        """Run statements one after another; what they answer is dropped."""
        for statement in order["statements"]:
            self._server().run(statement)
        return {}

    def do_rows(self, order: Order) -> Order:
        """All that one statement answers: the names of the columns, and rows of texts."""
        columns, rows = self._server().rows(order["sql"])
        return {"columns": columns, "rows": rows}

    def do_enter(self, order: Order) -> Order:
        """As ``connect``, to a server of the user's: a refusal is an answer."""
        try:
            return self.do_connect(order)
        except _native.NativeError as refusal:
            return {"refused": list(refusal.args)}

    def do_put(self, order: Order) -> Order:
        """As ``rows``, put to a server of the user's: a refusal is an answer."""
        try:
            return self.do_rows(order)
        except _native.NativeError as refusal:
            return {"refused": list(refusal.args)}

    def do_perform(self, order: Order) -> Order:
        """As ``run``, put to a server of the user's, and however long it takes: a refusal is an answer."""
        try:
            return self.do_run(order)
        except _native.NativeError as refusal:
            return {"refused": list(refusal.args)}

    def do_load(self, order: Order) -> Order:
        """Make the tables, fill them, build the indexes."""
        self.open_twin().load(
            json.dumps(order["plan"]), order["seed"], order["threads"], order["tables"], order["indexes"]
        )
        return {}

    def do_facts(self, order: Order) -> Order:
        """The first value of each query, by name."""
        return {name: self.open_twin().text(sql) for name, sql in order["queries"].items()}

    def do_checksums(self, order: Order) -> Order:
        """Row counts and order-independent checksums of tables."""
        tables = [(name, list(columns)) for name, columns in order["tables"]]
        return dict(self.open_twin().checksums(tables))

    def do_step(self, order: Order) -> Order:
        """Make all rows anew, or run the statements that rebuild what there is; says what that took."""

        def step() -> None:
            if order["load"] is not None:
                self.do_load(order["load"])
            for sql in (*order["statements"], *order.get("after", ())):
                self._run(sql)

        for sql in order["before"]:
            self._run(sql)
        return spent(step)

    def do_trace(self, order: Order) -> Order:
        """Run one trial with every statement metered by itself; ``tracing`` says by what."""
        if "tracing" in order:
            self._server().trace_by(json.dumps(order["tracing"]))
        return super().do_trace(order)

    def do_begin_outside(self, _order: Order) -> Order:
        """Take note of what the server used so far; a load of another process begins."""
        self._server().begin_outside()
        return {}

    def do_end_outside(self, order: Order) -> Order:
        """Have the server come to rest, and say what it used since that load began."""
        return self._server().end_outside(order.get("settle", True))

    def do_loop_cost(self, order: Order) -> Order:
        """Run the transactions on a client that does nothing; scripts may fail on the rows it makes up."""
        order["trial"]["stop_on_error"] = False
        return _native.loop_cost(*(json.dumps(order[name]) for name in ("transactions", "constants", "trial")))

    def do_try(self, order: Order) -> Order:
        """Prepare a transaction by itself, and run it as often as the trial says: what the database said against it."""
        try:
            self.open_twin().prepare(json.dumps([order["transaction"]]), json.dumps(order["constants"]))
            if order["trial"] is None:
                return {"said": None}
            outcome = self.open_twin().trial(json.dumps(order["trial"]))["outcome"]
        except _native.NativeError as error:
            return {"said": error.args[1]}
        if outcome["stopped_by"] == "deadline":
            return {"said": f"{outcome['executed_operations']} of {order['trial']['operations']} took too long"}
        return {"said": outcome["first_error"], "is_full": bool(_ROOM.intersection(outcome["errors"]))}

    def _run(self, sql: str) -> None:
        """Run a statement, whatever it answers."""
        self._server().run(sql)

    def _server(self) -> _native.ServerTwin:
        if not isinstance(self.twin, _native.ServerTwin):
            raise ValueError("no server is connected")
        return self.twin


if __name__ == "__main__":
    serve(Host())

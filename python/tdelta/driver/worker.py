"""What runs in a worker process: one twin, driven through the library its users install.

Started as ``python -m tdelta.driver.worker PARENT_PID``; how it is spoken to, `tdelta.driver.orders` says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from tdelta import _native
from tdelta.driver.database_orders import DatabaseOrders
from tdelta.driver.loading import Loaded, library_digest, library_facts, load_library
from tdelta.driver.orders import Order, serve
from tdelta.driver.own_orders import OwnServerOrders
from tdelta.driver.page_prices import page_prices
from tdelta.driver.pages import Files, page_costs
from tdelta.measure.caches import forget
from tdelta.measure.usage import spent


class Host(DatabaseOrders, OwnServerOrders):
    """The state of one worker: its library, once it is loaded, and its twin, once it is open."""

    def __init__(self) -> None:
        self.twin: _native.SqliteTwin | _native.ServerTwin | None = None
        self.loaded: tuple[str, Loaded] | None = None
        self.options: Order = {}
        self.connections = 1
        self.prepared: tuple[str, str] | None = None
        self.exposure: _native.SqliteExposure | None = None

    def answer(self, order: Order) -> Order:
        """Carry out one order. What a database answers becomes ``{"error": [kind, message]}``."""
        try:
            handler: Callable[[Order], Order] = getattr(self, f"do_{order['do']}")
            return {"ok": handler(order)}
        except _native.NativeError as error:
            return {"error": list(error.args)}
        except ValueError as error:
            return {"error": ["value", str(error)]}

    def request_stop(self) -> None:
        """Have every loop of this process end."""
        _native.request_stop()

    def clear_stop(self) -> None:
        """Let loops run again."""
        _native.clear_stop()

    def end(self) -> None:
        """Close what is open."""
        self.do_close({})

    def do_hello(self, _order: Order) -> Order:
        """Say who is there."""
        return {"pid": os.getpid()}

    def do_library(self, order: Order) -> Order:
        """Load a library and say what it is."""
        loaded = self._load(order["library"])
        return library_facts() | {"sha256": library_digest(loaded)}

    def do_open(self, order: Order) -> Order:
        """Open (or make) the twin's file, with the library that is named."""
        self._load(order["library"])
        self.options, self.connections = order["options"], order["connections"]
        self.twin = _native.SqliteTwin(json.dumps(self.options), self.connections)
        return {"library": library_facts()["text"]}

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

    def do_load(self, order: Order) -> Order:
        """Make the tables, fill them, build the indexes."""
        self._any().load(json.dumps(order["plan"]), order["seed"], order["threads"], order["tables"], order["indexes"])
        return {}

    def do_facts(self, order: Order) -> Order:
        """The first value of each query, by name."""
        return {name: self._any().text(sql) for name, sql in order["queries"].items()}

    def do_checksums(self, order: Order) -> Order:
        """Row counts and order-independent checksums of tables."""
        tables = [(name, list(columns)) for name, columns in order["tables"]]
        return dict(self._any().checksums(tables))

    def do_prepare(self, order: Order) -> Order:
        """Compile and prepare the transactions."""
        self.prepared = json.dumps(order["transactions"]), json.dumps(order["constants"])
        self._any().prepare(*self.prepared)
        return {}

    def do_cool(self, order: Order) -> Order:
        """Close the twin's file, have the system forget it, and open it again, its transactions prepared."""
        self._open().close()
        self.twin = None
        forget(Path(order["path"]))
        self.twin = _native.SqliteTwin(json.dumps(self.options), self.connections)
        if self.prepared is not None:
            self.twin.prepare(*self.prepared)
        return {}

    def do_step(self, order: Order) -> Order:
        """Make all rows anew, or run the statements that rebuild what there is; says what that took."""
        statement = self._server().run if isinstance(self.twin, _native.ServerTwin) else self._open().text

        def step() -> None:
            if order["load"] is not None:
                self.do_load(order["load"])
            for sql in (*order["statements"], *order.get("after", ())):
                statement(sql)

        for sql in order["before"]:
            statement(sql)
        return spent(step)

    def do_trial(self, order: Order) -> Order:
        """Run one trial."""
        turns = order.get("turns")
        trial = json.dumps(order["trial"])
        return self._any().trial(trial, turns and json.dumps(turns), order.get("checkpoint", True))

    def do_trace(self, order: Order) -> Order:
        """Run one trial with every statement metered by itself; of a server, ``tracing`` says by what."""
        if "tracing" in order:
            self._server().trace_by(json.dumps(order["tracing"]))
        return self._any().trace(json.dumps(order["trial"]))

    def do_begin_outside(self, _order: Order) -> Order:
        """Take note of what the server used so far; a load of another process begins."""
        self._server().begin_outside()
        return {}

    def do_end_outside(self, order: Order) -> Order:
        """Have the server come to rest, and say what it used since that load began."""
        return self._server().end_outside(order.get("settle", True))

    def do_expose(self, order: Order) -> Order:
        """Put rows on their way through files, on a connection of its own, and hold them there."""
        self._open()
        self.exposure = _native.SqliteExposure(json.dumps(self.options), order["statements"], order["cursors"])
        return {}

    def do_conceal(self, _order: Order) -> Order:
        """Let go of them."""
        if self.exposure is not None:
            self.exposure.close()
            self.exposure = None
        return {}

    def do_loop_cost(self, order: Order) -> Order:
        """Run the transactions on a client that does nothing; scripts may fail on the rows it makes up."""
        order["trial"]["stop_on_error"] = False
        return _native.loop_cost(*(json.dumps(order[name]) for name in ("transactions", "constants", "trial")))

    def do_prove(self, order: Order) -> Order:
        """Time a page cipher of the library under test, on two files of its own."""
        self._load(order["library"])
        files = {name: Files(**options) for name, options in order["files"].items()}
        return {"library": library_facts()["text"], **page_costs(files["plain"], files["encrypted"])}

    def do_price(self, order: Order) -> Order:
        """Time pages that the library under test reads and writes, on files of its own."""
        self._load(order["library"])
        return {"passes": page_prices(order["files"], order["body_bytes"])}

    def do_close(self, _order: Order) -> Order:
        """Close the twin's file."""
        self.do_conceal({})
        if self.twin is not None:
            self.twin.close()
            self.twin = None
        return {}

    def _load(self, spec: str) -> Loaded:
        if self.loaded is None:
            self.loaded = spec, load_library(spec)
        name, loaded = self.loaded
        if name != spec:
            raise ValueError(f"this worker has loaded {name} and cannot load {spec}, too")
        return loaded

    def _any(self) -> _native.SqliteTwin | _native.ServerTwin:
        """What a trial needs, both kinds of twin have."""
        if self.twin is None:
            raise ValueError("no twin is open")
        return self.twin

    def _open(self) -> _native.SqliteTwin:
        if not isinstance(self.twin, _native.SqliteTwin):
            raise ValueError("no twin is open")
        return self.twin

    def _server(self) -> _native.ServerTwin:
        if not isinstance(self.twin, _native.ServerTwin):
            raise ValueError("no server is connected")
        return self.twin


if __name__ == "__main__":
    serve(Host())

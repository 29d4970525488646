"""The worker process: one twin, driven through the library its users install.

Started as ``python -m tdelta.processes.worker PARENT_PID`` (see `tdelta.processes.rpc`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import ClassVar

from tdelta import _native
from tdelta.measure.pressure import spent
from tdelta.processes.rpc import Reply, Request, serve
from tdelta.processes.worker_host import TwinHost

_ROOM = frozenset({"full", "io"})
"""Kinds of what is said where there is no room, or no file may grow any more."""


class Host(TwinHost):
    refusable: ClassVar[Mapping[str, str]] = {"enter": "connect", "put": "rows", "perform": "run"}

    def do_client(self, _request: Request) -> Reply:
        return {"client": "tdelta's own"}

    def do_connect(self, request: Request) -> Reply:
        """Connect to a server, on so many connections for the load and one beside them; what was open is closed."""
        self.do_close({})
        self.twin = _native.ServerTwin(json.dumps(request["options"]), request["connections"])
        return {}

    def do_observe(self, request: Request) -> Reply:
        """Say what counts as the server's processes, which counters to read, and how it settles after a trial."""
        self._server().observe(json.dumps(request["observed"]))
        return {}

    def do_run(self, request: Request) -> Reply:
        for statement in request["statements"]:
            self._server().run(statement)
        return {}

    def do_rows(self, request: Request) -> Reply:
        columns, rows = self._server().rows(request["sql"])
        return {"columns": columns, "rows": rows}

    def do_load(self, request: Request) -> Reply:
        self.open_twin().load(
            json.dumps(request["plan"]), request["seed"], request["threads"], request["tables"], request["indexes"]
        )
        return {}

    def do_facts(self, request: Request) -> Reply:
        return {name: self.open_twin().text(sql) for name, sql in request["queries"].items()}

    def do_checksums(self, request: Request) -> Reply:
        tables = [(name, list(columns)) for name, columns in request["tables"]]
        return dict(self.open_twin().checksums(tables))

    def do_step(self, request: Request) -> Reply:
        """Make all rows anew, or run the statements that rebuild what there is; says what that took."""

        def step() -> None:
            if request["load"] is not None:
                self.do_load(request["load"])
            for sql in (*request["statements"], *request.get("after", ())):
                self._run(sql)

        for sql in request["before"]:
            self._run(sql)
        return spent(step)

    def do_trace(self, request: Request) -> Reply:
        """Run one trial with every statement metered by itself; ``tracing`` says by what."""
        if "tracing" in request:
            self._server().trace_by(json.dumps(request["tracing"]))
        return super().do_trace(request)

    def do_begin_external_load(self, _request: Request) -> Reply:
        self._server().begin_external_load()
        return {}

    def do_end_external_load(self, request: Request) -> Reply:
        return self._server().end_external_load(request.get("settle", True))

    def do_loop_cost(self, request: Request) -> Reply:
        request["trial"]["stop_on_error"] = False
        return _native.loop_cost(*(json.dumps(request[name]) for name in ("transactions", "constants", "trial")))

    def do_try(self, request: Request) -> Reply:
        """Prepare a transaction by itself, and run it as often as the trial says: what the database said against it."""
        try:
            self.open_twin().prepare(json.dumps([request["transaction"]]), json.dumps(request["constants"]))
            if request["trial"] is None:
                return {"said": None}
            outcome = self.open_twin().trial(json.dumps(request["trial"]))["outcome"]
        except _native.NativeError as error:
            return {"said": error.args[1]}
        if outcome["stopped_by"] == "deadline":
            return {"said": f"{outcome['total_operations']} of {request['trial']['operations']} took too long"}
        return {"said": outcome["first_error"], "is_full": bool(_ROOM.intersection(outcome["errors"]))}

    def _run(self, sql: str) -> None:
        self._server().run(sql)

    def _server(self) -> _native.ServerTwin:
        if not isinstance(self.twin, _native.ServerTwin):
            raise ValueError("no server is connected")
        return self.twin


if __name__ == "__main__":
    serve(Host())

"""What runs in a worker process of SQLite: one twin, driven through the library its users install."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from tdelta import _native
from tdelta.engines.embedded.worker import PricingHost
from tdelta.engines.sqlite.backup_requests import BackupRequests, Module, module_of
from tdelta.engines.sqlite.loading import Loaded, library_digest, library_facts, load_library
from tdelta.measure.caches import forget
from tdelta.measure.usage import spent
from tdelta.processes.rpc import Reply, Request, serve


class SqliteHost(PricingHost, BackupRequests):
    """The state of one worker: its library, once it is loaded, and its twin, once it is open."""

    refusable: ClassVar[Mapping[str, str]] = {"examine": "open", "query": "query", "convert": "convert"}

    _module: Module

    def __init__(self) -> None:
        super().__init__()
        self.loaded: tuple[str, Loaded] | None = None
        self.options: Reply = {}
        self.connections = 1
        self.exposure: _native.SqliteExposure | None = None
        self._others: list[Any] = []

    def do_library(self, request: Request) -> Reply:
        loaded = self._load(request["library"])
        return library_facts() | {"sha256": library_digest(loaded)}

    def do_open(self, request: Request) -> Reply:
        self._load(request["library"])
        self.options, self.connections = request["options"], request["connections"]
        self.twin = _native.SqliteTwin(json.dumps(self.options), self.connections)
        return {"library": self.library()}

    def do_cool(self, request: Request) -> Reply:
        """Close the twin's file, have the system forget it, and open it again, its transactions prepared."""
        self.do_shut({})
        forget(Path(request["path"]))
        return self.do_resume({})

    def do_shut(self, _request: Request) -> Reply:
        self.open_twin().close()
        self.twin = None
        return {}

    def do_reopen(self, request: Request) -> Reply:
        return self.do_open_another({"options": self.options, "connections": 1, **request})

    def do_resume(self, _request: Request) -> Reply:
        """Close other files, and open the twin's where it is shut, its transactions prepared."""
        self.do_close_others({})
        if self.twin is None:
            self.twin = _native.SqliteTwin(json.dumps(self.options), self.connections)
            if self.prepared is not None:
                self.twin.prepare(*self.prepared)
        return {}

    def do_expose(self, request: Request) -> Reply:
        self.open_twin()
        self.exposure = _native.SqliteExposure(json.dumps(self.options), request["statements"], request["cursors"])
        return {}

    def do_conceal(self, _request: Request) -> Reply:
        if self.exposure is not None:
            self.exposure.close()
            self.exposure = None
        return {}

    def library(self) -> str:
        return library_facts()["text"]

    def priced(self, options: Request) -> Any:
        from tdelta.engines.sqlite.priced import PricedPages  # not earlier: few workers are asked

        self._load(options["library"])
        return PricedPages(options)

    def do_open_another(self, request: Request) -> Reply:
        """Open another file, on so many connections, and put a query to it; says what that took, and the answer."""
        answers: list[str] = []

        def opened() -> None:
            self._others.append(_native.SqliteTwin(json.dumps(request["options"]), request["connections"]))
            answers.append(self._others[-1].text(request["sql"]))

        return {**spent(opened), "text": answers[0]}

    def do_close_others(self, _request: Request) -> Reply:
        while self._others:
            self._others.pop().close()
        return {}

    def do_rewrite(self, request: Request) -> Reply:
        """Run steps on the file that was opened last; says what that took."""
        return spent(lambda: run_steps(self._others[-1], request))

    def do_take_pages(self, request: Request) -> Reply:
        """Open two plain files of the same pages by the library's own module."""
        self._module = module_of(request["library"])
        self._others = [self._module.connect(request[name]) for name in ("source", "target")]
        for connection in self._others:
            for pragma in request["pragmas"]:
                list(connection.execute(pragma))
        return {}

    def do_write_pages(self, _request: Request) -> Reply:
        """Write every page of one over those of the other, in one transaction with a journal; says what that took."""
        source, target = self._others
        return spent(lambda: self._module.back_up(source, target, pages=-1))

    def do_temporary(self, request: Request) -> Reply:
        """Say where the library puts what does not fit into memory: beside the twins, not into the system's folder.

        No file that this process writes is to grow beyond ``most_bytes``, where they are given.
        """
        os.environ["SQLITE_TMPDIR"] = request["folder"]  # SQLite reads it when it starts, at the first `do_open`
        if "most_bytes" in request:
            resource.setrlimit(resource.RLIMIT_FSIZE, (request["most_bytes"], request["most_bytes"]))
        return {}

    def do_query(self, request: Request) -> Reply:
        """Run one statement; the first value of its first row."""
        return {"text": self.open_twin().text(request["sql"])}

    def do_convert(self, request: Request) -> Reply:
        """Run the steps of a conversion; the key is in the order and nowhere else."""
        run_steps(self.open_twin(), request)
        return {}

    def do_close(self, request: Request) -> Reply:
        self.do_conceal({})
        self.do_close_others({})
        return super().do_close(request)

    def _run(self, sql: str) -> None:
        self.open_twin().text(sql)

    def _load(self, spec: str) -> Loaded:
        if self.loaded is None:
            self.loaded = spec, load_library(spec)
        name, loaded = self.loaded
        if name != spec:
            raise ValueError(f"this worker has loaded {name} and cannot load {spec}, too")
        return loaded


def run_steps(twin: _native.SqliteTwin, request: Request) -> None:
    for step in request["steps"]:
        if step["schema"] is not None:
            twin.reserve(step["schema"], step["reserved_bytes"])
        elif step["is_keyed"]:
            twin.keyed(step["sql"], request["key"] or "")
        else:
            twin.text(step["sql"])


if __name__ == "__main__":
    serve(SqliteHost())

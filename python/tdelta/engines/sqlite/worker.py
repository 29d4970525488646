"""The worker process of SQLite: one twin, driven through the library its users install."""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Mapping
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from tdelta import _native
from tdelta.engines.embedded.prices import PricedFile, PricingHost
from tdelta.engines.sqlite.backup_requests import BackupRequests, Module, module_of
from tdelta.engines.sqlite.loading import Loaded, library_digest, library_facts, load_library
from tdelta.measure.caches import forget
from tdelta.measure.pressure import spent
from tdelta.processes.rpc import Reply, Request, serve

_SPARE_BYTES = 80
"""Of a page, beside its one row and what is reserved: its header, the cell's, and the limit of a cell that is whole."""

_SCAN = "SELECT sum(length(body)) FROM page"
_CHANGE = "UPDATE page SET mark = 1 - mark"
"""0 and 1 are kept in a byte of the record's header, so every row is changed in its place."""


class PricedPages(PricedFile):
    """Pages of one file, open twice: through a cache that holds nothing of it, and through one that holds it all.

    One row fills a page. Reading is a scan through the small cache; the same scan through the large one shows what a
    plain page costs in memory. Writing is the commit of a transaction that changed every page.
    """

    proof_scans = 25
    units = "pages"
    clock_ns = staticmethod(time.thread_time_ns)

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        pages, page_bytes = self.count, self.unit_bytes = options["pages"], options["page_bytes"]
        body_bytes = page_bytes - options["reserved_bytes"] - _SPARE_BYTES
        with closing(self._opened("create")) as made:
            made.text("CREATE TABLE page (number INTEGER PRIMARY KEY, mark INTEGER NOT NULL, body BLOB NOT NULL)")
            made.text(
                f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {pages})"
                f" INSERT INTO page SELECT n, 0, randomblob({body_bytes}) FROM numbers"
            )
        self._reading = self._opened("reading")

    def found(self) -> str:
        return self._reading.text(_SCAN)

    def read_us(self) -> float:
        return self.us_each(self.found, "syscall_read_bytes")

    def cached_us(self) -> float:
        return self.us_each(lambda: self._writing.text(_SCAN), None)

    def write_us(self) -> float:
        self._writing.text("BEGIN IMMEDIATE")
        self._writing.text(_CHANGE)
        return self.us_each(lambda: self._writing.text("COMMIT"), None)

    def close(self) -> None:
        self._reading.close()
        if "_writing" in self.__dict__:
            self._writing.close()

    @cached_property
    def _writing(self) -> _native.SqliteTwin:
        """Not there in a proof, which only reads."""
        return self._opened("writing")

    def _opened(self, name: str) -> _native.SqliteTwin:
        return _native.SqliteTwin(json.dumps(self._options[name]), 1)


class SqliteHost(PricingHost, BackupRequests):
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

    def priced(self, options: Request) -> PricedPages:
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
        return {"text": self.open_twin().text(request["sql"])}

    def do_convert(self, request: Request) -> Reply:
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

"""What runs in a worker process of SQLite: one twin, driven through the library its users install."""

from __future__ import annotations

import json
from pathlib import Path

from tdelta import _native
from tdelta.driver.hosting import NoTwin
from tdelta.driver.worker import Host
from tdelta.driver.worker_protocol import Reply, Request, serve
from tdelta.engines.sqlite.backup_requests import BackupRequests
from tdelta.engines.sqlite.change_requests import ChangeRequests
from tdelta.engines.sqlite.database_requests import DatabaseRequests
from tdelta.engines.sqlite.loading import Loaded, library_digest, library_facts, load_library
from tdelta.engines.sqlite.page_prices import page_prices
from tdelta.engines.sqlite.pages import Files, page_times
from tdelta.measure.caches import forget


class SqliteHost(BackupRequests, ChangeRequests, DatabaseRequests, Host):
    """The state of one worker: its library, once it is loaded, and its twin, once it is open."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: tuple[str, Loaded] | None = None
        self.options: Reply = {}
        self.connections = 1
        self.exposure: _native.SqliteExposure | None = None

    def do_library(self, request: Request) -> Reply:
        loaded = self._load(request["library"])
        return library_facts() | {"sha256": library_digest(loaded)}

    def do_open(self, request: Request) -> Reply:
        self._load(request["library"])
        self.options, self.connections = request["options"], request["connections"]
        self.twin = _native.SqliteTwin(json.dumps(self.options), self.connections)
        return {"library": library_facts()["text"]}

    def do_cool(self, request: Request) -> Reply:
        """Close the twin's file, have the system forget it, and open it again, its transactions prepared."""
        self.do_shut({})
        forget(Path(request["path"]))
        return self.do_resume({})

    def do_shut(self, _request: Request) -> Reply:
        self._open().close()
        self.twin = None
        return {}

    def do_resume(self, _request: Request) -> Reply:
        """Open the twin's file again, its transactions prepared."""
        self.twin = _native.SqliteTwin(json.dumps(self.options), self.connections)
        if self.prepared is not None:
            self.twin.prepare(*self.prepared)
        return {}

    def do_expose(self, request: Request) -> Reply:
        """Put rows on their way through files, on a connection of its own, and hold them there."""
        self._open()
        self.exposure = _native.SqliteExposure(json.dumps(self.options), request["statements"], request["cursors"])
        return {}

    def do_conceal(self, _request: Request) -> Reply:
        if self.exposure is not None:
            self.exposure.close()
            self.exposure = None
        return {}

    def do_prove(self, request: Request) -> Reply:
        self._load(request["library"])
        files = {name: Files(**options) for name, options in request["files"].items()}
        return {"library": library_facts()["text"], **page_times(files["plain"], files["encrypted"])}

    def do_price(self, request: Request) -> Reply:
        self._load(request["library"])
        return {"passes": page_prices(request["files"], request["body_bytes"], request["passes"])}

    def do_close(self, request: Request) -> Reply:
        self.do_conceal({})
        self.do_close_others({})
        return super().do_close(request)

    def _run(self, sql: str) -> None:
        self._open().text(sql)

    def _load(self, spec: str) -> Loaded:
        if self.loaded is None:
            self.loaded = spec, load_library(spec)
        name, loaded = self.loaded
        if name != spec:
            raise ValueError(f"this worker has loaded {name} and cannot load {spec}, too")
        return loaded

    def _open(self) -> _native.SqliteTwin:
        if not isinstance(self.twin, _native.SqliteTwin):
            raise NoTwin
        return self.twin


if __name__ == "__main__":
    serve(SqliteHost())

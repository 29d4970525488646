"""What runs in a worker process of SQLite: one twin, driven through the library its users install."""

from __future__ import annotations

import importlib
import json
import os
import resource
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tdelta import _native
from tdelta.driver.hosting import NoTwin
from tdelta.driver.rpc import Reply, Request, serve
from tdelta.driver.worker import Host
from tdelta.engines.sqlite.backup_requests import BackupRequests
from tdelta.engines.sqlite.loading import Loaded, library_digest, library_facts, load_library
from tdelta.engines.sqlite.page_prices import page_prices
from tdelta.engines.sqlite.pages import Files, page_times
from tdelta.measure.caches import forget
from tdelta.measure.usage import spent


class Pages:
    """Two connections of a library's module: the pages of one file, and those that they are written over."""

    def __init__(self, library: str, source: str, target: str, pragmas: list[str]) -> None:
        module, self._back_up = _MODULES[library]
        connect: Callable[[str], Any] = getattr(importlib.import_module(module[0]), module[1])
        self._files = [connect(source), connect(target)]
        for connection in self._files:
            for pragma in pragmas:
                list(connection.execute(pragma))

    def write(self) -> None:
        """Write them: in one transaction, with the journal of any other."""
        self._back_up(*self._files)

    def close(self) -> None:
        for connection in self._files:
            connection.close()


def _by_apsw(source: Any, target: Any) -> None:
    with target.backup("main", source, "main") as backup:
        backup.step(-1)


def _by_dbapi(source: Any, target: Any) -> None:
    source.backup(target)


_MODULES: Mapping[str, tuple[tuple[str, str], Callable[[Any, Any], None]]] = {
    "sqlite3mc": (("apsw", "Connection"), _by_apsw),
    "sqlcipher": (("sqlcipher3.dbapi2", "connect"), _by_dbapi),
}


class SqliteHost(BackupRequests, Host):
    """The state of one worker: its library, once it is loaded, and its twin, once it is open."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: tuple[str, Loaded] | None = None
        self.options: Reply = {}
        self.connections = 1
        self.exposure: _native.SqliteExposure | None = None
        self._others: list[_native.SqliteTwin] = []
        self._pages: Pages | None = None

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
        if self._pages is not None:
            self._pages.close()
            self._pages = None
        return {}

    def do_rewrite(self, request: Request) -> Reply:
        """Run steps on the file that was opened last; says what that took."""
        twin = self._others[-1]

        def work() -> None:
            for step in request["steps"]:
                run_step(twin, step, request["key"])

        return spent(work)

    def do_take_pages(self, request: Request) -> Reply:
        """Open two plain files of the same pages by the library's own module."""
        self._pages = Pages(request["library"], request["source"], request["target"], request["pragmas"])
        return {}

    def do_write_pages(self, _request: Request) -> Reply:
        """Write every page of one of them over those of the other; says what that took."""
        if self._pages is None:
            raise ValueError("no files to write pages of")
        return spent(self._pages.write)

    def do_temporary(self, request: Request) -> Reply:
        """Say where the library puts what does not fit into memory: beside the twins, not into the system's folder.

        No file that this process writes is to grow beyond ``most_bytes``, where they are given.
        """
        os.environ["SQLITE_TMPDIR"] = request["folder"]  # SQLite reads it when it starts, at the first `do_open`
        if "most_bytes" in request:
            resource.setrlimit(resource.RLIMIT_FSIZE, (request["most_bytes"], request["most_bytes"]))
        return {}

    def do_examine(self, request: Request) -> Reply:
        """Open a copy of a user's database, which recovers it; a refusal of the library is an answer, not a fault."""
        try:
            return self.do_open(request)
        except _native.NativeError as error:
            return _refused(error)

    def do_query(self, request: Request) -> Reply:
        """Run one statement; the first value of its first row."""
        try:
            return {"text": self._open().text(request["sql"])}
        except _native.NativeError as error:
            return _refused(error)

    def do_convert(self, request: Request) -> Reply:
        """Run the steps of a conversion; the key is in the order and nowhere else."""
        try:
            for step in request["steps"]:
                run_step(self._open(), step, request["key"])
        except _native.NativeError as error:
            return _refused(error)
        return {}

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


def run_step(twin: _native.SqliteTwin, step: Request, key: str | None) -> None:
    if step["schema"] is not None:
        twin.reserve(step["schema"], step["reserved_bytes"])
    elif step["is_keyed"]:
        twin.keyed(step["sql"], key or "")
    else:
        twin.text(step["sql"])


def _refused(error: _native.NativeError) -> Reply:
    return {"refused": list(error.args)}


if __name__ == "__main__":
    serve(SqliteHost())

"""What a worker can be told about its file as a whole: opened anew, opened by many, rewritten.

All of it happens in the twin's own process, whose library is loaded; what a rewrite works on are files of its own.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from tdelta import _native
from tdelta.engines.sqlite.database_requests import Reply, Request, run_step
from tdelta.measure.usage import spent


class ChangeRequests:
    def __init__(self) -> None:
        super().__init__()
        self._others: list[_native.SqliteTwin] = []
        self._pages: Pages | None = None

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

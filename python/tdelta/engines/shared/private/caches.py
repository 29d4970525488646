"""How an earlier twin's cache was at rest, kept in a file beside the data: its misses, and the list of its pages.

It only saves time: after any failure the twin warms up as usual. Its queries use a separate connection.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from tdelta.driver.servers.recipes import Recipe
from tdelta.driver.workers import Worker
from tdelta.engines.servers import DATABASE, ListsPages, PageList, ServerEngine, flushing
from tdelta.errors import TdeltaError
from tdelta.measure.private import private

_MOST_SECONDS = 60.0
_LOOK_AGAIN_SECONDS = 0.02


class KeptCache:
    def __init__(self, engine: ServerEngine, recipe: Recipe, path: Path) -> None:
        self._recipe = recipe
        self._list = engine.page_list if isinstance(engine, ListsPages) else None
        self._flushing = flushing(engine)
        self._path = path

    def keep(self, misses: float) -> None:
        """Keep it of a server that is awake, unless one that misses no more is kept."""
        with contextlib.suppress(OSError, ValueError):
            if self._read()[0] <= misses:
                return
        with contextlib.suppress(OSError, TdeltaError):
            pages = b"" if self._list is None else self._listed(self._list)
            new = self._path.with_name(f"{self._path.name}.new-{os.getpid()}")
            with private(new) as file:
                file.write(f"{misses}\n".encode() + pages)
            new.replace(self._path)

    def restore(self) -> float | None:
        """Fill the cache of a server that is awake; returns the misses of the kept one, None where that fails."""
        with contextlib.suppress(OSError, ValueError, TdeltaError):
            misses, pages = self._read()
            if self._list is not None and pages:
                self._fill(self._list, pages)
            return misses
        return None

    def _read(self) -> tuple[float, bytes]:
        misses, _, pages = self._path.read_bytes().partition(b"\n")
        return float(misses), pages

    def _listed(self, pages: PageList) -> bytes:
        listed = self._recipe.place.data / pages.file
        try:
            self._do(pages.write, pages.written, pages)
            return listed.read_bytes() if listed.exists() else b""
        finally:
            listed.unlink(missing_ok=True)

    def _fill(self, pages: PageList, content: bytes) -> None:
        listed = self._recipe.place.data / pages.file
        try:
            with private(listed) as file:
                file.write(content)
            self._do(pages.fetch, pages.fetched, pages)
        finally:
            listed.unlink(missing_ok=True)

    def _do(self, statements: Sequence[str], query: str, pages: PageList) -> None:
        """Raises TimeoutError where the server is not done in time; it does not go on then."""
        until = time.monotonic() + _MOST_SECONDS
        with Worker() as worker:
            worker.ask("connect", options={**self._recipe.connect, "database": DATABASE}, connections=1)
            worker.ask("run", seconds=_MOST_SECONDS, statements=list(statements))
            while pages.done not in str(worker.ask("rows", sql=query)["rows"][0][-1]):
                if time.monotonic() > until:
                    worker.ask("run", statements=list(pages.give_up))
                    raise TimeoutError
                time.sleep(_LOOK_AGAIN_SECONDS)
            worker.ask("run", statements=self._flushing)  # or the next trial would have what this read

"""Pages of one SQLite file, timed in a worker that has loaded the library under test.

One row fills a page. Reading is a scan through a cache that holds next to nothing; the same scan through a cache that
holds it all tells what a plain page costs in memory. Writing is the commit of a transaction that changed every page.
"""

from __future__ import annotations

import json
import math
import time
from contextlib import closing
from functools import cached_property
from typing import Any

from tdelta import _native
from tdelta.engines.embedded.prices import MovedUnits, PricedFile

_SPARE_BYTES = 80
"""Of a page, beside its one row and what is reserved: its header, the cell's, and the limit of a cell that is whole."""

_SCAN = "SELECT sum(length(body)) FROM page"
_CHANGE = "UPDATE page SET mark = 1 - mark"
"""0 and 1 are kept in a byte of the record's header, so every row is changed in its place."""


class PricedPages(PricedFile):
    """One file, open twice: through a cache that holds nothing of it, and through one that holds it all."""

    proof_scans = 25

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        pages, page_bytes = options["pages"], options["page_bytes"]
        self._pages = MovedUnits("pages", pages, page_bytes, time.thread_time_ns, least=0.9, most=math.inf)
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
        return self._pages.us_each(self.found, "syscall_read_bytes")

    def cached_us(self) -> float:
        return self._pages.us_each(lambda: self._writing.text(_SCAN), None)

    def write_us(self) -> float:
        self._writing.text("BEGIN IMMEDIATE")
        self._writing.text(_CHANGE)
        return self._pages.us_each(lambda: self._writing.text("COMMIT"), None)

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

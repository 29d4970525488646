"""What a page costs Turso to read and to write, plain and encrypted.

As in `tdelta.engines.turso.proof` one row fills a page and files are scanned on connections that were made anew; but
every pass counts, since what one differs from the next is how sure a price is. Writing is the commit of a transaction
that changed every page, and the move of the log into the file. Turso runs every page through its cipher each time that
it reads it from a file, or writes it into the log or into the file, and so bytes count pages: a test holds that.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Mapping
from typing import Any

from tdelta.engines.shared.moved_units import MovedUnits
from tdelta.engines.turso.database import Database
from tdelta.engines.turso.proof import BODY_BYTES, PAGE_BYTES

PAGES = 512
"""Fewer than the thousand pages of log from which on a commit moves them into the file by itself."""

_PAGES = MovedUnits("pages", PAGES, PAGE_BYTES, time.thread_time_ns, least=0.9, most=math.inf)
"""Turso works in the thread that asks; a page goes into the log and into the file."""

_MAKE = (
    "CREATE TABLE page (number INTEGER PRIMARY KEY, mark INTEGER NOT NULL, body BLOB NOT NULL)",
    f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {PAGES})"
    f" INSERT INTO page SELECT n, 0, randomblob({BODY_BYTES}) FROM numbers",
)
_SCAN = "SELECT sum(length(body)) FROM page"
_CHANGE = ("BEGIN IMMEDIATE", "UPDATE page SET mark = 1 - mark")
_EXPECTED = str(PAGES * BODY_BYTES)


class _Priced:
    """One file."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._database = Database(options)
        self.close = self._database.close
        try:
            self._database.run(*_MAKE)
            self._database.settle()
        except BaseException:
            self.close()
            raise

    def read_us(self) -> float:
        """The CPU time of a scan on a new connection, µs for each page that it read."""
        self._database.reopen()
        return _PAGES.us_each(self._scan, "syscall_read_bytes")

    def cached_us(self) -> float:
        """The CPU time of a scan of pages that the connection has, µs per page."""
        self._scan()
        return _PAGES.us_each(self._scan, None)

    def write_us(self) -> float:
        """The CPU time of writing every page, µs for each page that went into the log or into the file."""
        self._database.run(*_CHANGE)
        return _PAGES.us_each(self._write, "syscall_written_bytes")

    def _scan(self) -> None:
        if (found := self._database.text(_SCAN)) != _EXPECTED:
            raise ValueError(f"a scan of {PAGES} rows found {found} bytes, expected {_EXPECTED}")

    def _write(self) -> None:
        self._database.run("COMMIT")
        self._database.settle()


def page_prices(files: Mapping[str, Mapping[str, Any]], passes: int) -> dict[str, list[float]]:
    """Make files, and time their pages alternately.

    Args:
        files: ``plain`` and ``encrypted``, each the options of `tdelta.engines.turso.engine.TursoEngine.options`, with
            a cache for all of its pages.
        passes: over the files that count; one more goes before them.

    Returns:
        By name the µs of CPU a page of each pass: ``plain_read`` and ``plain_write`` of a plain page; ``read`` and
        ``write`` what an encrypted one takes beyond that.

    Raises:
        ClientError: what Turso says.
        ValueError: a scan did not find its rows, or pages were not read or not written.
    """
    with contextlib.ExitStack() as stack:
        opened = {}
        for name, options in files.items():
            opened[name] = _Priced(options)
            stack.callback(opened[name].close)
        _pass(opened)  # what asks the CPU for its instructions, and fills the caches
        found = [_pass(opened) for _ in range(passes)]
    return {name: [one[name] for one in found] for name in found[0]}


def _pass(opened: Mapping[str, _Priced]) -> dict[str, float]:
    read = {name: file.read_us() for name, file in opened.items()}
    cached = opened["plain"].cached_us()
    write = {name: file.write_us() for name, file in opened.items()}
    return {
        "plain_read": read["plain"] - cached,
        "plain_write": write["plain"],
        "read": read["encrypted"] - read["plain"],
        "write": write["encrypted"] - write["plain"],
    }

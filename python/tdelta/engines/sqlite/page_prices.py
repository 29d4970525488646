"""What a page costs the library under test to read and to write, plain, encrypted, and encrypted without its MAC.

As in `tdelta.engines.sqlite.pages` one row fills a page and the thread's CPU time is taken in the worker that has
loaded the library; but here the prices are to be laid to other work, so files are larger than a second-level cache,
pages are written, too, and every pass counts: what one pass differs from the next is how sure a price is.

Reading is a scan through a cache that holds next to nothing; a plain page's price is that scan of the plain file,
less the same scan through a cache that holds it all. Writing is the commit of a transaction that changed every page.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from tdelta import _native

PAGES = 2048
SPARE_BYTES = 80
"""Of a page, beside its one row and what is reserved: its header, the cell's, and the limit of a cell that is whole."""

_SCAN = "SELECT sum(length(body)) FROM page"
_CHANGE = "UPDATE page SET mark = 1 - mark"
"""0 and 1 are kept in a byte of the record's header, so every row is changed in its place."""


class _Priced:
    """One file, open twice: through a cache that holds nothing of it, and through one that holds it all."""

    def __init__(self, options: Mapping[str, Any], body_bytes: int) -> None:
        made = _native.SqliteTwin(json.dumps(options["create"]), 1)
        try:
            made.text("CREATE TABLE page (number INTEGER PRIMARY KEY, mark INTEGER NOT NULL, body BLOB NOT NULL)")
            made.text(
                f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {PAGES})"
                f" INSERT INTO page SELECT n, 0, randomblob({body_bytes}) FROM numbers"
            )
        finally:
            made.close()
        self._expected = str(PAGES * body_bytes)
        self._open = [_native.SqliteTwin(json.dumps(options[name]), 1) for name in ("reading", "writing")]

    def read_us(self, *, cached: bool = False) -> float:
        twin = self._open[1 if cached else 0]
        began_ns = time.thread_time_ns()
        found = twin.text(_SCAN)
        took_ns = time.thread_time_ns() - began_ns
        if found != self._expected:
            raise ValueError(f"a scan of {PAGES} rows found {found} bytes, expected {self._expected}")
        return took_ns / PAGES / 1000

    def write_us(self) -> float:
        twin = self._open[1]
        twin.text("BEGIN IMMEDIATE")
        twin.text(_CHANGE)
        began_ns = time.thread_time_ns()
        twin.text("COMMIT")
        return (time.thread_time_ns() - began_ns) / PAGES / 1000

    def close(self) -> None:
        for twin in self._open:
            twin.close()


def page_prices(files: Mapping[str, Mapping[str, Any]], body_bytes: int, passes: int) -> dict[str, list[float]]:
    """Time pages of these files, alternately.

    Args:
        files: ``plain`` and ``encrypted``, and ``bare`` where there is the same cipher without its MAC: each the
            options to ``create`` it, and to open it for ``reading`` and ``writing``.
        body_bytes: of a row, so that one fills a page.
        passes: over the files that count; one more goes before them.

    Returns:
        By name the µs of CPU a page of each pass: ``plain_read`` and ``plain_write`` of a plain page; ``read`` and
        ``write`` what an encrypted one takes beyond that, ``bare_read`` and ``bare_write`` without its MAC.

    Raises:
        ValueError: a scan did not find its rows.
    """
    opened = {name: _Priced(options, body_bytes) for name, options in files.items()}
    try:
        _pass(opened)  # what asks the CPU for its instructions, and fills the caches
        found = [_pass(opened) for _ in range(passes)]
    finally:
        for file in opened.values():
            file.close()
    return {name: [one[name] for one in found] for name in found[0]}


def _pass(opened: Mapping[str, _Priced]) -> dict[str, float]:
    read = {name: file.read_us() for name, file in opened.items()}
    cached = opened["plain"].read_us(cached=True)
    write = {name: file.write_us() for name, file in opened.items()}
    found = {"plain_read": read["plain"] - cached, "plain_write": write["plain"]}
    for name in opened:
        if name != "plain":
            prefix = "" if name == "encrypted" else f"{name}_"
            found[f"{prefix}read"] = read[name] - read["plain"]
            found[f"{prefix}write"] = write[name] - write["plain"]
    return found

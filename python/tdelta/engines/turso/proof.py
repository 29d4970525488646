"""What a page costs Turso to read, plain and encrypted: timed in the worker whose AES instructions are in question.

One row fills a page. Both files are scanned alternately, each time on connections that were made anew, whose caches are
empty, so every scan reads and decrypts every page; what counts is the least CPU time of the thread, since whatever else
there is only adds.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any

from tdelta import _native
from tdelta.engines.turso.database import Database
from tdelta.measure.aes import preload

PAGES = 512
PAGE_BYTES = 4096
BODY_BYTES = 3900
"""More than half of a page's cells, and with its header within one page that reserves up to 150 bytes."""

SCANS = 25
_READ_SHARE = 0.9
"""Of the pages, the share that must come from the file in every scan, or the cache was timed."""

_MAKE = (
    "CREATE TABLE page (number INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {PAGES})"
    f" INSERT INTO page SELECT n, randomblob({BODY_BYTES}) FROM numbers",
)
_SCAN = "SELECT sum(length(body)) FROM page"


def page_costs(plain: Mapping[str, Any], encrypted: Mapping[str, Any]) -> dict[str, object]:
    """Make both files, and time what a page of each costs to read.

    Args:
        plain: options of the plain file, as `tdelta.engines.turso.engine.TursoEngine.options` gives them.
        encrypted: of the other.

    Returns:
        The cost of a plain page, what the cipher adds to it (µs of CPU), and what the preload of this process did.

    Raises:
        ValueError: a scan did not find its rows, or did not read its pages.
    """
    with contextlib.ExitStack() as stack:
        files = []
        for options in (plain, encrypted):
            files.append(Database(options))
            stack.callback(files[-1].close)
            files[-1].run(*_MAKE)
            files[-1].settle()
            _scan_ns(files[-1])  # the first one, which asks what the CPU can do, does not count
        times = [[_scan_ns(file) for file in files] for _ in range(SCANS)]
        library = f"Turso {files[0].text('SELECT turso_version()')}"
    plain_ns, encrypted_ns = (min(of_one) for of_one in zip(*times, strict=True))
    state = preload()
    return {
        "library": library,
        "plain_us_per_page": plain_ns / PAGES / 1000,
        "cipher_us_per_page": (encrypted_ns - plain_ns) / PAGES / 1000,
        "mode": state.mode,
        "patched": state.patched,
        "unpatched": state.unpatched,
        "answered": state.answered,
    }


def _scan_ns(file: Database) -> int:
    file.reopen()
    read_before, began_ns = _native.process_usage()["syscall_read_bytes"], time.thread_time_ns()
    found = file.text(_SCAN)
    took_ns = time.thread_time_ns() - began_ns
    if found != str(PAGES * BODY_BYTES):
        raise ValueError(f"a scan of {PAGES} rows of {BODY_BYTES} bytes found {found} bytes")
    read = _native.process_usage()["syscall_read_bytes"] - read_before
    if read_before and read < _READ_SHARE * PAGES * PAGE_BYTES:
        raise ValueError(f"a scan of {PAGES * PAGE_BYTES:,} bytes read {read:,} from the file")
    return took_ns

"""What a page costs DuckDB to read, plain and encrypted: timed in the worker whose AES instructions are in question.

Both files hold the same incompressible numbers and are scanned alternately, by one thread, each time by a file that was
attached anew, so that every scan reads and decrypts every block. What counts is the least CPU time of the process,
since whatever else there is only adds.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any

from tdelta import _native
from tdelta.engines.duckdb.database import Database
from tdelta.measure.aes import PreloadMode

ROWS = 1 << 20
SCANS = 11
PAGE_BYTES = 4096
"""What is told is for so many bytes, as of other engines; DuckDB's blocks are larger."""

_PAGES = ROWS * 8 // PAGE_BYTES
_READ_SHARE = 0.9
_MAKE = f"CREATE TABLE page AS SELECT hash(i) AS body FROM range({ROWS}) AS numbers(i)"
_SCAN = "SELECT bit_xor(body) FROM page"


def page_times(plain: Mapping[str, Any], encrypted: Mapping[str, Any]) -> dict[str, object]:
    """Make both files, and time what a page of each costs to read.

    Args:
        plain: options of the plain file, as `tdelta.engines.duckdb.engine.DuckdbEngine.options` gives them.
        encrypted: of the other.

    Returns:
        The cost of a plain page, and what the cipher adds to it (µs of CPU); no preload is at work here.

    Raises:
        ValueError: the scans found different rows, or did not read their blocks.
    """
    with contextlib.ExitStack() as stack:
        files = []
        for options in (plain, encrypted):
            files.append(Database({**options, "threads": 1}))
            stack.callback(files[-1].close)
            files[-1].run(_MAKE)
            files[-1].checkpoint()
        expected = {_scan_ns(file)[1] for file in files}  # the first scans, which ask what the CPU can do, do not count
        scanned = [[_scan_ns(file) for file in files] for _ in range(SCANS)]
        library = f"DuckDB {files[0].text('SELECT version()')}"
    if len(expected | {found for scans in scanned for _, found in scans}) != 1:
        raise ValueError("scans of the same rows, plain and encrypted, found different ones")
    plain_ns, encrypted_ns = (min(scans[place][0] for scans in scanned) for place in (0, 1))
    return {
        "library": library,
        "plain_us_per_page": plain_ns / _PAGES / 1000,
        "cipher_us_per_page": (encrypted_ns - plain_ns) / _PAGES / 1000,
        "mode": PreloadMode.NONE,
        "patched": 0,
        "unpatched": 0,
        "answered": 0,
    }


def _scan_ns(file: Database) -> tuple[int, str]:
    file.cool(lambda _folder: None)
    read_before, began_ns = _native.process_usage()["syscall_read_bytes"], time.process_time_ns()
    found = file.text(_SCAN)
    took_ns = time.process_time_ns() - began_ns
    read = _native.process_usage()["syscall_read_bytes"] - read_before
    if read_before and read < _READ_SHARE * _PAGES * PAGE_BYTES:
        raise ValueError(f"a scan of {_PAGES * PAGE_BYTES:,} bytes read {read:,} from the file")
    return took_ns, found

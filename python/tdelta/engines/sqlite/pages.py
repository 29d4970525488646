"""What a page costs the library under test to read, plain and encrypted: timed in the worker that has loaded it.

One row fills a page. Both files are scanned alternately through a cache that holds next to nothing, so every scan reads
and decrypts every page; what counts is the least CPU time of the thread, since whatever else there is only adds.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import NamedTuple

from tdelta import _native
from tdelta.measure.aes import preload
from tdelta.measure.procfs import read_text

PAGES = 512
PAGE_BYTES = 4096
BODY_BYTES = 3900
"""More than half of a page's cells, and with its header within one page that reserves up to 150 bytes."""
SCANS = 25
_READ_SHARE = 0.9
"""Of the pages, the share that must come from the file in every scan, or the cache was timed."""

_MAKE = (
    "CREATE TABLE page (number INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {PAGES}) "
    f"INSERT INTO page SELECT n, randomblob({BODY_BYTES}) FROM numbers",
)
_SCAN = "SELECT sum(length(body)) FROM page"


class Files(NamedTuple):
    """How one file is made and then opened to be read, as the engine's options; they hold a key, so none is printed."""

    create: dict[str, object]
    open: dict[str, object]

    def __repr__(self) -> str:
        return "Files()"


def page_times(plain: Files, encrypted: Files) -> dict[str, object]:
    """Make both files, and time what a page of each costs to read.

    Returns:
        The cost of a plain page, what the cipher adds to it (µs of CPU), and what the preload of this process did.

    Raises:
        ValueError: a scan did not find its rows, or did not read its pages.
    """
    for files in (plain, encrypted):
        _make(files)
    twins = [_native.SqliteTwin(json.dumps(files.open), 1) for files in (plain, encrypted)]
    try:
        plain_ns, encrypted_ns = _least_scans_ns(twins)
    finally:
        for twin in twins:
            twin.close()
    state = preload()
    return {
        "plain_us_per_page": plain_ns / PAGES / 1000,
        "cipher_us_per_page": (encrypted_ns - plain_ns) / PAGES / 1000,
        "mode": state.mode,
        "patched": state.patched,
        "unpatched": state.unpatched,
        "answered": state.answered,
    }


def _make(files: Files) -> None:
    twin = _native.SqliteTwin(json.dumps(files.create), 1)
    try:
        for sql in _MAKE:
            twin.text(sql)
    finally:
        twin.close()


def _least_scans_ns(twins: list[_native.SqliteTwin]) -> list[int]:
    """The least CPU time of a whole scan of each, alternately; the first scans, which ask CPUID, are left out."""
    for twin in twins:
        _scan_ns(twin)
    answered = preload().answered
    times_ns = [[_scan_ns(twin) for twin in twins] for _ in range(SCANS)]
    if (asked := preload().answered - answered) >= SCANS:
        raise ValueError(
            f"CPUID was asked {asked} times in {SCANS} scans, so the pages' cost would hold that of signals"
        )
    return [min(of_one) for of_one in zip(*times_ns, strict=True)]


def _scan_ns(twin: _native.SqliteTwin) -> int:
    read_before = _syscall_read_bytes()
    began_ns = time.thread_time_ns()
    found = twin.text(_SCAN)
    took_ns = time.thread_time_ns() - began_ns
    if found != str(PAGES * BODY_BYTES):
        raise ValueError(f"a scan of {PAGES} rows of {BODY_BYTES} bytes found {found} bytes")
    if read_before is not None and (_syscall_read_bytes() or 0) - read_before < _READ_SHARE * PAGES * PAGE_BYTES:
        raise ValueError(f"a scan of {PAGES} pages did not read them from the file")
    return took_ns


def _syscall_read_bytes() -> int | None:
    """Bytes that this process asked the kernel to read; None where the kernel does not count them."""
    for line in (read_text(Path("/proc/self/io")) or "").splitlines():
        name, _, value = line.partition(": ")
        if name == "rchar":
            return int(value)
    return None

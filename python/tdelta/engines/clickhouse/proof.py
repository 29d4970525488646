"""What AES costs ClickHouse for a page: timed in the worker whose AES instructions are in question.

The same OpenSSL that encrypts files is behind the SQL function ``encrypt``. Strings of half a megabyte are encrypted by
one thread, so that what is done for each call hardly counts; the same strings are hashed for comparison. What counts is
the least CPU time of the process, since whatever else there is only adds.
"""

from __future__ import annotations

import time

from tdelta.engines.clickhouse.database import Database
from tdelta.measure.aes import PreloadMode

PAGE_BYTES = 4096
_STRING_BYTES = 1 << 19
_STRINGS = 64
TURNS = 7
_PAGES = _STRINGS * _STRING_BYTES // PAGE_BYTES
_BODY = f"materialize(repeat('x', {_STRING_BYTES}))"
_FROM = f"FROM numbers({_STRINGS}) SETTINGS max_threads = 1, max_block_size = 4"
_PLAIN = f"SELECT sum(cityHash64({_BODY})) {_FROM}"
_ENCRYPTED = f"SELECT sum(length(encrypt('aes-256-ctr', {_BODY}, repeat('k', 32), repeat('i', 16)))) {_FROM}"


def page_costs(database: Database) -> dict[str, object]:
    """What a page of 4096 bytes costs to hash, and to encrypt by AES-256 in CTR (µs of CPU); no preload is at work.

    Raises:
        ValueError: not all of it was encrypted.
    """
    if database.text(_ENCRYPTED) != str(_STRINGS * _STRING_BYTES):  # the first time does not count
        raise ValueError(f"expected {_STRINGS * _STRING_BYTES:,} encrypted bytes")
    database.text(_PLAIN)
    costs = {sql: min(_cpu_us(database, sql) for _ in range(TURNS)) / _PAGES for sql in (_PLAIN, _ENCRYPTED)}
    return {
        "library": f"ClickHouse {database.text('SELECT version()')}",
        "plain_us_per_page": costs[_PLAIN],
        "cipher_us_per_page": costs[_ENCRYPTED],
        "mode": PreloadMode.NONE,
        "patched": 0,
        "unpatched": 0,
        "answered": 0,
    }


def _cpu_us(database: Database, sql: str) -> float:
    began_ns = time.process_time_ns()
    database.text(sql)
    return (time.process_time_ns() - began_ns) / 1000

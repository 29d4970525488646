"""Blocks of one DuckDB file, timed in the worker whose AES instructions are in question.

Before each scan the file is detached and attached again, so that every block is read and decrypted. The numbers in it
are random and cannot be compressed. For writing, a table is created from numbers in memory, with compression disabled,
and a checkpoint writes it to the file.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from tdelta.engines.duckdb.database import BLOCK_BYTES, Database
from tdelta.engines.embedded.prices import MovedUnits, PricedFile

_ROWS = 1 << 20
_BLOCKS = MovedUnits("blocks", _ROWS * 8 / BLOCK_BYTES, BLOCK_BYTES, time.process_time_ns, least=0.75, most=1.25)
_PAGE_BYTES = 4096

_NUMBERS = f"CREATE TABLE memory.main.numbers AS SELECT hash(i) AS body FROM range({_ROWS}) AS numbers(i)"
_MAKE = "CREATE OR REPLACE TABLE page AS SELECT body FROM memory.main.numbers"
_MAKE_IN_MEMORY = "CREATE OR REPLACE TABLE memory.main.page AS SELECT body FROM memory.main.numbers"


class PricedBlocks(PricedFile):
    proof_scans = 11
    units_in_a_page = _PAGE_BYTES / BLOCK_BYTES

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._database = Database(options)
        try:
            self._database.run("SET force_compression = 'uncompressed'", _NUMBERS)
            self._write()
        except BaseException:
            self.close()
            raise

    def found(self) -> str:
        return self._database.text("SELECT bit_xor(body) FROM page")

    def write_us(self) -> float:
        return _BLOCKS.us_each(self._write, "syscall_written_bytes")

    def read_us(self) -> float:
        self._database.cool(lambda _folder: None)
        return _BLOCKS.us_each(self.found, "syscall_read_bytes")

    def cached_us(self) -> float:
        return _BLOCKS.us_each(self.found, None)

    def in_memory_us(self) -> float:
        return _BLOCKS.us_each(lambda: self._database.run(_MAKE_IN_MEMORY), None)

    def close(self) -> None:
        self._database.close()

    def _write(self) -> None:
        self._database.run(_MAKE)
        self._database.checkpoint()

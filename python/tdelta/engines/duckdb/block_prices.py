"""What a block costs DuckDB to read and to write, plain, encrypted, and encrypted without its MAC.

As in `tdelta.engines.duckdb.proof` files of the same incompressible numbers are scanned alternately, attached anew each
time, so that every block is read and decrypted; but by as many threads as the twin's queries have, and every pass
counts, since what one differs from the next is how sure a price is. Writing is a table made anew out of numbers in
memory, which DuckDB is told not to compress, and the checkpoint that puts it into the file.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tdelta import _native
from tdelta.engines.duckdb.database import Database
from tdelta.engines.duckdb.statements import BLOCK_BYTES


@dataclass(frozen=True, slots=True)
class MovedUnits:
    """What a piece of work has to move, and how it is timed.

    Args:
        name: what they are called, in the plural.
        count: how many there are.
        unit_bytes: what one of them takes in a file.
        clock_ns: the CPU time so far, ns, of the thread or of the process, whichever does the work.
        least: the share of them that must be moved, or something else was timed.
        most: the share from which on more than they was moved.
    """

    name: str
    count: float
    unit_bytes: int
    clock_ns: Callable[[], int]
    least: float
    most: float

    def us_each(self, work: Callable[[], None], moved: str | None) -> float:
        """The CPU time over those that were moved, µs.

        Args:
            moved: the bytes of the process that say how many; None where all were worked on in memory.

        Raises:
            ValueError: too few were moved, or too many.
        """
        before, began_ns = _native.process_usage(), self.clock_ns()
        work()
        took_us = (self.clock_ns() - began_ns) / 1000
        if moved is None or not before["syscall_read_bytes"]:  # where the system does not count bytes
            return took_us / self.count
        found: float = (_native.process_usage()[moved] - before[moved]) / self.unit_bytes
        if not self.least <= found / self.count <= self.most:
            raise ValueError(
                f"expected some {self.count:g} {self.name} of {moved.replace('_', ' ')}, found {found:.1f}"
            )
        return took_us / found


ROWS = 1 << 20
_BLOCKS = MovedUnits("blocks", ROWS * 8 / BLOCK_BYTES, BLOCK_BYTES, time.process_time_ns, least=0.75, most=1.25)
FEWEST_PASSES = 3

_NUMBERS = f"CREATE TABLE memory.main.numbers AS SELECT hash(i) AS body FROM range({ROWS}) AS numbers(i)"
_MAKE = "CREATE OR REPLACE TABLE page AS SELECT body FROM memory.main.numbers"
_MAKE_IN_MEMORY = "CREATE OR REPLACE TABLE memory.main.page AS SELECT body FROM memory.main.numbers"
_SCAN = "SELECT bit_xor(body) FROM page"


class _Priced:
    def __init__(self, options: Mapping[str, Any]) -> None:
        self._database = Database(options)
        self.close = self._database.close
        try:
            self._database.run("SET force_compression = 'uncompressed'", _NUMBERS)
            self._write()
        except BaseException:
            self.close()
            raise

    def write_us(self) -> float:
        """The CPU time of making the table anew, µs a block."""
        return _BLOCKS.us_each(self._write, "syscall_written_bytes")

    def read_us(self) -> float:
        """The CPU time of a scan of a file that was attached anew, µs a block."""
        self._database.cool(lambda _folder: None)
        return _BLOCKS.us_each(self._scan, "syscall_read_bytes")

    def cached_us(self) -> float:
        """The CPU time of a scan of blocks that are in DuckDB's memory, µs a block."""
        return _BLOCKS.us_each(self._scan, None)

    def in_memory_us(self) -> float:
        """The CPU time of making the table in memory, µs a block."""
        return _BLOCKS.us_each(lambda: self._database.run(_MAKE_IN_MEMORY), None)

    def found(self) -> str:
        return self._database.text(_SCAN)

    def _scan(self) -> None:
        self._database.text(_SCAN)

    def _write(self) -> None:
        self._database.run(_MAKE)
        self._database.checkpoint()


def block_prices(files: Mapping[str, Mapping[str, Any]], repeats: int, least_seconds: float) -> dict[str, list[float]]:
    """Make files, and time their blocks alternately.

    Args:
        files: ``plain`` and ``encrypted``, and ``bare`` where there is the same cipher without its MAC: each the
            options of `tdelta.engines.duckdb.engine.DuckdbEngine.options`, with memory for all of its blocks.
        repeats: writes and scans of each file, of which a pass is the mean.
        least_seconds: from here on no further pass is begun, once there are the fewest.

    Returns:
        By name the µs of CPU a block of each pass, three or more, as `tdelta.engines.sqlite.page_prices` has
        them of pages. ``plain_write`` is what a table in a file takes beyond one in memory.

    Raises:
        ClientError: what DuckDB says.
        ValueError: the scans found different rows, or did not read or write their blocks.
    """
    with contextlib.ExitStack() as stack:
        opened = {}
        for name, options in files.items():
            opened[name] = _Priced(options)
            stack.callback(opened[name].close)
        if len({file.found() for file in opened.values()}) != 1:
            raise ValueError("scans of the same rows, plain and encrypted, found different ones")
        _repeat(opened)  # what asks the CPU for its instructions, and fills the caches
        began, passes = time.monotonic(), list[dict[str, float]]()
        while len(passes) < FEWEST_PASSES or time.monotonic() - began < least_seconds:
            taken = [_repeat(opened) for _ in range(repeats)]
            passes.append({name: sum(one[name] for one in taken) / repeats for name in taken[0]})
    return {name: [one[name] for one in passes] for name in passes[0]}


def _repeat(opened: Mapping[str, _Priced]) -> dict[str, float]:
    write = {name: file.write_us() for name, file in opened.items()}
    read = {name: file.read_us() for name, file in opened.items()}
    plain = opened["plain"]
    found = {"plain_read": read["plain"] - plain.cached_us(), "plain_write": write["plain"] - plain.in_memory_us()}
    for name in opened:
        if name != "plain":
            prefix = "" if name == "encrypted" else f"{name}_"
            found[f"{prefix}read"] = read[name] - read["plain"]
            found[f"{prefix}write"] = write[name] - write["plain"]
    return found

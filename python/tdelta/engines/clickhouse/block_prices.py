"""What so many bytes cost ClickHouse to read and to write, plain and encrypted.

Two tables of the same incompressible numbers, which ClickHouse is asked not to compress, lie on the encrypted disk and
on the one below it, and are written and scanned alternately in one process. CTR takes as long for each byte, however
they are cut into files and requests: in software 3.0 to 3.2 ns were seen for each byte of one large column, of twenty
small compressed ones, and of sixty-four parts. What requests of small columns take beyond has no price: it is in the
rest.
"""

from __future__ import annotations

import time

from tdelta.engines.clickhouse.database import Database
from tdelta.engines.clickhouse.engine import BELOW, BLOCK_BYTES, DISK
from tdelta.engines.shared.moved_units import MovedUnits

ROWS = 1 << 20
_BLOCKS = MovedUnits("blocks", ROWS * 8 / BLOCK_BYTES, BLOCK_BYTES, time.process_time_ns, least=0.75, most=1.25)
FEWEST_PASSES = 5

_DISKS = {"plain": BELOW, "encrypted": DISK}
_NUMBERS = (
    "CREATE TABLE price_numbers (body UInt64) ENGINE = Memory",
    f"INSERT INTO price_numbers SELECT cityHash64(number) FROM numbers({ROWS})",
    "CREATE TABLE price_memory (body UInt64) ENGINE = Memory",
)


class _Priced:
    """One table."""

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = f"price_{name}"

    def write_us(self, moved: str | None = "syscall_written_bytes") -> float:
        """The CPU time of filling it, µs a block."""
        self._database.run(f"TRUNCATE TABLE {self._name}")
        return _BLOCKS.us_each(
            lambda: self._database.run(f"INSERT INTO {self._name} SELECT body FROM price_numbers"), moved
        )

    def read_us(self, moved: str | None = "syscall_read_bytes") -> float:
        """The CPU time of a scan, µs a block."""
        return _BLOCKS.us_each(lambda: self._database.run(f"SELECT sum(body) FROM {self._name}"), moved)

    def found(self) -> str:
        """What a scan finds."""
        return self._database.text(f"SELECT sum(body) FROM {self._name}")


def block_prices(database: Database, repeats: int, least_seconds: float) -> dict[str, list[float]]:
    """Make tables on an encrypted database's disks, and time their bytes alternately.

    Args:
        database: an empty one, with an encrypted disk.
        repeats: writes and scans of each table, of which a pass is the mean.
        least_seconds: from here on no further pass is begun, once there are the fewest.

    Returns:
        By name the µs of CPU for `BLOCK_BYTES` of each pass: ``plain_read`` and ``plain_write`` of a plain file, beyond
        a table in memory; ``read`` and ``write`` what an encrypted one takes beyond that.

    Raises:
        ClientError: what ClickHouse says.
        ValueError: the scans found different rows, or did not read or write their bytes.
    """
    database.run(*_NUMBERS)
    memory = _Priced(database, "memory")
    tables = {}
    for name, disk in _DISKS.items():
        columns = "(body UInt64 CODEC(NONE)) ENGINE = MergeTree ORDER BY tuple()"
        database.run(f"CREATE TABLE price_{name} {columns} SETTINGS disk = '{disk}'")
        tables[name] = _Priced(database, name)
    _repeat(tables, memory)  # what asks the CPU for its instructions, and fills the caches
    if len({table.found() for table in (*tables.values(), memory)}) != 1:
        raise ValueError("scans of the same rows, plain and encrypted, found different ones")
    began, passes = time.monotonic(), list[dict[str, float]]()
    while len(passes) < FEWEST_PASSES or time.monotonic() - began < least_seconds:
        taken = [_repeat(tables, memory) for _ in range(repeats)]
        passes.append({name: sum(one[name] for one in taken) / repeats for name in taken[0]})
    return {name: [one[name] for one in passes] for name in passes[0]}


def _repeat(tables: dict[str, _Priced], memory: _Priced) -> dict[str, float]:
    """A write and a scan of each table."""
    write = {name: table.write_us() for name, table in tables.items()}
    read = {name: table.read_us() for name, table in tables.items()}
    return {
        "plain_read": read["plain"] - memory.read_us(None),
        "plain_write": write["plain"] - memory.write_us(None),
        "read": read["encrypted"] - read["plain"],
        "write": write["encrypted"] - write["plain"],
    }

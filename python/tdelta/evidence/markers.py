"""The rows by which plaintext is recognised: 512 of 64 random bytes, drawn from the run's seed, the same on every twin.

They are incompressible, so that no compression of columns or pages hides them, and no two begin alike, so that no
dictionary swallows what is searched for. That is the first 16 bytes of 32 of them; the chance that random bytes read
like one of these is 2^-123 a place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tdelta.design import stream
from tdelta.workloads.dialect import Dialect

TABLE = "tdelta_marker"  # the name of the table; no workload may have one of that name
COLUMNS = ("id", "marker")
MARKER_BYTES = 64
MARKER_ROWS = 512
_NEEDLE_BYTES = 16
_NEEDLES = 32


def table_sql(dialect: Dialect) -> str:
    of_bytes = dialect.bytes_type.format(MARKER_BYTES)
    return f"CREATE TABLE {TABLE} (id INTEGER PRIMARY KEY, marker {of_bytes} NOT NULL)"


@dataclass(frozen=True, slots=True)
class Markers:
    """The planted rows in the order of their ids (from 1), and the bytes that are searched for."""

    rows: tuple[bytes, ...]
    needles: tuple[bytes, ...]

    @classmethod
    def drawn(cls, seed: int) -> Markers:
        rng = stream(seed, "markers")
        rows = tuple(rng.bytes(MARKER_BYTES) for _ in range(MARKER_ROWS))
        sample = rng.permutation(MARKER_ROWS)[:_NEEDLES]
        return cls(rows, tuple(rows[number][:_NEEDLE_BYTES] for number in sorted(sample)))

    def table_sql(self, dialect: Dialect) -> tuple[str, str]:
        """The statements that make the table and fill it, where rows are not made by a load."""
        rows = ", ".join(
            f"({number}, {dialect.bytes_literal.format(row.hex())})" for number, row in enumerate(self.rows, start=1)
        )
        return table_sql(dialect), f"INSERT INTO {TABLE} (id, marker) VALUES {rows}"

    def table_plan(self) -> Mapping[str, object]:
        marker = {"name": "marker", "distribution": "bytes", "hex": [row.hex() for row in self.rows]}
        return {"name": TABLE, "rows": len(self.rows), "columns": [{"name": "id", "distribution": "serial"}, marker]}

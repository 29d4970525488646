"""MySQL's SQL as each engine of its family speaks it.

A key of several columns is no range of rows for its indexes
(https://dev.mysql.com/doc/refman/8.4/en/row-constructor-optimization.html), so it is spelled out.
"""

from __future__ import annotations

from tdelta.workloads.dialect import FLIPPED, Dialect


def mysql_dialect(name: str) -> Dialect:
    """The dialect, by the name of the engine that speaks it."""
    return Dialect(
        name=name,
        sqlglot="mysql",
        bytes_type="VARBINARY({})",
        quote="`",
        turned={
            "text": "concat(substr({column}, 2), substr({column}, 1, 1))",
            "integer": FLIPPED,
            "decimal": "concat(left({column}, char_length({column}) - 1), (right({column}, 1) + 5) % 10)",
            "real": "{column} * 1.0000000000000002e0",
        },
        has_ordered_rows=False,
        doubles_backslashes=True,
        explain="EXPLAIN FORMAT=JSON",
    )

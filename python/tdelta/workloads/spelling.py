"""How proposals and key tables are spelled for each engine: names, turned values, keys of several columns.

On servers columns have types, so a turned value is of the column's own; SQLite asks each value for its type. A key of
several columns is compared as a row where the engine's indexes serve that; MySQL's do not
(https://dev.mysql.com/doc/refman/8.4/en/row-constructor-optimization.html), so there it is spelled out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spelling:
    """One engine's. ``dialect`` is sqlglot's name; ``turned`` has another value of the same length by kind.

    ``has_types``: what is selected makes a table of the same types, and every derived table needs a name.
    """

    dialect: str
    quote: str
    turned: Mapping[str, str]
    has_types: bool
    has_ordered_rows: bool

    def quoted(self, name: str) -> str:
        """A name as this engine quotes it."""
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote

    def equal(self, columns: Sequence[str], drawn: Sequence[str]) -> str:
        """That a key of several columns is the one that was drawn."""
        return " AND ".join(f"{column} = {value}" for column, value in zip(columns, drawn, strict=True))

    def from_there(self, columns: Sequence[str], drawn: Sequence[str]) -> str:
        """That a key of several columns is the one that was drawn, or comes after it."""
        if len(columns) == 1:
            return f"{columns[0]} >= {drawn[0]}"
        if self.has_ordered_rows:
            return f"({', '.join(columns)}) >= ({', '.join(drawn)})"
        behind = self.from_there(columns[1:], drawn[1:])
        return f"{columns[0]} >= {drawn[0]} AND ({columns[0]} > {drawn[0]} OR ({behind}))"


def _of_values(turned: Mapping[str, str]) -> dict[str, str]:
    """For columns whose values may be of any type."""
    return {
        storage: f"CASE typeof({{column}}) WHEN '{storage}' THEN {expression} ELSE {{column}} END"
        for storage, expression in turned.items()
    }


_FLIPPED = "CASE WHEN {column} % 2 = 0 THEN {column} + 1 ELSE {column} - 1 END"
"""The last bit of an integer, without the bit operators, which make MySQL's unsigned."""

SQLITE = Spelling(
    "sqlite",
    '"',
    _of_values(
        {
            "text": "substr({column}, 2) || substr({column}, 1, 1)",
            "integer": "({column} | 1) - ({column} & 1)",
            "real": "{column} * 1.0000000000000002",
        }
    ),
    has_types=False,
    has_ordered_rows=True,
)
"""The factor is the least double above 1."""

MYSQL = Spelling(
    "mysql",
    "`",
    {
        "text": "concat(substr({column}, 2), substr({column}, 1, 1))",
        "integer": _FLIPPED,
        "real": "{column} * 1.0000000000000002e0",
    },
    has_types=True,
    has_ordered_rows=False,
)
POSTGRES = Spelling(
    "postgres",
    '"',
    {
        "text": "substr(CAST({column} AS text), 2) || substr(CAST({column} AS text), 1, 1)",
        "integer": _FLIPPED,
        "real": "{column} * CAST(1.0000000000000002 AS double precision)",
    },
    has_types=True,
    has_ordered_rows=True,
)
SPELLINGS: Mapping[str, Spelling] = {"sqlite": SQLITE, "mariadb": MYSQL, "mysql": MYSQL, "postgres": POSTGRES}
"""Each engine's spelling."""

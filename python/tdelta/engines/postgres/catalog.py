"""PostgreSQL's catalog (``pg_catalog``); the statements are in ``catalog.sql``.

Left out, each with its reason: foreign tables, and tables of other schemas than the one asked about. Views are no
tables and are not mentioned.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

from tdelta.engines.server import catalog as describing
from tdelta.engines.server.sessions import Ask, literal, statements
from tdelta.messages import Caution


class PostgresCatalog(describing.Catalog):
    sql = statements("tdelta.engines.postgres", "catalog.sql")
    kinds = MappingProxyType(
        {
            **dict.fromkeys(("text", "varchar", "bpchar"), describing.TEXT),
            **dict.fromkeys(("int2", "int4", "int8"), describing.INTEGER),
            "numeric": describing.DECIMAL,
            "float8": describing.REAL,
        }
    )

    def sample(self, table: str, share: float) -> str:
        """By the server's own sampling, with a fixed seed."""
        chance = (
            "" if share >= 1 else f" TABLESAMPLE BERNOULLI ({100 * share:.9f}) REPEATABLE ({describing.SAMPLE_SEED})"
        )
        return f"FROM {self.quoted(table)}{chance}"

    def turned_differs(self, column: str) -> str:
        text = f"{column}::text"
        return f'{text} COLLATE "C" <> (substr({text}, 2) || substr({text}, 1, 1)) COLLATE "C"'

    def elsewhere(self, ask: Ask, schema: str) -> Iterable[Caution]:
        return (
            Caution.of("tables-of-other-schema", tables=row["total"], other=row["schema"], schema=schema)
            for row in ask(self.sql["elsewhere"].format(schema=literal(schema)))
        )

"""The catalog of MySQL's family (``information_schema``), put into facts.

Left out, with the reason: tables that are not InnoDB's (no engine of MySQL's encrypts them the same way). Views are no
tables and are not mentioned.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tdelta.engines.shared import describing
from tdelta.engines.shared.mysql_external import BASE_TABLES, MARK_TABLE
from tdelta.engines.shared.sessions import Ask, Row, literal
from tdelta.messages import Caution

_KINDS = {
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "mediumtext", "longtext"), describing.TEXT),
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint"), describing.INTEGER),
    "decimal": describing.DECIMAL,
    "double": describing.REAL,
}


_PERIOD = ("ROW START", "ROW END")
"""Columns of tables that keep their history: each server stamps them when it loads a row, so they are not compared."""


class MySqlCatalog:
    """``analyzes``: the statistics of the tables are brought up to date first, which only tdelta's own may be."""

    def __init__(self, *, analyzes: bool = True) -> None:
        self._analyzes = analyzes

    def facts(self, ask: Ask, schema: str) -> describing.CatalogFacts:
        """What is in the database ``schema``."""
        where = f"WHERE TABLE_SCHEMA = {literal(schema)}"
        found = ask(
            f"SELECT TABLE_NAME AS name, TABLE_TYPE AS type, ENGINE AS engine FROM information_schema.TABLES {where}"
        )
        base = [row for row in found if row["type"] in BASE_TABLES and row["name"] != MARK_TABLE]
        ours = sorted(describing.named(row) for row in base if row["engine"] == "InnoDB")
        if ours and self._analyzes:
            ask(f"ANALYZE TABLE {', '.join(f'{self.quoted(schema)}.{self.quoted(name)}' for name in ours)}")
        sizes = {
            describing.named(row): int(row["bytes"] or 0)
            for row in ask(f"SELECT TABLE_NAME AS name, DATA_LENGTH AS bytes FROM information_schema.TABLES {where}")
        }
        columns, indexes, foreign = self._columns(ask, where), self._indexes(ask, where), self._foreign(ask, where)
        return describing.CatalogFacts(
            tuple(
                describing.TableFact(
                    name, sizes.get(name, 0), columns[name], indexes.get(name, ()), frozenset(foreign[name])
                )
                for name in ours
            ),
            frozenset(describing.named(row).lower() for row in found),
            tuple(
                Caution.of("table-left-out", table=describing.named(row), why=f"{row['engine']}, not InnoDB")
                for row in base
                if row["engine"] != "InnoDB"
            ),
        )

    def quoted(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def sample(self, table: str, share: float) -> str:
        """By a generator with a fixed seed, in the order of the primary key."""
        chance = "" if share >= 1 else f" WHERE rand({describing.SAMPLE_SEED}) < {share:.9f}"
        return f"FROM {self.quoted(table)}{chance}"

    def turned_differs(self, column: str) -> str:
        """Byte for byte: collations take upper and lower case for the same."""
        return f"CAST({column} AS BINARY) <> CAST(concat(substr({column}, 2), substr({column}, 1, 1)) AS BINARY)"

    def _columns(self, ask: Ask, where: str) -> Mapping[str, tuple[describing.ColumnFact, ...]]:
        rows = ask(
            "SELECT TABLE_NAME AS name, COLUMN_NAME AS col, DATA_TYPE AS base, COLUMN_TYPE AS type, EXTRA AS extra,"
            f" IS_NULLABLE AS nullable, GENERATION_EXPRESSION AS made"
            f" FROM information_schema.COLUMNS {where} ORDER BY TABLE_NAME, ORDINAL_POSITION"
        )
        return {name: tuple(_mysql_column(row) for row in of) for name, of in describing.by_table(rows).items()}

    def _indexes(self, ask: Ask, where: str) -> Mapping[str, tuple[describing.IndexFact, ...]]:
        rows = ask(
            "SELECT TABLE_NAME AS name, INDEX_NAME AS idx, NON_UNIQUE AS several, COLUMN_NAME AS col, SUB_PART AS part,"
            f" INDEX_TYPE AS type FROM information_schema.STATISTICS s {where} AND NOT EXISTS (SELECT 1 FROM"
            " information_schema.COLUMNS c WHERE c.TABLE_SCHEMA = s.TABLE_SCHEMA AND c.TABLE_NAME = s.TABLE_NAME"
            f" AND c.COLUMN_NAME = s.COLUMN_NAME AND c.GENERATION_EXPRESSION IN ({', '.join(map(literal, _PERIOD))}))"
            " ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX"
        )
        return {name: tuple(_mysql_indexes(of)) for name, of in describing.by_table(rows).items()}

    def _foreign(self, ask: Ask, where: str) -> Mapping[str, set[str]]:
        found: defaultdict[str, set[str]] = defaultdict(set)
        for row in ask(
            f"SELECT TABLE_NAME AS name, COLUMN_NAME AS col FROM information_schema.KEY_COLUMN_USAGE {where}"
            " AND REFERENCED_TABLE_NAME IS NOT NULL"
        ):
            found[describing.named(row)].add(row["col"] or "")
        return found


def _mysql_column(row: Row) -> describing.ColumnFact:
    extra = (row["extra"] or "").upper()
    is_period = (row["made"] or "").upper() in _PERIOD
    is_virtual = "VIRTUAL GENERATED" in extra or is_period
    is_generated = is_virtual or "STORED GENERATED" in extra
    kind = _KINDS.get((row["base"] or "").lower(), "")
    return describing.ColumnFact(
        row["col"] or "", row["type"] or "", kind, row["nullable"] == "YES", is_virtual, is_generated
    )


def _mysql_indexes(rows: Sequence[Row]) -> Iterable[describing.IndexFact]:
    for name, columns in describing.by_index(rows).items():
        first = columns[0]
        is_ordered = first["type"] == "BTREE" and all(row["part"] is None for row in columns)
        yield describing.IndexFact(
            name, tuple(row["col"] for row in columns), first["several"] == "0", name == "PRIMARY", is_ordered
        )

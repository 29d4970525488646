"""The catalogs of MySQL's family (``information_schema``) and of PostgreSQL (``pg_catalog``), put into facts.

Left out, each with its reason: tables that are not InnoDB's (no engine of MySQL's encrypts them the same way), foreign
tables, and in PostgreSQL tables of other schemas than the one asked about. Views are no tables and are not mentioned.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tdelta.driver.servers.describing import INTEGER, REAL, TEXT, CatalogFacts, ColumnFact, IndexFact, TableFact
from tdelta.engines.own_mysql_family import MARK_TABLE
from tdelta.engines.own_servers import Ask, Row, literal

_SEED = 20261122
_KINDS_OF_MYSQL = {
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "mediumtext", "longtext"), TEXT),
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint"), INTEGER),
    "double": REAL,
}
_KINDS_OF_POSTGRES = {
    **dict.fromkeys(("text", "varchar", "bpchar"), TEXT),
    **dict.fromkeys(("int2", "int4", "int8"), INTEGER),
    "float8": REAL,
}


class MySqlCatalog:
    """``information_schema`` of MariaDB and MySQL."""

    def facts(self, ask: Ask, schema: str) -> CatalogFacts:
        """What is in the database ``schema``, whose statistics are brought up to date for it."""
        where = f"WHERE TABLE_SCHEMA = {literal(schema)}"
        found = ask(
            f"SELECT TABLE_NAME AS name, TABLE_TYPE AS type, ENGINE AS engine FROM information_schema.TABLES {where}"
        )
        base = [row for row in found if row["type"] == "BASE TABLE" and row["name"] != MARK_TABLE]
        ours = sorted(_name(row) for row in base if row["engine"] == "InnoDB")
        if ours:
            ask(f"ANALYZE TABLE {', '.join(f'{self.quoted(schema)}.{self.quoted(name)}' for name in ours)}")
        sizes = {
            _name(row): int(row["bytes"] or 0)
            for row in ask(f"SELECT TABLE_NAME AS name, DATA_LENGTH AS bytes FROM information_schema.TABLES {where}")
        }
        columns, indexes, foreign = self._columns(ask, where), self._indexes(ask, where), self._foreign(ask, where)
        return CatalogFacts(
            tuple(
                TableFact(name, sizes.get(name, 0), columns[name], indexes.get(name, ()), frozenset(foreign[name]))
                for name in ours
            ),
            frozenset(_name(row).lower() for row in found),
            tuple(
                f"table {_name(row)!r}: its engine is {row['engine']}, not InnoDB"
                for row in base
                if row["engine"] != "InnoDB"
            ),
        )

    def quoted(self, name: str) -> str:
        """A name in backticks."""
        return "`" + name.replace("`", "``") + "`"

    def sample(self, table: str, share: float) -> str:
        """By a generator with a fixed seed, in the order of the primary key."""
        chance = "" if share >= 1 else f" WHERE rand({_SEED}) < {share:.9f}"
        return f"FROM {self.quoted(table)}{chance}"

    def turned_differs(self, column: str) -> str:
        """Byte for byte: collations take upper and lower case for the same."""
        return f"CAST({column} AS BINARY) <> CAST(concat(substr({column}, 2), substr({column}, 1, 1)) AS BINARY)"

    def _columns(self, ask: Ask, where: str) -> Mapping[str, tuple[ColumnFact, ...]]:
        rows = ask(
            "SELECT TABLE_NAME AS name, COLUMN_NAME AS col, DATA_TYPE AS base, COLUMN_TYPE AS type, EXTRA AS extra,"
            f" IS_NULLABLE AS nullable FROM information_schema.COLUMNS {where} ORDER BY TABLE_NAME, ORDINAL_POSITION"
        )
        return {name: tuple(_mysql_column(row) for row in of) for name, of in _by_table(rows).items()}

    def _indexes(self, ask: Ask, where: str) -> Mapping[str, tuple[IndexFact, ...]]:
        rows = ask(
            "SELECT TABLE_NAME AS name, INDEX_NAME AS idx, NON_UNIQUE AS several, COLUMN_NAME AS col, SUB_PART AS part,"
            f" INDEX_TYPE AS type FROM information_schema.STATISTICS {where}"
            " ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX"
        )
        return {name: tuple(_mysql_indexes(of)) for name, of in _by_table(rows).items()}

    def _foreign(self, ask: Ask, where: str) -> Mapping[str, set[str]]:
        found: defaultdict[str, set[str]] = defaultdict(set)
        for row in ask(
            f"SELECT TABLE_NAME AS name, COLUMN_NAME AS col FROM information_schema.KEY_COLUMN_USAGE {where}"
            " AND REFERENCED_TABLE_NAME IS NOT NULL"
        ):
            found[_name(row)].add(row["col"] or "")
        return found


class PostgresCatalog:
    """``pg_catalog`` of PostgreSQL."""

    def facts(self, ask: Ask, schema: str) -> CatalogFacts:
        """What is in the schema of the database that is connected to; a partitioned table counts as one."""
        of = f"n.nspname = {literal(schema)}"
        rows = ask(
            "SELECT c.relname AS name, c.relkind AS kind, c.relispartition::text AS part, coalesce((SELECT"
            " sum(pg_table_size(p.relid)) FROM pg_partition_tree(c.oid) p WHERE p.isleaf), pg_table_size(c.oid))::text"
            f" AS bytes FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {of} ORDER BY c.relname"
        )
        tables = [row for row in rows if row["kind"] in ("r", "p") and row["part"] == "false"]
        columns, indexes, foreign = self._columns(ask, of), self._indexes(ask, of), self._foreign(ask, of)
        return CatalogFacts(
            tuple(
                TableFact(
                    name := _name(row),
                    int(row["bytes"] or 0),
                    columns.get(name, ()),
                    indexes.get(name, ()),
                    frozenset(foreign.get(name, ())),
                )
                for row in tables
            ),
            frozenset(_name(row).lower() for row in rows),
            (
                *(f"table {_name(row)!r}: it is foreign" for row in rows if row["kind"] == "f"),
                *self._elsewhere(ask, schema),
            ),
        )

    def quoted(self, name: str) -> str:
        """A name in double quotes."""
        return '"' + name.replace('"', '""') + '"'

    def sample(self, table: str, share: float) -> str:
        """By the server's own sampling, with a fixed seed."""
        chance = "" if share >= 1 else f" TABLESAMPLE BERNOULLI ({100 * share:.9f}) REPEATABLE ({_SEED})"
        return f"FROM {self.quoted(table)}{chance}"

    def turned_differs(self, column: str) -> str:
        """Byte for byte, whatever the collation."""
        text = f"{column}::text"
        return f'{text} COLLATE "C" <> (substr({text}, 2) || substr({text}, 1, 1)) COLLATE "C"'

    def _columns(self, ask: Ask, of: str) -> Mapping[str, tuple[ColumnFact, ...]]:
        rows = ask(
            "SELECT c.relname AS name, a.attname AS col, t.typname AS base, format_type(a.atttypid, a.atttypmod) AS"
            " type, a.attnotnull::text AS filled, a.attgenerated AS made FROM pg_attribute a JOIN pg_class c ON c.oid ="
            " a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_type t ON t.oid = a.atttypid"
            f" WHERE {of} AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p')"
            " ORDER BY c.relname, a.attnum"
        )
        return {name: tuple(_postgres_column(row) for row in of_table) for name, of_table in _by_table(rows).items()}

    def _indexes(self, ask: Ask, of: str) -> Mapping[str, tuple[IndexFact, ...]]:
        rows = ask(
            "SELECT c.relname AS name, ic.relname AS idx, i.indisunique::text AS is_unique, i.indisprimary::text AS"
            " is_primary, (am.amname = 'btree' AND i.indpred IS NULL AND i.indisvalid AND (k.attnum = 0 OR"
            " i.indcollation[k.place - 1] IN (0, a.attcollation)))::text AS is_ordered, a.attname AS col FROM"
            " pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
            " JOIN pg_class ic ON ic.oid = i.indexrelid JOIN pg_am am ON am.oid = ic.relam"
            " CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)"
            " LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum AND k.attnum > 0"
            f" WHERE {of} AND c.relkind IN ('r', 'p') AND k.place <= i.indnkeyatts"
            " ORDER BY c.relname, ic.relname, k.place"
        )
        return {name: tuple(_postgres_indexes(of_table)) for name, of_table in _by_table(rows).items()}

    def _foreign(self, ask: Ask, of: str) -> Mapping[str, set[str]]:
        found: defaultdict[str, set[str]] = defaultdict(set)
        for row in ask(
            "SELECT c.relname AS name, a.attname AS col FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid"
            " JOIN pg_namespace n ON n.oid = c.relnamespace"
            " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (f.conkey)"
            f" WHERE {of} AND f.contype = 'f'"
        ):
            found[_name(row)].add(row["col"] or "")
        return found

    def _elsewhere(self, ask: Ask, schema: str) -> Iterable[str]:
        rows = ask(
            "SELECT n.nspname AS schema, count(*)::text AS total FROM pg_class c JOIN pg_namespace n ON n.oid ="
            f" c.relnamespace WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ({literal(schema)},"
            " 'information_schema') AND n.nspname !~ '^pg_' GROUP BY n.nspname ORDER BY n.nspname"
        )
        return (
            f"{row['total']} tables of schema {row['schema']}: only those of {schema} are described" for row in rows
        )


CATALOGS: Mapping[str, type[MySqlCatalog] | type[PostgresCatalog]] = {
    "mariadb": MySqlCatalog,
    "mysql": MySqlCatalog,
    "postgres": PostgresCatalog,
}
"""Each engine's catalog."""


def _name(row: Row) -> str:
    return row["name"] or ""


def _by_table(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[_name(row)].append(row)
    return dict(found)


def _by_index(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["idx"] or ""].append(row)
    return dict(found)


def _mysql_column(row: Row) -> ColumnFact:
    extra = (row["extra"] or "").upper()
    is_virtual = "VIRTUAL GENERATED" in extra
    is_generated = is_virtual or "STORED GENERATED" in extra
    kind = _KINDS_OF_MYSQL.get((row["base"] or "").lower(), "")
    return ColumnFact(row["col"] or "", row["type"] or "", kind, row["nullable"] == "YES", is_virtual, is_generated)


def _mysql_indexes(rows: Sequence[Row]) -> Iterable[IndexFact]:
    for name, columns in _by_index(rows).items():
        first = columns[0]
        is_ordered = first["type"] == "BTREE" and all(row["part"] is None for row in columns)
        yield IndexFact(
            name, tuple(row["col"] for row in columns), first["several"] == "0", name == "PRIMARY", is_ordered
        )


def _postgres_column(row: Row) -> ColumnFact:
    made = row["made"] or ""
    kind = _KINDS_OF_POSTGRES.get(row["base"] or "", "")
    return ColumnFact(row["col"] or "", row["type"] or "", kind, row["filled"] != "true", made == "v", made != "")


def _postgres_indexes(rows: Sequence[Row]) -> Iterable[IndexFact]:
    for name, columns in _by_index(rows).items():
        is_unique, is_primary = columns[0]["is_unique"] == "true", columns[0]["is_primary"] == "true"
        is_ordered = all(row["is_ordered"] == "true" for row in columns)
        yield IndexFact(name, tuple(row["col"] for row in columns), is_unique, is_primary, is_ordered)

"""PostgreSQL's catalog (``pg_catalog``), put into facts.

Left out, each with its reason: foreign tables, and tables of other schemas than the one asked about. Views are no
tables and are not mentioned.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tdelta.engines.server import catalog as describing
from tdelta.engines.server.sessions import Ask, Row, literal
from tdelta.messages import Caution

_KINDS = {
    **dict.fromkeys(("text", "varchar", "bpchar"), describing.TEXT),
    **dict.fromkeys(("int2", "int4", "int8"), describing.INTEGER),
    "numeric": describing.DECIMAL,
    "float8": describing.REAL,
}


class PostgresCatalog:
    def facts(self, ask: Ask, schema: str) -> describing.CatalogFacts:
        """What is in the schema of the database that is connected to; a partitioned table counts as one."""
        of = f"n.nspname = {literal(schema)}"
        rows = ask(
            "SELECT c.relname AS name, c.relkind AS kind, c.relispartition::text AS part, coalesce((SELECT"
            " sum(pg_table_size(p.relid)) FROM pg_partition_tree(c.oid) p WHERE p.isleaf), pg_table_size(c.oid))::text"
            f" AS bytes FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {of} ORDER BY c.relname"
        )
        tables = [row for row in rows if row["kind"] in ("r", "p") and row["part"] == "false"]
        columns, indexes, foreign = self._columns(ask, of), self._indexes(ask, of), self._foreign(ask, of)
        return describing.CatalogFacts(
            tuple(
                describing.TableFact(
                    name := describing.named(row),
                    int(row["bytes"] or 0),
                    columns.get(name, ()),
                    indexes.get(name, ()),
                    frozenset(foreign.get(name, ())),
                )
                for row in tables
            ),
            frozenset(describing.named(row).lower() for row in rows),
            (
                *(
                    Caution.of("table-left-out", table=describing.named(row), why="foreign")
                    for row in rows
                    if row["kind"] == "f"
                ),
                *self._elsewhere(ask, schema),
            ),
        )

    def quoted(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def sample(self, table: str, share: float) -> str:
        """By the server's own sampling, with a fixed seed."""
        chance = (
            "" if share >= 1 else f" TABLESAMPLE BERNOULLI ({100 * share:.9f}) REPEATABLE ({describing.SAMPLE_SEED})"
        )
        return f"FROM {self.quoted(table)}{chance}"

    def turned_differs(self, column: str) -> str:
        text = f"{column}::text"
        return f'{text} COLLATE "C" <> (substr({text}, 2) || substr({text}, 1, 1)) COLLATE "C"'

    def _columns(self, ask: Ask, of: str) -> Mapping[str, tuple[describing.ColumnFact, ...]]:
        rows = ask(
            "SELECT c.relname AS name, a.attname AS col, t.typname AS base, format_type(a.atttypid, a.atttypmod) AS"
            " type, a.attnotnull::text AS filled, a.attgenerated AS made FROM pg_attribute a JOIN pg_class c ON c.oid ="
            " a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_type t ON t.oid = a.atttypid"
            f" WHERE {of} AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p')"
            " ORDER BY c.relname, a.attnum"
        )
        return {name: tuple(_column(row) for row in of_table) for name, of_table in describing.by_table(rows).items()}

    def _indexes(self, ask: Ask, of: str) -> Mapping[str, tuple[describing.IndexFact, ...]]:
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
        return {name: tuple(_indexes(of_table)) for name, of_table in describing.by_table(rows).items()}

    def _foreign(self, ask: Ask, of: str) -> Mapping[str, set[str]]:
        found: defaultdict[str, set[str]] = defaultdict(set)
        for row in ask(
            "SELECT c.relname AS name, a.attname AS col FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid"
            " JOIN pg_namespace n ON n.oid = c.relnamespace"
            " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (f.conkey)"
            f" WHERE {of} AND f.contype = 'f'"
        ):
            found[describing.named(row)].add(row["col"] or "")
        return found

    def _elsewhere(self, ask: Ask, schema: str) -> Iterable[Caution]:
        rows = ask(
            "SELECT n.nspname AS schema, count(*)::text AS total FROM pg_class c JOIN pg_namespace n ON n.oid ="
            f" c.relnamespace WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ({literal(schema)},"
            " 'information_schema') AND n.nspname !~ '^pg_' GROUP BY n.nspname ORDER BY n.nspname"
        )
        return (
            Caution.of("tables-of-other-schema", tables=row["total"], other=row["schema"], schema=schema)
            for row in rows
        )


def _column(row: Row) -> describing.ColumnFact:
    made = row["made"] or ""
    kind = _KINDS.get(row["base"] or "", "")
    return describing.ColumnFact(
        row["col"] or "", row["type"] or "", kind, row["filled"] != "true", made == "v", made != ""
    )


def _indexes(rows: Sequence[Row]) -> Iterable[describing.IndexFact]:
    for name, columns in describing.by_index(rows).items():
        is_unique, is_primary = columns[0]["is_unique"] == "true", columns[0]["is_primary"] == "true"
        is_ordered = all(row["is_ordered"] == "true" for row in columns)
        yield describing.IndexFact(name, tuple(row["col"] for row in columns), is_unique, is_primary, is_ordered)

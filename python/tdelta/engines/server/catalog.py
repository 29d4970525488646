"""Reads what is in a database on a server: the same values as of a SQLite file (`tdelta.workloads.database`).

An engine's own statements put what its catalog says into facts; what is made of them is the same for all. Differences
to SQLite that shape the values: columns have types, so what a sample counts is what the type allows; and no row has a
number of its own, so a table without a primary key (or a unique one without NULL) has no key.

Tables are counted in full; columns are sampled by chance with a fixed seed, about 1000 rows, so the same rows give the
same sample.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tdelta.engines.server.sessions import Ask, Row, literal
from tdelta.messages import Caution
from tdelta.workloads.database import ColumnSample, Database, DatabaseColumn, DatabaseIndex, DatabaseTable, IndexColumn
from tdelta.workloads.proposal import biggest, rangeable, updatable

SAMPLED_ROWS = 1000
SAMPLE_SEED = 20261122
TEXT, INTEGER, DECIMAL, REAL = "text", "integer", "decimal", "real"
"""The kinds of columns whose values an update can turn; every other type has none."""


@dataclass(frozen=True, slots=True)
class CatalogFacts:
    """Tables as the catalog has them, the names of all objects, and the tables left out, with the reason.

    ``types`` and ``kinds`` are of the columns of each table; a kind is empty where no update is proposed for the type.
    """

    tables: tuple[DatabaseTable, ...]
    types: Mapping[str, Mapping[str, str]]
    kinds: Mapping[str, Mapping[str, str]]
    names: frozenset[str]
    left_out: tuple[Caution, ...] = ()


class Catalog:
    """How an engine is asked what is in a schema: by statements whose rows have the same columns on every engine.

    Of ``tables`` these are ``name``, ``bytes`` and ``why``: empty for a table that is described, why one is left out,
    NULL for what is none; of all others ``name`` (the table's) and ``col`` (NULL for an expression). ``columns`` have
    ``type``, ``base``, ``is_nullable``, ``is_virtual`` and ``is_generated`` as well; ``indexes``, in the order of their
    columns, ``idx``, ``is_unique``, ``is_primary`` and ``is_ordered``: a range can follow it over all rows.
    """

    sql: Mapping[str, str]
    kinds: Mapping[str, str]
    """The kinds of columns by ``base``, the catalog's name of a type."""

    quote = '"'

    def sample(self, table: str, share: float) -> str:
        """``FROM`` and whatever else takes that share of a table's rows, the same ones every time."""
        raise NotImplementedError

    def turned_differs(self, column: str) -> str:
        """Whether a text becomes another one when its first character goes to its end."""
        raise NotImplementedError

    def refresh_sql(self, _schema: str, _tables: Sequence[str]) -> str:
        """A statement that brings the sizes of tables up to date; empty where they are."""
        return ""

    def elsewhere(self, _ask: Ask, _schema: str) -> Iterable[Caution]:
        """Cautions about all else that is left out."""
        return ()

    def quoted(self, name: str) -> str:
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote

    def facts(self, ask: Ask, schema: str) -> CatalogFacts:
        def asked(name: str) -> defaultdict[str, list[Row]]:
            rows: defaultdict[str, list[Row]] = defaultdict(list)
            for row in ask(self.sql[name].format(schema=literal(schema))):
                rows[row["name"] or ""].append(row)
            return rows

        tables = asked("tables")
        ours = sorted(name for name, (row, *_) in tables.items() if row["why"] == "")
        if ours and (refresh := self.refresh_sql(schema, ours)):
            ask(refresh)
            tables = asked("tables")
        sizes = {name: int(row["bytes"] or 0) for name, (row, *_) in tables.items()}
        columns, indexes, foreign = asked("columns"), asked("indexes"), asked("foreign")
        types = {name: {row["col"] or "": row["type"] or "" for row in columns[name]} for name in ours}
        kinds = {
            name: {row["col"] or "": self.kinds.get(row["base"] or "", "") for row in columns[name]} for name in ours
        }
        left_out = (
            Caution.of("table-left-out", table=n, why=row["why"]) for n, (row, *_) in tables.items() if row["why"]
        )
        return CatalogFacts(
            tuple(
                _table(name, sizes.get(name, 0), columns[name], indexes[name], foreign[name], kinds[name])
                for name in ours
            ),
            types,
            kinds,
            frozenset(name.lower() for name in tables),
            (*left_out, *self.elsewhere(ask, schema)),
        )


def _is(row: Row, name: str) -> bool:
    return row[name] in ("1", "true")


def _are(rows: Sequence[Row], name: str) -> bool:
    return all(_is(row, name) for row in rows)


@dataclass(frozen=True, slots=True)
class Described:
    database: Database
    types: Mapping[str, Mapping[str, str]]
    left_out: tuple[Caution, ...] = ()


def describe(catalog: Catalog, ask: Ask, schema: str) -> Described:
    """Describe a schema (MySQL: database).

    Args:
        ask: asks the server; what it raises is passed on.
    """
    facts = catalog.facts(ask, schema)
    counted = Database(tuple(bounded(catalog, ask, table) for table in facts.tables), facts.names)
    sampled = {table.name: _with_samples(catalog, ask, table, facts.kinds[table.name]) for table in biggest(counted)}
    return Described(
        Database(tuple(sampled.get(table.name, table) for table in counted.tables), facts.names),
        facts.types,
        facts.left_out,
    )


def bounded(catalog: Catalog, ask: Ask, table: DatabaseTable) -> DatabaseTable:
    number = catalog.quoted(table.integer_key) if table.integer_key is not None else "NULL"
    row = ask(
        f"SELECT count(*) AS total, min({number}) AS lowest, max({number}) AS highest FROM {catalog.quoted(table.name)}"
    )[0]
    rows = int(row["total"] or 0)
    lowest, highest = (None if row[name] is None else int(str(row[name])) for name in ("lowest", "highest"))
    return dataclasses.replace(table, rows=rows, keyed_rows=rows, lowest=lowest, highest=highest)


def _table(
    name: str,
    size_bytes: int,
    columns: Sequence[Row],
    indexes: Sequence[Row],
    foreign: Sequence[Row],
    kinds: Mapping[str, str],
) -> DatabaseTable:
    """Before anything is counted. ``is_without_rowid`` says that rows have no number: no key of one integer column."""
    named: defaultdict[str, list[Row]] = defaultdict(list)
    for row in indexes:
        named[row["idx"] or ""].append(row)
    key = _key(named, {row["col"] for row in columns if _is(row, "is_nullable")})
    places = {} if key is None else {row["col"]: place for place, row in enumerate(named[key], 1)}
    is_number = len(places) == 1 and all(kinds[column or ""] == INTEGER for column in places)
    return DatabaseTable(
        name=name,
        rows=0,
        size_bytes=size_bytes,
        columns=tuple(
            DatabaseColumn(
                row["col"] or "", places.get(row["col"], 0), _is(row, "is_virtual"), _is(row, "is_generated")
            )
            for row in columns
        ),
        indexes=tuple(
            _index(index, rows, is_of_key=index == key)
            for index, rows in named.items()
            if not (is_number and index == key)
        ),
        foreign_key_columns=frozenset(row["col"] or "" for row in foreign),
        is_without_rowid=not is_number,
    )


def _key(indexes: Mapping[str, Sequence[Row]], nullable: Collection[str | None]) -> str | None:
    """The name of the primary key, else of the first unique index that no NULL escapes."""
    fit = [
        (not _are(rows, "is_primary"), name)
        for name, rows in indexes.items()
        if _are(rows, "is_unique")
        and _are(rows, "is_ordered")
        and not any(row["col"] is None or row["col"] in nullable for row in rows)
    ]
    return min(fit)[1] if fit else None


def _index(name: str, rows: Sequence[Row], *, is_of_key: bool) -> DatabaseIndex:
    columns = tuple(IndexColumn(row["col"]) for row in rows)
    return DatabaseIndex(name, columns, _are(rows, "is_unique"), not _are(rows, "is_ordered"), is_of_key)


def _with_samples(catalog: Catalog, ask: Ask, table: DatabaseTable, kinds: Mapping[str, str]) -> DatabaseTable:
    columns = tuple(name for name in updatable(table) if kinds[name])
    followed = tuple(dict.fromkeys(index.columns[0].name or "" for index in rangeable(table)))
    counts = [
        ("total", "count(*)"),
        *(
            (f"{part}_{place}", counted)
            for place, name in enumerate(columns)
            for part, counted in _counts(catalog, name, kinds[name])
        ),
        *((f"distinct_{place}", f"count(DISTINCT {catalog.quoted(name)})") for place, name in enumerate(followed)),
    ]
    listed = ", ".join(f"{counted} AS {name}" for name, counted in counts)
    share = min(1.0, SAMPLED_ROWS / max(1, table.rows))
    found = {
        name: int(value or 0) for name, value in ask(f"SELECT {listed} {catalog.sample(table.name, share)}")[0].items()
    }
    spread = {name: found[f"distinct_{place}"] for place, name in enumerate(followed)}
    return dataclasses.replace(
        table,
        samples=tuple(_sample(name, kinds[name], place, found) for place, name in enumerate(columns)),
        indexes=_spread(table, rangeable(table), spread),
    )


def _counts(catalog: Catalog, name: str, kind: str) -> Iterable[tuple[str, str]]:
    """Counts of a column: values that are there, values that a turn changes, characters."""
    column = catalog.quoted(name)
    yield "present", f"count({column})"
    if kind == TEXT:
        yield "turning", f"count(CASE WHEN {catalog.turned_differs(column)} THEN 1 END)"
        yield "characters", f"sum(char_length({column}))"
    elif kind == REAL:
        yield "turning", f"count(CASE WHEN {column} <> 0 THEN 1 END)"


def _sample(name: str, kind: str, place: int, found: Mapping[str, int]) -> ColumnSample:
    present = found[f"present_{place}"]
    return ColumnSample(
        name,
        values=found["total"],
        integers=present if kind == INTEGER else 0,
        decimals=present if kind == DECIMAL else 0,
        reals=found[f"turning_{place}"] if kind == REAL else 0,
        texts=present if kind == TEXT else 0,
        changing_texts=found[f"turning_{place}"] if kind == TEXT else 0,
        characters=found[f"characters_{place}"] if kind == TEXT else 0,
    )


def _spread(
    table: DatabaseTable, followed: Sequence[DatabaseIndex], distinct: Mapping[str, int]
) -> tuple[DatabaseIndex, ...]:
    spread = {
        index.name: dataclasses.replace(index, distinct=distinct[index.columns[0].name or ""]) for index in followed
    }
    return tuple(spread.get(index.name, index) for index in table.indexes)

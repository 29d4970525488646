import contextlib
import dataclasses
import sqlite3
from collections.abc import Iterator

import pytest

from tdelta.engines.sqlite.describing import bounded, describe, reads_clock_or_random, virtual_tables
from tdelta.workloads.database import ColumnSample, DatabaseColumn, IndexColumn

SCHEMA = """
CREATE TABLE parents (id INTEGER PRIMARY KEY, code TEXT UNIQUE);
CREATE TABLE "my ""own"" children" (
    a TEXT COLLATE NOCASE, b INT, parent INTEGER REFERENCES parents (id), note TEXT,
    loud AS (upper(note)) STORED, len AS (length(note)), PRIMARY KEY (b, a)
) WITHOUT ROWID;
CREATE INDEX by_note ON "my ""own"" children" (note COLLATE RTRIM, lower(a)) WHERE note IS NOT NULL;
CREATE VIEW seen AS SELECT * FROM parents;
CREATE TRIGGER fires AFTER INSERT ON parents BEGIN SELECT 1; END;
CREATE VIRTUAL TABLE words USING fts5 (body);
INSERT INTO parents VALUES (3, 'x'), (7, NULL);
INSERT INTO "my ""own"" children" (a, b, parent, note) VALUES ('k', 1, 3, 'abc'), ('l', 2, 3, 'aaa');
"""


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as opened:
        opened.executescript(SCHEMA)
        yield opened


def asking(connection: sqlite3.Connection, asked: list[str] | None = None):
    def query(sql: str) -> str:
        if asked is not None:
            asked.append(sql)
        if "dbstat'" in sql and asked is not None:
            return "0"  # a library that was built without the count of pages
        row = connection.execute(sql).fetchone()
        return "" if row is None or row[0] is None else str(row[0])

    return query


def test_only_ordinary_tables_are_described_and_all_names_are_known(connection: sqlite3.Connection) -> None:
    database = describe(asking(connection))
    assert [table.name for table in database.tables] == ['my "own" children', "parents"]
    assert database.virtual_tables == virtual_tables(asking(connection)) == ("words",)
    assert {"by_note", "seen", "fires", "words_content", "parents"} <= database.names


def test_a_table_is_described_with_columns_key_indexes_and_rows(connection: sqlite3.Connection) -> None:
    children, parents = describe(asking(connection)).tables
    assert (children.rows, children.keyed_rows, children.is_without_rowid) == (2, 2, True)
    assert (children.lowest, children.highest, children.integer_key) == (None, None, None)
    assert children.columns[4:] == (
        DatabaseColumn("loud", 0, is_virtual=False, is_generated=True),
        DatabaseColumn("len", 0, is_virtual=True, is_generated=True),
    )
    assert children.stored_columns == ("a", "b", "parent", "note", "loud")
    assert children.foreign_key_columns == {"parent"}
    assert children.key is not None
    assert children.key.columns == (IndexColumn("b", "BINARY"), IndexColumn("a", "NOCASE"))
    (by_note,) = (index for index in children.indexes if not index.is_of_key)
    assert by_note.columns == (IndexColumn("note", "RTRIM"), IndexColumn(None, "BINARY"))
    assert (by_note.is_partial, by_note.is_unique) == (True, False)
    assert (parents.lowest, parents.highest, parents.integer_key) == (3, 7, "id")
    assert [(index.is_unique, index.is_of_key) for index in parents.indexes] == [(True, False)]
    assert children.size_bytes > 0 < parents.size_bytes


def test_columns_that_could_be_updated_are_sampled(connection: sqlite3.Connection) -> None:
    children = describe(asking(connection)).tables[0]
    assert children.samples == (
        ColumnSample("note", values=2, integers=0, reals=0, texts=2, changing_texts=1, characters=6),
    )


def test_a_sample_lies_evenly_over_a_long_table(connection: sqlite3.Connection) -> None:
    connection.executescript(
        "CREATE TABLE long (id INTEGER PRIMARY KEY, x); INSERT INTO long WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL"
        " SELECT i + 1 FROM n WHERE i < 4000) SELECT i, CASE WHEN i > 2000 THEN i ELSE 'ab' END FROM n;"
    )
    long = next(table for table in describe(asking(connection)).tables if table.name == "long")
    assert long.samples == (
        ColumnSample("x", 1000, integers=500, reals=0, texts=500, changing_texts=500, characters=1000),
    )


def test_where_pages_cannot_be_counted_the_size_is_estimated_from_rows(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE big (x TEXT)")
    connection.executemany("INSERT INTO big VALUES (?)", [("x" * 99,)] * 500)
    sizes = {table.name: table.size_bytes for table in describe(asking(connection, [])).tables}
    assert sizes["big"] == 500 * 100
    assert 0 < sizes["parents"] < 50


def test_bounds_are_those_of_now(connection: sqlite3.Connection) -> None:
    table = describe(asking(connection)).tables[1]
    connection.execute("INSERT INTO parents VALUES (-9, 'y')")
    assert bounded(asking(connection), table) == dataclasses.replace(table, rows=3, keyed_rows=3, lowest=-9)


def test_row_numbers_that_a_rebuild_would_change_are_told_as_it_will_make_them() -> None:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as opened:
        opened.executescript(
            "CREATE TABLE bare (x); CREATE TABLE indexed (x); CREATE INDEX i ON indexed (x);"
            "INSERT INTO bare VALUES (1), (2), (3); INSERT INTO indexed SELECT x FROM bare;"
            "DELETE FROM bare WHERE x = 1; DELETE FROM indexed WHERE x = 1;"
        )
        told = {table.name: (table.lowest, table.highest) for table in describe(asking(opened)).tables}
        assert told == {"bare": (1, 2), "indexed": (2, 3)}
        opened.execute("VACUUM")
        found = {name: opened.execute(f"SELECT min(rowid), max(rowid) FROM {name}").fetchone() for name in told}
        assert found == told


@pytest.mark.parametrize(
    ("statement", "depends"),
    [
        ("CREATE TABLE t (at TEXT DEFAULT CURRENT_TIMESTAMP)", True),
        ("CREATE TABLE t (at TEXT DEFAULT (datetime('now')))", True),
        ("CREATE TABLE t (x); CREATE TRIGGER r AFTER UPDATE ON t BEGIN INSERT INTO t VALUES (Random()); END", True),
        ("CREATE TABLE t (birth_date TEXT, time_zone TEXT, randomness INT)", False),
    ],
)
def test_a_schema_that_may_read_the_clock_is_told_by_its_words(statement: str, depends: bool) -> None:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as opened:
        opened.executescript(statement)
        assert reads_clock_or_random(asking(opened)) is depends


def test_what_the_library_refuses_is_passed_on() -> None:
    def refuse(_sql: str) -> str:
        raise LookupError("no such table")

    with pytest.raises(LookupError):
        describe(refuse)

"""Proposals for a user's database: fit to run on any schema that SQLite takes, and the same every time."""

import contextlib
import json
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.refused import Part, has
from support.thorough import draws
from tdelta import _native
from tdelta.engines.sqlite.profile import DIALECT
from tdelta.workloads.database import Database, quoted
from tdelta.workloads.proposal import WEIGHTS, Choice, Proposal, TransactionKind, biggest, propose, settle
from tdelta.workloads.user_workload import read_user_workload, write_user_workload

from .own import OwnRunner, built, described, prepared

NUMBERS = "WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < {rows}) "


def filled(table: str, values: str, rows: int = 300) -> str:
    return f"INSERT INTO {table} {NUMBERS.format(rows=rows)} SELECT {values} FROM numbers;"


def proposed(*statements: str) -> tuple[sqlite3.Connection, Database, Proposal]:
    connection = built(*statements)
    database = described(connection)
    return connection, database, propose(database, DIALECT)


def choice(proposal: Proposal, name: str) -> Choice:
    (found,) = [choice for choice in proposal.choices if choice.name == name]
    return found


def names(proposal: Proposal) -> set[str]:
    return {choice.name for choice in proposal.choices}


# Transactions by the kind of key


def test_a_table_with_dense_numbers_is_drawn_from_directly() -> None:
    connection, database, proposal = proposed(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT);", filled("t", "i, 'row ' || i")
    )
    assert proposal.keys == ()
    assert names(proposal) == {"read_t", "range_t", "update_t", "insert_t"}
    runner = OwnRunner(connection, prepared(connection, database, proposal))
    assert [len(runner.once(choice(proposal, "read_t").scripts[0])) for _ in range(20)] == [1] * 20
    assert [len(runner.once(choice(proposal, "range_t").scripts[0])) for _ in range(20)] == [100] * 20


@pytest.mark.parametrize(
    ("table", "values"),
    [
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT);", "i * 1000, 'row ' || i"),
        ("CREATE TABLE t (id TEXT PRIMARY KEY, x TEXT);", "'key ' || i, 'row ' || i"),
        ("CREATE TABLE t (id TEXT PRIMARY KEY COLLATE NOCASE, x TEXT);", "'Key ' || i, 'row ' || i"),
        ("CREATE TABLE t (id REAL PRIMARY KEY, x TEXT);", "i / 7.0, 'row ' || i"),
        ("CREATE TABLE t (id BLOB PRIMARY KEY, x TEXT) WITHOUT ROWID;", "CAST('key ' || i AS BLOB), 'row ' || i"),
        ("CREATE TABLE t (id INTEGER PRIMARY KEY DESC, x TEXT);", "i * 3, 'row ' || i"),
    ],
)
def test_a_key_that_no_number_names_is_drawn_from_a_table_of_sampled_keys(table: str, values: str) -> None:
    connection, database, proposal = proposed(table, filled("t", values))
    assert [(key.name, key.table) for key in proposal.keys] == [("t", "t")]
    runner = OwnRunner(connection, prepared(connection, database, proposal))
    assert runner.given["keys_t"] == 300
    found = {row for _ in range(60) for row in runner.once(choice(proposal, "read_t").scripts[0])}
    assert len(found) > 40
    assert all(len(row) == 2 for row in found)


def test_a_composite_key_is_read_ranged_and_updated_by_all_its_columns() -> None:
    connection, database, proposal = proposed(
        "CREATE TABLE t (a TEXT, b INTEGER, x TEXT, PRIMARY KEY (b, a)) WITHOUT ROWID;",
        filled("t", "'a' || (i % 7), i, 'row ' || i"),
    )
    runner = OwnRunner(connection, prepared(connection, database, proposal))
    rows = [runner.once(choice(proposal, "range_t").scripts[0]) for _ in range(10)]
    assert all(found == sorted(found, key=lambda row: (row[1], row[0])) and 1 <= len(found) <= 100 for found in rows)
    before = connection.total_changes
    runner.once(choice(proposal, "update_t").scripts[0])
    assert connection.total_changes == before + 1
    assert "insert_t" not in names(proposal)
    assert has(proposal.notes, "no-insert", table="t", why="its primary key is not one integer")


def test_rows_without_a_whole_key_are_never_drawn() -> None:
    connection, database, proposal = proposed(
        "CREATE TABLE t (a TEXT, b TEXT, x TEXT, PRIMARY KEY (a, b));",
        filled("t", "CASE WHEN i % 2 THEN 'a' || i END, 'b', 'row ' || i"),
    )
    variables = prepared(connection, database, proposal)
    assert variables["keys_t"] == 150
    runner = OwnRunner(connection, variables)
    assert all(len(runner.once(choice(proposal, "read_t").scripts[0])) == 1 for _ in range(50))


def test_a_table_without_a_declared_key_is_drawn_by_the_rowid_under_a_free_name() -> None:
    connection, database, proposal = proposed(
        "CREATE TABLE t (rowid TEXT, x TEXT);",
        filled("t", "'not a number', 'row ' || i"),
        "DELETE FROM t WHERE _rowid_ % 3 = 0;",
    )
    assert '"_rowid_" = :id' in choice(proposal, "read_t").scripts[0]
    runner = OwnRunner(connection, prepared(connection, database, proposal))
    assert (runner.given["min_t"], runner.given["max_t"], runner.given["rows_t"]) == (1, 200, 200)
    assert all(len(runner.once(choice(proposal, "read_t").scripts[0])) == 1 for _ in range(50))


def test_row_numbers_that_a_rebuild_keeps_are_the_same_in_the_key_table_after_it() -> None:
    connection, database, proposal = proposed(
        "CREATE TABLE t (x TEXT); CREATE INDEX by_x ON t (x);",
        filled("t", "'row ' || i"),
        "DELETE FROM t WHERE rowid % 3 = 0;",
    )
    prepared(connection, database, proposal)
    lost = "SELECT count(*) FROM tdelta_key_t AS k LEFT JOIN t ON t.rowid = k.k1 WHERE t.rowid IS NULL"
    assert connection.execute(lost).fetchone() == (0,)
    assert connection.execute("SELECT count(*) FROM tdelta_key_t").fetchone() == (200,)


# Written workloads


def test_an_update_changes_the_bytes_of_one_row_and_keeps_their_number() -> None:
    connection, database, proposal = proposed(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT);", filled("t", "i, 'row number ' || (i + 1000)")
    )
    runner = OwnRunner(connection, prepared(connection, database, proposal))
    before = dict(connection.execute("SELECT id, x FROM t"))
    runner.once(choice(proposal, "update_t").scripts[0])
    changed = {id_: x for id_, x in connection.execute("SELECT id, x FROM t") if before[id_] != x}
    ((id_, text),) = changed.items()
    assert text == before[id_][1:] + before[id_][:1]


@pytest.mark.parametrize(
    ("kind", "value", "after"),
    [
        ("INTEGER", "40", 41),
        ("INTEGER", "-7", -8),
        ("REAL", "2.5", 2.5000000000000004),
        ("REAL", "-1e300", -1.0000000000000002e300),
    ],
)
def test_a_number_moves_by_its_last_digit(kind: str, value: str, after: float) -> None:
    connection, database, proposal = proposed(
        f"CREATE TABLE t (id INTEGER PRIMARY KEY, x {kind});", filled("t", f"i, {value}")
    )
    runner = OwnRunner(connection, prepared(connection, database, proposal))
    runner.once(choice(proposal, "update_t").scripts[0])
    assert connection.execute(f"SELECT x FROM t WHERE x <> {value}").fetchall() == [(after,)]


def test_an_update_takes_texts_before_numbers_and_leaves_keys_unique_and_computed_columns_alone() -> None:
    _, _, proposal = proposed(
        "CREATE TABLE parents (id INTEGER PRIMARY KEY, code TEXT UNIQUE);",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parents, code TEXT UNIQUE,"
        " shout TEXT AS (upper(note)) STORED, length INTEGER AS (length(note)), n INTEGER, looked TEXT, note TEXT);"
        "CREATE INDEX by_looked ON t (looked);",
        filled("t (id, parent, code, n, looked, note)", "i, 1, 'code ' || i, i, 'look ' || i, 'note ' || i"),
    )
    columns = [script.split('SET "')[1].split('"')[0] for script in choice(proposal, "update_t").scripts]
    assert columns == ["note", "looked", "n"]  # texts first, and of them those without an index


def test_the_longest_text_is_updated_rather_than_a_code() -> None:
    _, _, proposal = proposed(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, lang TEXT, body TEXT);", filled("t", "i, 'eng', 'a longer text ' || i")
    )
    assert 'SET "body" =' in choice(proposal, "update_t").scripts[0]


def test_a_key_that_is_null_in_most_rows_gives_way_to_the_rowid() -> None:
    connection, database, proposal = proposed(
        "CREATE TABLE t (a TEXT, b TEXT, x TEXT, PRIMARY KEY (a, b));",
        filled("t", "CASE WHEN i % 3 = 0 THEN 'a' END, i, 'row ' || i"),
    )
    assert '"rowid" = :id' in choice(proposal, "read_t").scripts[0]
    runner = OwnRunner(connection, prepared(connection, database, proposal))
    assert all(len(runner.once(choice(proposal, "read_t").scripts[0])) == 1 for _ in range(30))


def test_a_column_of_equal_letters_is_no_text_to_turn() -> None:
    _, _, proposal = proposed("CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT);", filled("t", "i, 'aaaa'"))
    assert "update_t" not in names(proposal)
    assert has(proposal.notes, "no-update", table="t")


def test_an_insert_copies_a_row_under_a_new_key_and_leaves_out_what_is_computed() -> None:
    connection, database, proposal = proposed(
        "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, x TEXT NOT NULL, y AS (x || '!') STORED, z AS (1));",
        filled("t (id, x)", "i, 'row ' || i"),
    )
    runner = OwnRunner(connection, prepared(connection, database, proposal))
    for _ in range(3):
        runner.once(choice(proposal, "insert_t").scripts[0])
    assert [id_ for (id_,) in connection.execute("SELECT id FROM t WHERE id > 300")] == [301, 302, 303]
    assert connection.execute("SELECT count(*) FROM t WHERE y = x || '!'").fetchone() == (303,)


@pytest.mark.parametrize(
    ("first", "more", "why"),
    [
        ("i", "CREATE UNIQUE INDEX u ON t (x);", Part("u")),
        ("i", "CREATE UNIQUE INDEX u ON t (x) WHERE x <> '';", Part("u")),
        ("i + 9223372036854775000", "", "no room for keys above the highest one"),
    ],
)
def test_nothing_is_inserted_where_it_would_be_refused(first: str, more: str, why: str | Part) -> None:
    _, _, proposal = proposed(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT);", filled("t", f"{first}, 'row ' || i"), more
    )
    assert "insert_t" not in names(proposal)
    assert has(proposal.notes, "no-insert", table="t", why=why)


def test_a_range_follows_the_whole_index_with_the_most_different_values() -> None:
    connection, database, proposal = proposed(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, few TEXT, many TEXT, part TEXT);"
        "CREATE INDEX a_few ON t (few); CREATE INDEX b_many ON t (many COLLATE NOCASE, few);"
        "CREATE INDEX c_part ON t (part) WHERE part IS NOT NULL; CREATE INDEX d_expression ON t (lower(part));",
        filled("t", "i, 'few ' || (i % 3), 'Many ' || (i * 7919 % 300), 'part ' || i"),
    )
    script = choice(proposal, "index_t").scripts[0]
    assert '"many" COLLATE NOCASE >= (SELECT "many" FROM "t" WHERE "id" = :id)' in script
    runner = OwnRunner(connection, prepared(connection, database, proposal))
    statement = script.splitlines()[-1].replace(":id", "7")
    plan = " ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}"))
    assert "b_many" in plan
    assert "TEMP B-TREE" not in plan
    rows = runner.once(script)
    assert [row[2].lower() for row in rows] == sorted(row[2].lower() for row in rows)


def test_a_range_of_an_index_starts_at_one_subquery_without_another_in_it() -> None:  # MariaDB scans for a nested one
    connection, database, proposal = proposed(
        "CREATE TABLE t (a TEXT, b INTEGER, x TEXT, PRIMARY KEY (b, a)) WITHOUT ROWID; CREATE INDEX ix ON t (x);",
        filled("t", "'a' || (i % 3), i / 3, 'row ' || (i * 7919 % 300)"),
    )
    script = choice(proposal, "index_t").scripts[0]
    assert script.count("SELECT") == 2
    rows = OwnRunner(connection, prepared(connection, database, proposal)).once(script)
    assert rows
    assert [row[2] for row in rows] == sorted(row[2] for row in rows)


# Which tables, and how much of what


def test_the_five_biggest_tables_with_rows_are_taken_and_none_that_is_tiny_beside_them() -> None:
    tables = [
        f"CREATE TABLE t{n} (id INTEGER PRIMARY KEY, x TEXT);" + filled(f"t{n}", "i, hex(zeroblob(50))", 100 * n)
        for n in range(1, 8)
    ]
    _, database, _ = proposed(*tables, "CREATE TABLE none (id INTEGER PRIMARY KEY);")
    assert [table.name for table in biggest(database)] == ["t7", "t6", "t5", "t4", "t3"]
    _, database, _ = proposed(
        tables[-1] * 1, "CREATE TABLE huge (x BLOB);", "INSERT INTO huge VALUES (zeroblob(20000000));"
    )
    assert [table.name for table in biggest(database)] == ["huge"]


def test_each_kind_has_its_share_whatever_the_number_of_tables() -> None:
    statements = [
        f"CREATE TABLE t{n} (id INTEGER PRIMARY KEY, x TEXT); CREATE INDEX i{n} ON t{n} (x);"
        + filled(f"t{n}", "i, 'row ' || i")
        for n in range(3)
    ]
    _, _, proposal = proposed(*statements)
    workload = settle(proposal, {c.name: c.scripts[0] for c in proposal.choices}, "app.db")
    kinds = {choice.name: choice.kind for choice in proposal.choices}
    for kind, share in WEIGHTS.items():
        weights = [t.weight for t in workload.transactions if kinds[t.name] is kind]
        assert sum(weights) == pytest.approx(share, abs=0.01)
        assert len(set(weights)) == 1
    assert sum(WEIGHTS.values()) == 100
    assert [kinds[t.name] for t in workload.transactions].count(TransactionKind.RANGE) == 6
    assert {t.name for t in workload.transactions if t.writes} == {
        f"{w}_t{n}" for w in ("update", "insert") for n in range(3)
    }


def test_what_was_found_not_to_work_is_not_in_the_workload() -> None:
    _, _, proposal = proposed("CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT);", filled("t", "i, 'row ' || i"))
    workload = settle(proposal, {"read_t": choice(proposal, "read_t").scripts[0]}, "app.db")
    assert [(t.name, t.weight) for t in workload.transactions] == [("read_t", 70.0)]


def test_names_that_the_database_has_already_are_not_taken_for_key_tables() -> None:
    _, _, proposal = proposed(
        "CREATE TABLE t (id TEXT PRIMARY KEY); CREATE TABLE TDELTA_key_T (x); CREATE INDEX tdelta_key_t_2 ON t (id);",
        filled("t", "'key ' || i"),
    )
    assert [key.name for key in proposal.keys] == ["t_3"]
    assert "tdelta_key_t_3" in choice(proposal, "read_t").scripts[0]


@pytest.mark.parametrize(
    ("table", "columns", "why"),
    [
        ("t", "rowid, _rowid_, oid", "no key to find a row by"),
        ("\"datetime('now')\"", "id INTEGER PRIMARY KEY, x", Part("datetime()")),  # scripts are checked as text
        ('"a\r\nb"', "id INTEGER PRIMARY KEY, x", "its name has an unsupported character"),
    ],
)
def test_a_table_that_no_script_can_name_is_left_out_aloud(table: str, columns: str, why: str | Part) -> None:
    _, _, proposal = proposed(
        f"CREATE TABLE {table} ({columns});", filled(table, ", ".join("i" for _ in columns.split(",")))
    )
    assert proposal.choices == ()
    assert has(proposal.notes, "left-out", why=why)
    assert all(str(note).isprintable() for note in proposal.notes)


# Any schema at all

HOSTILE = (
    *("select", "order", "values", "t", "T2", "a b", "ein Schlüssel", "数据", "naïve", "a;b", "a:b", ":op", "?1"),
    *("a'b", 'a"b', '""', "`a`", "[a]", "a\\b", "--", "/*", "*/", "%", "rowid", "_rowid_", "oid", "n", "k1", "k"),
    "k.k1",
    *("1", "1a", "-1", "{{x}}", "{%", "null", "current_timestamp", "random()", "\\gset", "end", "as", "🙂"),
    *("a\r\nb", "\u2028"),
)
NAMES = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(
        st.characters(codec="utf-8", categories=("L", "N", "P", "S"), include_characters=" "), min_size=1, max_size=6
    ),
)
TYPES = st.sampled_from(["TEXT", "INTEGER", "REAL", "BLOB", "", "VARCHAR(9)", "DATETIME"])
VALUES = {
    "TEXT": "'text ' || (i * 7919 % 1000)",
    "INTEGER": "i * 31 % 97",
    "REAL": "i / 7.0",
    "BLOB": "CAST('blob ' || i AS BLOB)",
    "": "CASE i % 4 WHEN 0 THEN i WHEN 1 THEN 'any ' || i WHEN 2 THEN i / 3.0 END",
    "VARCHAR(9)": "substr('xyz ' || i, 1, 9)",
    "DATETIME": "datetime(1704067200 + i, 'unixepoch')",
}
KEYS = st.sampled_from(["integer", "autoincrement", "sparse", "text", "composite", "without rowid", "none"])


@dataclass
class Schema:
    statements: list[str] = field(default_factory=list)
    can_refuse: bool = False


@st.composite
def schemas(draw) -> Schema:
    """A schema of one or two tables, with all that a table can have, under names that SQLite takes when quoted."""
    schema = Schema()
    tables = draw(st.lists(NAMES, min_size=1, max_size=2, unique_by=str.lower))
    for name in tables:
        _table(draw, schema, name, draw(KEYS))
    return schema


def _table(draw, schema: Schema, name: str, key: str) -> None:
    table = quoted(name)
    columns = draw(st.lists(NAMES, min_size=4, max_size=7, unique_by=str.lower))
    first, second, *rest = (quoted(column) for column in columns)
    kinds = [draw(TYPES) for _ in rest]
    parts = {
        "integer": [f"{first} INTEGER PRIMARY KEY", second],
        "autoincrement": [f"{first} INTEGER PRIMARY KEY AUTOINCREMENT", second],
        "sparse": [f"{first} INTEGER PRIMARY KEY", second],
        "text": [f"{first} TEXT PRIMARY KEY", second],
        "composite": [f"{first} TEXT", f"{second} INT", f"PRIMARY KEY ({second}, {first})"],
        "without rowid": [f"{first} TEXT", f"{second} INT", f"PRIMARY KEY ({first} COLLATE NOCASE, {second} DESC)"],
        "none": [first, second],
    }[key]
    defined = [f"{column} {kind}" for column, kind in zip(rest, kinds, strict=True)]
    extra = draw(st.sampled_from(["", "unique", "check", "generated", "reference", "on conflict"]))
    if extra == "unique":
        defined[0] += " UNIQUE ON CONFLICT IGNORE"
    elif extra == "check":
        defined[0] += f" CHECK ({rest[0]} IS NOT NULL OR {rest[0]} IS NULL)"
    elif extra == "generated":
        defined[-1] = f"{rest[-1]} AS (length({second})) {draw(st.sampled_from(['STORED', 'VIRTUAL']))}"
    elif extra == "reference":
        defined[0] += f" REFERENCES {table} ON DELETE CASCADE"
    elif extra == "on conflict":
        defined[0] += " NOT NULL ON CONFLICT REPLACE DEFAULT 0"
    keys = [part for part in parts if part.startswith("PRIMARY KEY")]
    inner = [*[part for part in parts if part not in keys], *defined, *keys]
    schema.statements.append(
        f"CREATE TABLE {table} ({', '.join(inner)}){' WITHOUT ROWID' if key == 'without rowid' else ''}"
    )
    _fill(draw, schema, table, key, (first, second, *rest), kinds, extra)
    _surround(draw, schema, table, rest)


def _fill(draw, schema: Schema, table: str, key: str, columns: tuple[str, ...], kinds: list[str], extra: str) -> None:
    rows = draw(st.sampled_from([50, 2, 1, 0]))
    firsts = {
        "sparse": "i * 1000003",
        "text": "'key ' || i",
        "composite": "'a' || (i % 5)",
        "without rowid": "'A' || (i % 5)",
    }
    values = [firsts.get(key, "i"), "i", *(VALUES[kind] for kind in kinds)]
    if key in ("text", "composite") and draw(st.booleans()):
        values[0] = f"CASE WHEN i % 3 THEN {values[0]} END"
    filled_columns = list(columns)
    if extra == "generated":
        filled_columns.pop()
        values.pop()
    if extra == "reference":
        values[2] = "NULL"
    into = f"{table} ({', '.join(filled_columns)})"
    if rows:
        schema.statements.append(
            f"INSERT INTO {into} {NUMBERS.format(rows=rows)} SELECT {', '.join(values)} FROM numbers"
        )


def _surround(draw, schema: Schema, table: str, columns: list[str]) -> None:
    column = columns[1]
    whims = {
        "index": f"CREATE INDEX %s ON {table} ({column}, {columns[0]})",
        "partial": f"CREATE INDEX %s ON {table} ({column}) WHERE {column} IS NOT NULL",
        "expression": f"CREATE INDEX %s ON {table} (typeof({column}))",
        "view": f"CREATE VIEW %s AS SELECT * FROM {table}",
        "elsewhere": f"CREATE TRIGGER %s AFTER UPDATE ON {table} BEGIN INSERT INTO log VALUES (1); END",
        "refuses": f"CREATE TRIGGER %s BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'no'); END",
    }
    schema.statements += [] if "CREATE TABLE log (x)" in schema.statements else ["CREATE TABLE log (x)"]
    for whim in draw(st.lists(st.sampled_from(sorted(whims)), max_size=3, unique=True)):
        schema.statements.append(whims[whim].replace("%s", quoted(f"{whim} {len(schema.statements)}"), 1))
        schema.can_refuse |= whim == "refuses"


def made(schema: Schema) -> sqlite3.Connection | None:
    try:
        return built(*(f"{statement};" for statement in schema.statements))
    except sqlite3.Error:
        return None


def tried(runner: OwnRunner, schema: Schema, proposal: Proposal) -> dict[str, str]:
    """The first script of each choice that works, as a staging finds it."""
    works = {}
    for one in proposal.choices:
        for text in one.scripts:
            try:
                for _ in range(5):
                    rows = runner.once(text)
                    assert one.kind is not TransactionKind.READ or len(rows) == 1, text
                    assert one.kind is not TransactionKind.RANGE or len(rows) <= 100, text
                works[one.name] = text
                break
            except sqlite3.IntegrityError:
                assert one.kind in (TransactionKind.UPDATE, TransactionKind.INSERT), text
                assert schema.can_refuse, text
    return works


def compiles(text: str, given: dict[str, int]) -> None:
    transactions = json.dumps([{"name": "t", "weight": 1.0, "text": text}])
    trial = {"seed": 1, "stream": 1, "operations": 3, "first_op": 1, "deadline_ns": 10**10}
    outcome = _native.loop_cost(transactions, json.dumps(given), json.dumps(trial))["outcome"]
    assert (outcome["total_operations"], outcome["first_error"]) == (3, None)


@settings(max_examples=draws(100, 300), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(schema=schemas())
def test_whatever_the_schema_each_proposed_script_runs_and_the_folder_comes_back(
    schema: Schema, tmp_path_factory
) -> None:
    connection = made(schema)
    if connection is None:
        return
    with contextlib.closing(connection):
        database = described(connection)
        proposal = propose(database, DIALECT)
        assert propose(described(connection), DIALECT) == proposal
        runner = OwnRunner(connection, prepared(connection, database, proposal))
        works = tried(runner, schema, proposal)
        for text in works.values():
            compiles(text, runner.given | {"op": 1})
        folder = tmp_path_factory.mktemp("own") / "mine"
        workload = settle(proposal, works, "app.db")
        if works:
            write_user_workload(workload, folder, [*map(str, proposal.notes)])
            assert read_user_workload(Path(folder), database) == workload

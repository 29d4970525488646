import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdelta.engines.sqlite.profile import DIALECT
from tdelta.workloads.database import Database, DatabaseTable, is_writable_name, quoted, stems
from tdelta.workloads.keys import MOST_KEYS, key_count, key_sql, key_variables
from tdelta.workloads.model import KeyTable

from .own import built, described

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=60)


@given(st.lists(NAMES, unique_by=str.lower, max_size=8))
def test_stems_are_plain_and_no_two_are_alike_whatever_the_names(names: list[str]) -> None:
    found = stems(names)
    assert list(found) == names
    assert all(re.fullmatch(r"[A-Za-z0-9_]{1,60}", stem) for stem in found.values())
    assert len({stem.lower() for stem in found.values()}) == len(names)


@given(st.lists(st.from_regex(r"[A-Za-z0-9_]{1,48}", fullmatch=True), unique_by=str.lower, max_size=8), st.lists(NAMES))
def test_a_plain_name_stays_as_it_is_whoever_comes_before_it(plain: list[str], others: list[str]) -> None:
    lower = {name.lower() for name in plain}
    hostile = [name for name in dict.fromkeys(others) if name.lower() not in lower]
    found = stems([*(name for name in hostile if not re.fullmatch(r"[A-Za-z0-9_]+", name)), *plain])
    assert [found[name] for name in plain] == plain


def test_accents_fall_off_and_what_is_left_is_joined() -> None:
    assert stems(["Schlüssel & Co.", "Schlussel Co", "数据", "--"]) == {
        "Schlüssel & Co.": "Schlussel_Co",
        "Schlussel Co": "Schlussel_Co_2",
        "数据": "table",
        "--": "table_2",
    }


@pytest.mark.parametrize(
    ("name", "writable"), [("a b", True), ("数", True), ("a\nb", False), ("\x7f", False), ("\ufffd", False)]
)
def test_a_name_can_be_written_unless_a_character_would_break_a_line_or_is_unknown(name: str, writable: bool) -> None:
    assert is_writable_name(name) is writable


def test_names_are_quoted_as_sql_quotes_them() -> None:
    assert quoted('a "b"') == '"a ""b"""'


def test_scripts_are_given_rows_and_the_bounds_of_row_numbers() -> None:
    database = described(
        built(
            "CREATE TABLE a (id INTEGER PRIMARY KEY); INSERT INTO a VALUES (-5), (9223372036854775807);"
            "CREATE TABLE b (k TEXT PRIMARY KEY) WITHOUT ROWID; INSERT INTO b VALUES ('x');"
            'CREATE TABLE "c d" (x); CREATE TABLE e (k TEXT PRIMARY KEY); INSERT INTO e VALUES (1), (2);'
            "DELETE FROM e WHERE k = '1';"
        )
    )
    assert database.variables() == {
        "rows_a": 2, "min_a": -5, "max_a": 2**63 - 1,
        "rows_b": 1,
        "rows_c_d": 0, "min_c_d": 1, "max_c_d": 0,
        "rows_e": 1, "min_e": 2, "max_e": 2,
    }  # fmt: skip


def test_a_table_is_found_whatever_the_case() -> None:
    table = DatabaseTable("Orders", 1, 1, ())
    assert Database((table,), frozenset()).table("ORDERS") is table
    assert Database((table,), frozenset()).table("order") is None


@pytest.mark.parametrize(
    ("definition", "columns", "is_integer"),
    [
        ("id INTEGER PRIMARY KEY", ("id",), True),
        ("id INT PRIMARY KEY", ("id",), False),
        ("id INTEGER PRIMARY KEY DESC", ("id",), False),
        ("a, b, PRIMARY KEY (b, a)", ("b", "a"), False),
        ("a", ("rowid",), True),
        ("ROWID", ("_rowid_",), True),
        ("rowid, _rowid_", ("oid",), True),
    ],
)
def test_the_key_is_the_row_number_or_what_is_declared_or_the_rowid_by_a_free_name(
    definition: str, columns: tuple[str, ...], is_integer: bool
) -> None:
    (table,) = described(built(f"CREATE TABLE t ({definition});")).tables
    assert (table.key.names, table.key.is_integer) == (columns, is_integer)


@pytest.mark.parametrize(("rows", "span", "dense"), [(99, 100, True), (98, 100, False), (1, 1, True), (0, 0, False)])
def test_a_key_is_dense_where_at_most_one_number_in_a_hundred_is_free(rows: int, span: int, dense: bool) -> None:
    bounds = {"lowest": 1, "highest": span} if rows else {}
    assert DatabaseTable("t", rows, 1, (), **bounds).is_dense is dense


@pytest.mark.parametrize("rows", [1, 9_999, 10_000, 10_001, 25_000])
def test_keys_are_sampled_evenly_from_the_first_row_on_and_never_more_than_ten_thousand(rows: int) -> None:
    connection = built(
        "CREATE TABLE t (k TEXT PRIMARY KEY) WITHOUT ROWID; INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL"
        f" SELECT i + 1 FROM n WHERE i < {rows}) SELECT printf('%07d', i) FROM n;"
    )
    database = described(connection)
    key = KeyTable("mine", "t")
    for statement in key_sql(key, database, DIALECT):
        connection.execute(statement)
    found = connection.execute("SELECT n, k1 FROM tdelta_key_mine ORDER BY n").fetchall()
    stride = -(-rows // MOST_KEYS)
    assert found == [(n + 1, f"{1 + n * stride:07}") for n in range(len(found))]
    assert len(found) == key_count(database.tables[0]) == key_variables([key], database)["keys_mine"] <= MOST_KEYS
    assert len(found) > min(rows, MOST_KEYS) / 2


def test_a_table_that_is_not_there_has_no_keys_to_sample() -> None:
    database = described(built("CREATE TABLE t (x);"))
    with pytest.raises(ValueError, match="nothing"):
        key_sql(KeyTable("n", "nothing"), database, DIALECT)
    assert key_variables([KeyTable("n", "nothing")], database) == {"keys_n": 0}

from types import SimpleNamespace
from typing import Any

import pytest
import sqlglot

from tdelta.engines.oracle.driver import Oracle
from tdelta.engines.oracle.worker import DirectPath, fetching, written
from tdelta.engines.registry import dialects, profile
from tdelta.engines.server.base import Identity
from tdelta.workloads import load

INSERT = "INSERT INTO orders (id, word) VALUES (:p1, :p2)"
SERVERS = Oracle(Identity("oracle", "Oracle Database", "19", "BENCH"), "TS")


class Driver:
    def __init__(self) -> None:
        self.said: list[Any] = []
        self.connection = self

    def execute(self, sql: str) -> None:
        self.said.append(sql)

    def fetchall(self) -> list[tuple[str]]:
        return [("TDELTA_R1",)]

    def executemany(self, sql: str, rows: Any) -> None:
        self.said.append((sql, rows))

    def direct_path_load(self, schema: str, table: str, columns: list[str], rows: list[Any]) -> None:
        self.said.append((schema, table, columns, list(rows)))

    def commit(self) -> None:
        self.said.append("commit")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT a FROM t LIMIT 10", "SELECT a FROM t FETCH FIRST 10 ROWS ONLY"),
        (
            "SELECT COUNT(*) AS n FROM t AS x JOIN u AS y ON x.a = y.a",
            "SELECT COUNT(*) AS n FROM t x JOIN u y ON x.a = y.a",
        ),
        ("SELECT n FROM (SELECT MAX(a) AS n FROM t) AS d", "SELECT n FROM (SELECT MAX(a) AS n FROM t) d"),
        (
            "SELECT n FROM (SELECT a FROM (SELECT a FROM t AS x) AS i) AS d",
            "SELECT n FROM (SELECT a FROM (SELECT a FROM t x) i) d",
        ),
        ("SELECT SUM(a) AS b FROM t WHERE c = :c", "SELECT SUM(a) AS b FROM t WHERE c = :c"),
    ],
)
def test_tables_are_named_without_as_and_columns_with_it(text: str, told: str) -> None:
    assert written(text) == told
    assert sqlglot.parse_one(told.replace(":c", "1"), read="oracle")


def test_rows_are_loaded_by_the_direct_path_many_at_once_and_the_rest_at_the_commit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(DirectPath, "rows_at_once", 3)
    driver = Driver()
    cursor = DirectPath(driver)
    for number in range(3):
        cursor.executemany(INSERT, [{"p1": 2 * number, "p2": "a"}, {"p1": 2 * number + 1, "p2": "b"}])
    cursor.executemany("INSERT INTO lines (id) VALUES (:p1)", [{"p1": 7}])
    cursor.connection.commit()
    loads = [said for said in driver.said if isinstance(said, tuple)]
    assert loads == [
        ("TDELTA_R1", "ORDERS", ["ID", "WORD"], [(0, "a"), (1, "b"), (2, "a"), (3, "b")]),
        ("TDELTA_R1", "ORDERS", ["ID", "WORD"], [(4, "a"), (5, "b")]),
        ("TDELTA_R1", "LINES", ["ID"], [(7,)]),
    ]
    assert driver.said[-1] == "commit"


def test_a_fetch_size_is_that_of_the_first_round_trip_too() -> None:
    cursor = SimpleNamespace(arraysize=100, prefetchrows=2)
    fetching(cursor, 1000)
    assert (cursor.arraysize, cursor.prefetchrows) == (1000, 1000)


def test_a_plan_is_its_hash_and_its_steps() -> None:
    shown = """Plan hash value: 2406349127

---------------------------------------------
| Id  | Operation          | Name           |
---------------------------------------------
|   0 | SELECT STATEMENT   |                |
|*  1 |  INDEX UNIQUE SCAN | CUSTOMERS_PK   |
---------------------------------------------"""
    assert SERVERS.plan([[line] for line in shown.splitlines()]) == {
        "PLAN_HASH_VALUE": "2406349127",
        "steps": [{"operation": "SELECT STATEMENT"}, {"operation": "INDEX UNIQUE SCAN CUSTOMERS_PK"}],
    }


def test_every_key_has_a_name_that_is_the_same_on_both_servers() -> None:
    dialect = profile("oracle").dialect
    for name in ("order-entry", "dml-trace", "read-only"):
        for table in load(name, dialects()).tables_sql(dialect):
            assert table.count("PRIMARY KEY") == table.count("_pk PRIMARY KEY")


def test_work_areas_are_the_sessions_alone() -> None:
    assert all(statement.startswith("ALTER SESSION SET ") for statement in SERVERS.memory_sql(1 << 20))
    assert SERVERS.memory_sql(1 << 20)[1].endswith("1048576")

"""Bulk copies, on a driver that only remembers, and on the signature of the real one."""

import inspect
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tdelta.engines.sqlserver.worker import BulkCopy, Typed

INSERT = 'INSERT INTO "orders" ("order_id", "order_total") VALUES (?, ?)'


class Remembering:
    def __init__(self) -> None:
        self.said: list[Any] = []
        self.connection = SimpleNamespace(commit=lambda: self.said.append("commit"))

    def execute(self, sql: str, *parameters: Any) -> None:
        self.said.append((sql, *parameters))

    def setinputsizes(self, sizes: list[tuple[int, int, int]]) -> None:
        self.said.append(sizes)

    def bulkcopy(self, table: str, rows: Iterator[tuple[int, int]], batch_size: int, **options: Any) -> None:
        if table == "full":
            raise ValueError("no room")
        self.said.append((table, list(rows), batch_size, options))


def test_all_rows_of_a_table_are_one_copy_which_the_next_statement_waits_for() -> None:
    driver = Remembering()
    cursor = BulkCopy(driver)
    for first in range(0, 8, 4):
        cursor.executemany(INSERT, [(first, 2), (first + 1, 4)])
    cursor.execute("COMMIT")
    options = {"timeout": 0, "column_mappings": ["order_id", "order_total"], "table_lock": True}
    rows = [(0, 2), (1, 4), (4, 2), (5, 4)]
    assert driver.said == [("orders", rows, 100_000, options), ("COMMIT",)]


def test_what_a_copy_fails_with_is_raised_by_who_hands_rows_over() -> None:
    cursor = BulkCopy(Remembering())
    with pytest.raises(ValueError, match="no room"):  # noqa: PT012 - how many it takes depends on the threads
        for _ in range(1000):
            cursor.executemany(INSERT.replace("orders", "full"), [(1, 2)])
    cursor.execute("COMMIT")


def test_parameters_have_the_same_types_however_large_their_values_are() -> None:
    driver = Remembering()
    cursor = Typed(driver)
    for values in ((1, "a"), (1 << 40, "abc"), (1, None), (1, "é"), (1, "a" * 5000)):
        cursor.execute("?", values)
    cursor.execute("SELECT 1")
    whole, text, wide = (-5, 19, 0), (12, 4000, 0), (-9, 4000, 0)
    declared = [said for said in driver.said if isinstance(said, list)]
    assert declared == [[whole, text], [whole, text], [], [whole, wide], []]


def test_the_drivers_bulk_copy_takes_what_it_is_given() -> None:
    cursor = pytest.importorskip("mssql_python.cursor").Cursor
    driver = Remembering()
    copying = BulkCopy(driver)
    copying.load("orders", ("order_id",), iter([[(1,)]]))
    table, rows, size, options = driver.said[-1]
    inspect.signature(cursor.bulkcopy).bind(cursor, table, rows, size, **options)
    types = {code for code, _, _ in ((-5, 19, 0), (8, 15, 0), (12, 4000, 0), (-9, 4000, 0), (-3, 8000, 0))}
    assert types <= pytest.importorskip("mssql_python.constants").SQLTypes.get_valid_types()


class Keeping(Remembering):
    """As the driver: the sizes stay until a statement succeeds."""

    sizes: tuple[Any, ...] = ()

    def setinputsizes(self, sizes: list[tuple[int, int, int]]) -> None:
        self.sizes = tuple(sizes)

    def execute(self, sql: str, *parameters: Any) -> None:
        self.said.append(self.sizes)
        if sql == "fails":
            raise ValueError("no such table")
        self.sizes = ()


def test_sizes_of_a_statement_that_failed_are_not_those_of_the_next() -> None:
    driver = Keeping()
    cursor = Typed(driver)
    with pytest.raises(ValueError, match="no such table"):
        cursor.execute("fails", (1,))
    cursor.execute("?", (None,))
    assert driver.said == [((-5, 19, 0),), ()]


def test_a_load_whose_rows_failed_leaves_no_thread() -> None:
    driver = Remembering()
    driver.connection.close = lambda: driver.said.append("close")
    before = threading.active_count()
    cursor = BulkCopy(driver)
    cursor.executemany(INSERT, [(1, 2)])
    cursor.close()
    assert threading.active_count() == before
    assert driver.said[-1] == "close"

"""Bulk copies, on a driver that only remembers, and on the signature of the real one."""

import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from tdelta.engines.sqlserver.worker import BulkCopy

INSERT = 'INSERT INTO "orders" ("order_id", "order_total") VALUES (?, ?)'


class Remembering:
    def __init__(self) -> None:
        self.said: list[Any] = []
        self.connection = SimpleNamespace(commit=lambda: self.said.append("commit"))

    def bulkcopy(self, table: str, rows: list[tuple[int, int]], **options: Any) -> None:
        self.said.append((table, list(rows), options))


def test_rows_are_copied_by_name_once_what_this_connection_did_is_committed() -> None:
    driver = Remembering()
    cursor = BulkCopy(driver)
    cursor.executemany(INSERT, [(1, 2), (3, 4)])
    assert driver.said == []
    cursor.connection.commit()
    options = {"timeout": 0, "column_mappings": ["order_id", "order_total"], "table_lock": True}
    assert driver.said == ["commit", ("orders", [(1, 2), (3, 4)], options), "commit"]


def test_the_drivers_bulk_copy_takes_what_it_is_given() -> None:
    cursor = pytest.importorskip("mssql_python.cursor").Cursor
    driver = Remembering()
    copying = BulkCopy(driver)
    copying.load("orders", ("order_id",), [(1,)])
    table, rows, options = driver.said[-1]
    inspect.signature(cursor.bulkcopy).bind(cursor, table, rows, **options)

"""Writers wait in line, asleep, in the order in which they came; readers wait for nobody."""

from __future__ import annotations

import threading
import time

import pytest

from tdelta.engines.turso.writing import Line, QueuedCursor, as_writer

PATIENCE_SECONDS = 10.0


class Driver:
    """A cursor that remembers, and fails where it is told to."""

    description = (("a",),)

    def __init__(self, failing: str = "") -> None:
        self.ran: list[str] = []
        self._failing = failing

    def execute(self, sql: str, _parameters: object = ()) -> None:
        self.ran.append(sql)
        if sql == self._failing:
            raise RuntimeError(sql)

    def fetchall(self) -> list[tuple[int]]:
        return [(1,)]


def is_free(line: Line, patience_seconds: float = PATIENCE_SECONDS) -> bool:
    """Whether somebody can write: at once, but for what a busy machine takes to start a thread."""
    entered = threading.Event()

    def enter() -> None:
        line.enter()
        entered.set()
        line.leave()

    threading.Thread(target=enter, daemon=True).start()
    return entered.wait(patience_seconds)


def is_taken(line: Line) -> bool:
    """Whether nobody could write for a moment."""
    return not is_free(line, 0.2)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("BEGIN;\nUPDATE t SET a = 1;\nCOMMIT;", "BEGIN IMMEDIATE;\nUPDATE t SET a = 1;\nCOMMIT;"),
        (
            "SELECT 1;\n  begin transaction;\ninsert into t values (1);",
            "SELECT 1;\n  BEGIN IMMEDIATE;\ninsert into t values (1);",
        ),
        ("BEGIN;\nWITH x AS (SELECT 1) DELETE FROM t;", "BEGIN IMMEDIATE;\nWITH x AS (SELECT 1) DELETE FROM t;"),
        ("BEGIN;\nSELECT a FROM t; -- update\nCOMMIT;", "BEGIN;\nSELECT a FROM t; -- update\nCOMMIT;"),
        ("-- UPDATE t\nBEGIN;\nSELECT 'insert';", "-- UPDATE t\nBEGIN;\nSELECT 'insert';"),
        ("UPDATE t SET a = 1;", "UPDATE t SET a = 1;"),
    ],
)
def test_a_transaction_begins_as_a_writer_where_it_writes(script: str, expected: str) -> None:
    assert as_writer(script) == expected


def test_a_writer_is_in_the_line_from_its_begin_to_its_end() -> None:
    line = Line()
    cursor = QueuedCursor(line, Driver())
    cursor.execute("BEGIN IMMEDIATE")
    assert is_taken(line)
    cursor.execute("UPDATE t SET a = 1")
    assert is_taken(line)
    cursor.execute("COMMIT")
    assert is_free(line)


@pytest.mark.parametrize(
    "sql", ["INSERT INTO t VALUES (1)", "-- why\nupdate t set a = 1", "WITH x AS (SELECT 1) DELETE FROM t"]
)
def test_a_write_by_itself_waits_for_its_turn_and_hands_it_on(sql: str) -> None:
    line, driver = Line(), Driver()
    line.enter()
    thread = threading.Thread(target=QueuedCursor(line, driver).execute, args=(sql,))
    thread.start()
    time.sleep(0.1)
    assert driver.ran == []
    line.leave()
    thread.join(PATIENCE_SECONDS)
    assert driver.ran == [sql]
    assert is_free(line)


def test_reading_waits_for_nobody() -> None:
    line, driver = Line(), Driver()
    line.enter()
    for sql in ("BEGIN", "SELECT 1", "COMMIT"):
        QueuedCursor(line, driver).execute(sql)
    assert driver.ran == ["BEGIN", "SELECT 1", "COMMIT"]
    assert is_taken(line), "who never was in it cannot hand it on"


def test_who_fails_to_begin_is_not_in_the_line() -> None:
    line = Line()
    with pytest.raises(RuntimeError):
        QueuedCursor(line, Driver("BEGIN IMMEDIATE")).execute("BEGIN IMMEDIATE")
    assert is_free(line)


def test_a_commit_that_fails_keeps_its_place_until_it_is_rolled_back() -> None:
    line = Line()
    cursor = QueuedCursor(line, Driver("COMMIT"))
    cursor.execute("BEGIN IMMEDIATE")
    with pytest.raises(RuntimeError):
        cursor.execute("COMMIT")
    assert is_taken(line)
    cursor.execute("ROLLBACK")
    assert is_free(line)


def test_a_rollback_lets_go_whatever_comes_of_it() -> None:
    line = Line()
    cursor = QueuedCursor(line, Driver("ROLLBACK"))
    cursor.execute("BEGIN IMMEDIATE")
    with pytest.raises(RuntimeError):
        cursor.execute("ROLLBACK")
    assert is_free(line)


def test_first_come_is_first_served() -> None:
    line, order = Line(), list[int]()
    line.enter()

    def write(number: int) -> None:
        line.enter()
        order.append(number)
        line.leave()

    threads = []
    for number in range(5):
        threads.append(threading.Thread(target=write, args=(number,)))
        threads[-1].start()
        while len(line._waiting) <= number:
            time.sleep(0.001)
    line.leave()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert order == [0, 1, 2, 3, 4]

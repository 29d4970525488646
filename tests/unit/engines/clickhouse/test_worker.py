"""ClickHouse's worker as far as it goes without ClickHouse: its program, its loop, its SQL, what it tells of errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdelta.driver import TrialJob, Worker
from tdelta.driver.answers import measurement
from tdelta.engines.clickhouse.database import Cursor, Database, definition, reading_sql
from tdelta.engines.clickhouse.twins import PROGRAM
from tdelta.engines.clickhouse.worker import ClickhouseHost
from tdelta.errors import TdeltaError
from tdelta_refused import refused

KEY = "5e" * 32
SCRIPT = {"name": "t", "weight": 1.0, "text": "SELECT a FROM t WHERE id = :op \\gset\nBEGIN;\nSELECT :a;\nCOMMIT;"}
JOB = TrialJob(seed=1, stream=2, operations=50, first_op=1, deadline_seconds=60.0)


class Session:
    """Answers what it is told to, and remembers what it was asked."""

    def __init__(self, answer: bytes) -> None:
        self.asked: list[tuple[str, str]] = []
        self._answer = answer

    def query(self, sql: str, form: str) -> Session:
        self.asked.append((sql, form))
        return self

    def bytes(self) -> bytes:
        return self._answer


def database() -> Database:
    """What a database says of errors needs no ClickHouse."""
    found = object.__new__(Database)
    found._options = {"key": KEY}
    return found


def test_a_worker_of_clickhouse_is_a_program_of_its_own() -> None:
    with Worker(program=PROGRAM) as worker:
        assert worker.ask("hello") == {"pid": worker.pid}
        words = Path(f"/proc/{worker.pid}/cmdline").read_bytes().split(b"\0")
        assert words[1:3] == [b"-m", PROGRAM.encode()]
        with refused(TdeltaError, "no-twin-open"):
            worker.ask("checksums", tables=[("t", ("id",))])


def test_its_loop_is_timed_without_a_database_and_transactions_end_by_nothing() -> None:
    with Worker(program=PROGRAM) as worker:
        order = {"transactions": [SCRIPT], "constants": {"rows_t": 5.0}, "trial": JOB.as_json()}
        measured = measurement(worker.ask("loop_cost", **order))
    assert (measured.operations, measured.stopped_by) == (50, "count")
    assert measured.response_ns > 0


@pytest.mark.parametrize("do", ["trial", "facts", "cipher", "prove", "run"])
def test_a_twin_must_be_open_first(do: str) -> None:
    order = {"do": do, "trial": JOB.as_json(), "queries": {"one": "SELECT 1"}, "statements": []}
    kind, _ = ClickhouseHost().answer(order)["error"]
    assert kind == "no_twin"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "CREATE TABLE t (a Nullable(Int64) NOT NULL PRIMARY KEY, b Nullable(String))",
            "CREATE TABLE t (a Int64 PRIMARY KEY, b Nullable(String))",
        ),
        (
            "CREATE TABLE t (a Nullable(FixedString(3)) NOT NULL)",
            "CREATE TABLE t (a FixedString(3)) ENGINE = MergeTree ORDER BY tuple()",
        ),
    ],
)
def test_a_definition_is_written_as_clickhouse_takes_it(sql: str, expected: str) -> None:
    assert definition(sql) == expected


def test_rows_are_read_with_the_types_of_their_columns_and_bytes_out_of_digits() -> None:
    sql = reading_sql("/rows/it's.csv", ("id", "marker"), {"id": "Int32", "marker": "String"}, ["marker"])
    assert sql == (
        "SELECT `id` AS `id`, unhex(`marker`) AS `marker`"
        " FROM file('/rows/it\\'s.csv', CSV, '`id` Int32, `marker` String')"
    )


def test_parameters_become_literals_and_a_statement_without_any_is_left_as_it_is() -> None:
    session = Session(b'{"meta": [{"name": "a", "type": "Int64"}], "data": [[1], [null]]}')
    cursor = Cursor(database(), session)
    cursor.execute("SELECT %(p1)s, %(p2)s, 100 %% 7", {"p1": "it's", "p2": 5})
    cursor.execute("SELECT 100 % 7")
    assert session.asked == [("SELECT 'it\\'s', 5, 100 % 7", "JSONCompact"), ("SELECT 100 % 7", "JSONCompact")]
    assert cursor.description == [("a",)]
    assert cursor.fetchall() == [[1], [None]]


def test_a_statement_that_answers_nothing_has_no_columns_and_no_rows() -> None:
    cursor = Cursor(database(), Session(b""))
    cursor.execute("DROP TABLE t SYNC")
    assert (cursor.description, cursor.fetchall()) == (None, [])


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RuntimeError("Code: 243. DB::Exception: Cannot reserve 1.00 MiB. (NOT_ENOUGH_SPACE)"), "full"),
        (
            RuntimeError("Code: 75. DB::ErrnoException: Cannot write, errno: 28, strerror: No space left on device."),
            "full",
        ),
        (RuntimeError("Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)"), "out_of_memory"),
        (RuntimeError("Code: 60. DB::Exception: Unknown table. (UNKNOWN_TABLE)"), "sql"),
        (KeyError("of nobody's"), "defect"),
    ],
)
def test_what_clickhouse_raises_is_counted_by_its_kind_and_shows_no_key(error: Exception, kind: str) -> None:
    assert database().explained(error)[::2] == (kind, False)
    if isinstance(error, RuntimeError):
        assert KEY not in database().explained(RuntimeError(f"{error} {KEY}"))[1]

"""DuckDB's worker, as far as it goes without DuckDB: its program, its refusals, its loop, what it tells of errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdelta.driver import TrialJob, Worker
from tdelta.driver.answers import measurement
from tdelta.driver.duckdb.client import DuckdbClient, mark
from tdelta.driver.duckdb.database import as_client_error, reading_sql
from tdelta.driver.duckdb.twins import PROGRAM, says_encrypted
from tdelta.driver.duckdb.worker import Host
from tdelta.driver.scripted.clients import ClientError
from tdelta.driver.scripted.programs import compile_program
from tdelta.errors import StatementFault, TdeltaError

KEY = "5e" * 32
SCRIPT = {"name": "t", "weight": 1.0, "text": "SELECT a FROM t WHERE id = :op \\gset\nBEGIN;\nSELECT :a;\nCOMMIT;"}
JOB = TrialJob(seed=1, stream=2, operations=50, first_op=1, deadline_seconds=60.0)


class OutOfMemoryException(Exception):
    """As DuckDB calls it."""


class TransactionException(Exception):
    """As DuckDB calls it."""


class IOException(Exception):
    """As DuckDB calls it."""


class Connection:
    """A connection that answers what it is told to."""

    def __init__(self, rows: list[tuple[object, ...]]) -> None:
        self.rows = rows
        self.ran: list[str] = []

    def run(self, sql: str, parameters: object = ()) -> None:
        self.ran.append(sql)

    def fetch(self, sql: str, parameters: object = ()) -> list[tuple[object, ...]]:
        self.ran.append(f"{sql} with {parameters}")
        return self.rows


def test_a_worker_of_duckdb_is_a_program_of_its_own() -> None:
    with Worker(program=PROGRAM) as worker:
        assert worker.ask("hello") == {"pid": worker.pid}
        words = Path(f"/proc/{worker.pid}/cmdline").read_bytes().split(b"\0")
        assert words[1:3] == [b"-m", PROGRAM.encode()]
        with pytest.raises(TdeltaError, match="no twin is open"):
            worker.ask("checksums", tables=[("t", ("id",))])


def test_its_loop_is_timed_without_a_database() -> None:
    with Worker(program=PROGRAM) as worker:
        order = {"transactions": [SCRIPT], "constants": {"rows_t": 5.0}, "trial": JOB.as_json()}
        measured = measurement(worker.ask("loop_cost", **order))
    assert (measured.operations, measured.stopped_by) == (50, "count")
    assert measured.statements["t/4"].count == 50
    assert measured.response_ns > 0


@pytest.mark.parametrize("changed", [{"slices": 2}, {"slices": 1, "turns": {}}])
def test_trials_are_whole(changed: dict) -> None:
    host = Host()
    host._mix, host._clients = object(), [object()]  # type: ignore[assignment,list-item]
    turns = {"turns": changed.pop("turns")} if "turns" in changed else {}
    kind, message = host.answer({"do": "trial", "trial": {**JOB.as_json(), **changed}, **turns})["error"]
    assert (kind, "whole" in message) == ("value", True)


def test_a_trial_needs_its_transactions_first() -> None:
    kind, message = Host().answer({"do": "trial", "trial": JOB.as_json()})["error"]
    assert (kind, "before its transactions are prepared" in message) == ("value", True)


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        (TransactionException("Conflict on update!"), "conflict", True),
        (OutOfMemoryException("could not allocate"), "out_of_memory", False),
        (IOException("Could not write: No space left on device"), "full", False),
        (IOException("Cannot open file"), "io", False),
        (RuntimeError("Binder Error"), "sql", False),
    ],
)
def test_what_duckdb_raises_is_counted_by_its_kind(error: Exception, kind: str, retryable: bool) -> None:
    found = as_client_error(error, None)
    assert (found.kind, found.retryable) == (kind, retryable)


def test_no_key_is_in_what_is_told() -> None:
    found = as_client_error(RuntimeError(f"Parser Error: ATTACH 'x' (ENCRYPTION_KEY '{KEY}')"), KEY)
    assert found.message == "Parser Error: ATTACH 'x' (ENCRYPTION_KEY '<key>')"
    assert KEY not in repr(found)


def test_a_client_binds_fetches_and_fills_variables() -> None:
    program = compile_program("t", SCRIPT["text"], (), mark)  # type: ignore[arg-type]
    connection = Connection([(7, "x")][:1])
    connection.rows = [(7,)]
    client, variables = DuckdbClient(connection), dict.fromkeys(program.names)  # type: ignore[arg-type]
    variables["op"] = 3
    fetched = [client.execute(statement, variables) for statement in program.statements]
    assert connection.ran == [
        "SELECT a FROM t WHERE id = $1 with [3]",
        "BEGIN",
        "SELECT $1 with [7]",
        "COMMIT",
    ]
    assert fetched == [1, 0, 1, 0]


def test_a_row_that_is_not_there_is_told_and_an_open_transaction_left() -> None:
    program = compile_program("t", "BEGIN;\nSELECT a FROM t \\gset\nSELECT :a;\nCOMMIT;", (), mark)
    connection = Connection([])
    client = DuckdbClient(connection)  # type: ignore[arg-type]
    client.execute(program.statements[0], {})
    with pytest.raises(ClientError) as raised:
        client.execute(program.statements[1], {"a": None})
    assert raised.value.kind == "no_row"
    client.abandon()
    client.abandon()
    assert connection.ran.count("ROLLBACK") == 1


def test_connecting_means_nothing_within_a_process() -> None:
    program = compile_program("t", "\\connect\nSELECT 1;", (), mark)
    with pytest.raises(ClientError, match="connects to nothing"):
        DuckdbClient(Connection([])).execute(program.statements[0], {})  # type: ignore[arg-type]


def test_rows_are_read_with_the_types_of_their_table() -> None:
    sql = reading_sql("/t/it's.csv", ("id", "marker"), {"id": "BIGINT", "marker": "BLOB"})
    assert 'SELECT "id", unhex("marker") AS "marker" FROM read_csv(\'/t/it\'\'s.csv\'' in sql
    assert "columns = {'id': 'BIGINT', 'marker': 'VARCHAR'}" in sql
    assert r"nullstr = '\N', allow_quoted_nulls = false" in sql
    assert r"new_line = '\n'" in sql


@pytest.mark.parametrize("flags", [0, 1])
def test_the_header_says_whether_a_file_is_encrypted(tmp_path: Path, flags: int) -> None:
    path = tmp_path / "twin.db"
    path.write_bytes(bytes(8) + b"DUCK" + (68).to_bytes(8, "little") + flags.to_bytes(8, "little") + bytes(4096))
    assert says_encrypted(path) is bool(flags)


def test_a_conflict_that_stays_is_the_workloads_fault() -> None:
    from tdelta.driver.workers import failure

    assert isinstance(failure("conflict", "Conflict on update!"), StatementFault)

"""DuckDB's worker, as far as it goes without DuckDB: its program, its refusals, its loop, what it tells of errors."""

from pathlib import Path

import pytest

from support.refused import refused
from tdelta.engines.duckdb.database import as_client_error, reading_sql
from tdelta.engines.duckdb.engine import PROGRAM, DuckdbEngine
from tdelta.engines.duckdb.worker import Host
from tdelta.errors import StatementFault, TdeltaError
from tdelta.processes import TrialJob, Worker
from tdelta.processes.answers import measurement

KEY = "5e" * 32
SCRIPT = {"name": "t", "weight": 1.0, "text": "SELECT a FROM t WHERE id = :op \\gset\nBEGIN;\nSELECT :a;\nCOMMIT;"}
JOB = TrialJob(seed=1, stream=2, operations=50, first_op=1, deadline_seconds=60.0)


class OutOfMemoryException(Exception):
    pass


class TransactionException(Exception):
    pass


class IOException(Exception):
    pass


def test_a_worker_of_duckdb_is_a_program_of_its_own() -> None:
    with Worker(program=PROGRAM) as worker:
        assert worker.ask("hello") == {"pid": worker.pid}
        words = Path(f"/proc/{worker.pid}/cmdline").read_bytes().split(b"\0")
        assert words[1:3] == [b"-m", PROGRAM.encode()]
        with refused(TdeltaError, "no-twin-open"):
            worker.ask("checksums", tables=[("t", ("id",))])


def test_its_loop_is_timed_without_a_database() -> None:
    with Worker(program=PROGRAM) as worker:
        order = {"transactions": [SCRIPT], "constants": {"rows_t": 5.0}, "trial": JOB.as_json()}
        measured = measurement(worker.ask("loop_cost", **order))
    assert (measured.operations, measured.stopped_by) == (50, "count")
    assert measured.statements["t/4"].count == 50
    assert measured.response_ns > 0


def test_a_trial_needs_a_twin_first() -> None:
    kind, _ = Host().answer({"do": "trial", "trial": JOB.as_json()})["error"]
    assert kind == "no_twin"


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
    assert DuckdbEngine().shows_itself(path) is not bool(flags)


def test_a_conflict_that_stays_is_the_workloads_fault() -> None:
    from tdelta.processes.workers import failure

    assert isinstance(failure("conflict", "Conflict on update!"), StatementFault)

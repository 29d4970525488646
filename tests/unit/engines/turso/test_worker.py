"""Turso's worker, as far as it goes without Turso: its program, its refusals, its loop."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdelta.driver import TrialJob, Worker
from tdelta.driver.answers import measurement
from tdelta.engines.turso.database import Database
from tdelta.engines.turso.twins import PROGRAM
from tdelta.engines.turso.worker import TursoHost
from tdelta.errors import TdeltaError
from tdelta_refused import refused

KEY = "5e" * 32
SCRIPT = {"name": "t", "weight": 1.0, "text": "SELECT a FROM t WHERE id = :op \\gset\nBEGIN;\nSELECT :a;\nCOMMIT;"}
JOB = TrialJob(seed=1, stream=2, operations=50, first_op=1, deadline_seconds=60.0)


def test_a_worker_of_turso_is_a_program_of_its_own() -> None:
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


class IoError(Exception):
    """As Turso calls it, which has it under no name of PEP 249's."""

    __module__ = "turso"


class DatabaseError(Exception):
    """As Turso calls it."""

    __module__ = "turso.lib"


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        (DatabaseError("database is locked"), "busy", True),
        (DatabaseError("UNIQUE constraint failed: t.a"), "constraint", False),
        (IoError("pwrite: StorageFull"), "full", False),
        (IoError("open: NotFound"), "io", False),
        (DatabaseError("no such table: t"), "sql", False),
        (ValueError("of nobody's"), "defect", False),
    ],
)
def test_what_turso_raises_is_counted_by_its_kind_and_shows_no_key(
    error: Exception, kind: str, retryable: bool
) -> None:
    database = object.__new__(Database)  # what it says of errors needs no Turso
    database._options = {"path": "/somewhere/twin.db", "key": KEY}
    assert database.explained(error)[::2] == (kind, retryable)
    _, message, _ = database.explained(type(error)(f"{error} {KEY}"))
    assert KEY not in message or kind == "defect"
    assert ("twin.db" in message) is (kind in ("io", "full"))


@pytest.mark.parametrize("do", ["trial", "cool", "facts", "conceal"])
def test_a_file_must_be_open_first(do: str) -> None:
    order = {"do": do, "trial": JOB.as_json(), "queries": {"one": "SELECT 1"}}
    kind, _ = TursoHost().answer(order)["error"]
    assert kind == "no_twin"

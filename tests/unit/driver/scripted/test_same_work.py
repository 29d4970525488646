"""The loop in Python does what the native one does: the same trial leaves the same rows behind."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tdelta.driver import LoadJob, TrialJob, Worker
from tdelta.driver.answers import checksums
from tdelta.driver.scripted.evaluating import Variables
from tdelta.driver.scripted.loop import Report, Trial, run_trial
from tdelta.driver.scripted.programs import Statement, mix_of
from tdelta.engines.registry import dialects
from tdelta.engines.sqlite.engine import SqliteEngine, TwinSettings
from tdelta.engines.sqlite.profile import DIALECT
from tdelta.workloads import Workload, load

SCALE = 0.2
SETTINGS = TwinSettings("none", 4096, "wal", "normal", 0, threads=1, cache_bytes=1_000_000)
JOB = TrialJob(seed=7, stream=3, operations=120, first_op=11, deadline_seconds=120.0, discard=12)
DRAWN = """
\\set a random_gaussian(1, 100000, 3.5)
\\set b random_exponential(-50, 50000, 2.5)
\\set c random_zipfian(1, 100000, 1.3)
\\set d hash(:a) % 1000 + abs(:b) * 2 - int(double(:c) / 3)
\\set t random_string(0, 30)
\\if :a % 3 = 0 and :c < 5 or :b > 20000
\\set d :d - 9223372036854775807
\\endif
INSERT INTO drawn (op, a, b, c, d, t) VALUES (:op, :a, :b, :c, :d, :t);
"""


class PythonsOwn:
    """A client of the loop on the SQLite of Python."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)

    def execute(self, statement: Statement, variables: Variables) -> int:
        rows = self.db.execute(statement.sql, [variables[name] for name in statement.names]).fetchall()
        if statement.into is not None:
            variables.update(zip(statement.into, rows[0], strict=True))
        return len(rows)

    def abandon(self) -> None:
        raise AssertionError("nothing fails here")


def job_of(workload: Workload) -> LoadJob:
    tables = tuple((t.name, tuple(c.name for c in t.columns)) for t in workload.tables)
    return LoadJob(workload.plan(SCALE), 5, workload.tables_sql(DIALECT), workload.indexes_sql(DIALECT), tables)


def loaded(path: Path, job: LoadJob) -> None:
    options = SqliteEngine().create_options(str(path), SETTINGS, None)
    with Worker() as worker:
        worker.ask("open", library="sqlite3mc", options=options, connections=1)
        tables, indexes = job.tables_sql, job.indexes_sql
        worker.ask("load", plan=job.plan, seed=job.seed, threads=1, tables=tables, indexes=indexes)


def natively(path: Path, mix: dict, tables: tuple) -> tuple[dict, dict]:
    with Worker() as worker:
        options = SqliteEngine().open_options(str(path), SETTINGS, None)
        worker.ask("open", library="sqlite3mc", options=options, connections=1)
        worker.ask("prepare", **mix)
        answer = worker.ask("trial", trial=JOB.as_json())
        return answer["report"], dict(checksums(worker, tables))


def in_python(path: Path, mix: dict, tables: tuple) -> tuple[Report, dict]:
    client = PythonsOwn(path)
    with closing(client.db):
        made = mix_of(mix["transactions"], mix["constants"], lambda number: f"?{number}")
        report = run_trial(made, Trial(**JOB.as_json()), [client], threading.Event())
    with Worker() as worker:
        options = SqliteEngine().open_options(str(path), SETTINGS, None)
        worker.ask("open", library="sqlite3mc", options=options, connections=1)
        return report, dict(checksums(worker, tables))


def both(path: Path, mix: dict, tables: tuple) -> None:
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    native, sums = natively(path, mix, tables)
    python, same = in_python(copy, mix, tables)
    assert python.outcome.errors == native["outcome"]["errors"] == {}
    assert python.outcome.operations == native["outcome"]["operations"] == JOB.operations - JOB.discard
    counts = {name: totals[0] for name, totals in python.spans.items()}
    assert counts == {name: totals[0] for name, totals in native["spans"].items()}
    assert python.outcome.rows == native["outcome"]["rows"]
    assert same == sums


@pytest.mark.parametrize("name", ["order-entry", "read-only", "insert"])
def test_a_workload_leaves_the_same_rows(tmp_path: Path, name: str) -> None:
    workload = load(name, dialects())
    job, path = job_of(workload), tmp_path / "twin.db"
    loaded(path, job)
    scripts = [{"name": n, "weight": s["weight"], "text": s["text"]} for n, s in workload.scripts().items()]
    rows = {f"rows_{table}": float(count) for table, count in workload.rows(SCALE).items()}
    both(path, {"transactions": scripts, "constants": {**rows, "scale": SCALE}}, job.tables)


def test_every_law_of_drawing_is_the_same_number_for_number(tmp_path: Path) -> None:
    path = tmp_path / "drawn.db"
    columns = ("op", "a", "b", "c", "d", "t")
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"CREATE TABLE drawn ({', '.join(columns)})")
    script = {"name": "draw", "weight": 1.0, "text": DRAWN}
    both(path, {"transactions": [script], "constants": {"scale": 1.0}}, (("drawn", columns),))

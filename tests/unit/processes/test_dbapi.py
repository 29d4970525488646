"""The load loop over drivers of Python's: what is called, bound and counted; the same work as a native client's."""

import json
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tdelta import _native
from tdelta.engines.registry import dialects
from tdelta.engines.sqlite.engine import WORKER, SqliteEngine, TwinSettings
from tdelta.engines.sqlite.profile import DIALECT
from tdelta.processes import PopulateJob, TrialJob, Worker
from tdelta.processes.answers import checksums
from tdelta.processes.dbapi import ClientError, NoDatabase, explained, loop_cost
from tdelta.workloads import Workload, load

SCALE = 0.2
SETTINGS = TwinSettings("none", cache_bytes=1_000_000)
JOB = TrialJob(seed=7, stream=3, operations=120, first_op=11, deadline_seconds=120.0, discard=12)
TRIAL = {"seed": 1, "stream": 2, "operations": 1, "first_op": 5, "deadline_ns": 60_000_000_000}
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


_STYLE = ("parameters", "ends_by_methods", "begin", "commit_rows", "is_spread")


class Cursor:
    def __init__(self, rows: Sequence[tuple[object, ...]] = (), columns: Sequence[str] | None = None) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.rows = list(rows)
        self.description = None if columns is None else [(name, None) for name in columns]
        self.connection = self
        self.does: Callable[[str], None] = lambda _sql: None

    def execute(self, sql: str, *parameters: object) -> None:
        self.calls.append((sql, *parameters))
        self.does(sql)

    def executemany(self, sql: str, rows: Sequence[object]) -> None:
        self.calls.append((sql.split(" (")[0], len(rows)))

    def fetchall(self) -> list[tuple[object, ...]]:
        return self.rows

    def commit(self) -> None:
        self.calls.append(("commit()",))

    def rollback(self) -> None:
        self.calls.append(("rollback()",))


def twin_of(cursors: Sequence[object], script: str, **given: Any) -> _native.DbApiTwin:
    style = {name: given.pop(name) for name in _STYLE if name in given}
    left = iter(cursors)
    connect = given.pop("connect", lambda _old: next(left))
    made = _native.DbApiTwin(json.dumps({"parameters": "qmark"} | style), connect, len(cursors), explained, **given)
    made.prepare(json.dumps([{"name": "t", "weight": 1, "text": script}]), json.dumps({"rows_t": 10}))
    return made


def outcome(script: str, *cursors: object, trial: dict[str, Any] | None = None, **given: Any) -> dict[str, Any]:
    return twin_of(cursors, script, **given).trial(json.dumps(TRIAL | (trial or {})))["outcome"]


@pytest.mark.parametrize(
    ("parameters", "call"),
    [
        ("qmark", ("SELECT ?, ?, '%', ?", (5, 10, 5))),
        ("format", ("SELECT %s, %s, '%%', %s", (5, 10, 5))),
        ("numeric", ("SELECT :1, :2, '%', :1", (5, 10))),
        ("dollar", ("SELECT $1, $2, '%', $1", (5, 10))),
        ("named", ("SELECT :p1, :p2, '%', :p1", {"p1": 5, "p2": 10})),
        ("pyformat", ("SELECT %(p1)s, %(p2)s, '%%', %(p1)s", {"p1": 5, "p2": 10})),
    ],
)
def test_parameters_are_written_and_given_as_the_driver_takes_them(parameters: str, call: tuple[object, ...]) -> None:
    cursor = Cursor()
    outcome("SELECT :op, :rows_t, '%', :op;\nSELECT '%';", cursor, parameters=parameters)
    assert cursor.calls == [call, ("SELECT '%'",)]


def test_values_of_every_type_are_bound_and_come_back() -> None:
    script = (
        "SELECT a, b, C, d, e \\gset\nSELECT :a, :b, :c, :d, :e;\n\\set f :a + 1\n\\set g double(:b) / 2\n"
        "\\set s random_string(3, 3)\nSELECT :f, :g, :s;"
    )
    cursor = Cursor([(7, 2.5, None, "é", b"\x00\xff")], ["a", "b", "c", "D", "e"])
    assert outcome(script, cursor)["errors"] == {}
    (_, bound), (_, computed) = cursor.calls[1:]  # type: ignore[misc]
    assert bound == (7, 2.5, None, "é", b"\x00\xff")
    assert computed[:2] == (8, 1.25)  # type: ignore[index]
    assert len(computed[2]) == 3  # type: ignore[index]


def test_a_row_that_is_not_there_and_a_statement_without_rows_are_counted() -> None:
    for cursor in (Cursor([], ["a"]), Cursor()):
        found = outcome("SELECT a FROM t \\gset\nSELECT :a;", cursor)
        assert (found["errors"], found["stopped_by"]) == ({"no_row": 1}, "error")
        assert "SELECT a FROM t" in found["first_error"]


def test_transactions_are_statements_and_left_by_one() -> None:
    cursor = Cursor()

    def does(sql: str) -> None:
        if sql.startswith("UPDATE"):
            raise ClientError("full", "disk-full")

    cursor.does = does
    found = outcome("BEGIN;\nUPDATE t SET x = 1;\nCOMMIT;", cursor)
    assert [sql for sql, *_ in cursor.calls] == ["BEGIN", "UPDATE t SET x = 1", "ROLLBACK"]
    assert (found["errors"], found["first_error"]) == ({"full": 1}, "t, line 2: disk-full")


def test_transactions_end_by_methods_where_the_driver_begins_them_itself() -> None:
    cursor = Cursor()
    outcome("BEGIN;\nUPDATE t SET x = 1;\nCOMMIT;\nDELETE FROM t;\nBEGIN;\nROLLBACK;", cursor, ends_by_methods=True)
    calls = [sql for sql, *_ in cursor.calls]
    assert calls == ["UPDATE t SET x = 1", "commit()", "DELETE FROM t", "commit()", "rollback()"]


def test_a_write_that_answers_rows_is_committed_too_where_the_driver_begins_transactions_itself() -> None:
    cursor = Cursor([(1,)], ["a"])
    outcome("UPDATE t SET a = 1 RETURNING a;\nSELECT a FROM t;", cursor, ends_by_methods=True)
    calls = [sql for sql, *_ in cursor.calls]
    assert calls == ["UPDATE t SET a = 1 RETURNING a", "commit()", "SELECT a FROM t"]


@pytest.mark.parametrize(("ends_by_methods", "undone"), [(True, ["rollback()"]), (False, [])])
def test_a_retry_after_a_commit_repeats_nothing_that_is_committed(ends_by_methods: bool, undone: list[str]) -> None:
    cursor = Cursor()

    def does(sql: str) -> None:
        if sql.startswith("SELECT") and len(cursor.calls) < 7:
            raise ClientError("locked", "wait", retryable=True)

    cursor.does = does
    found = outcome(
        "BEGIN;\nINSERT INTO t VALUES (1);\nCOMMIT;\nSELECT a FROM t;", cursor, ends_by_methods=ends_by_methods
    )
    calls = [sql for sql, *_ in cursor.calls]
    assert calls.count("INSERT INTO t VALUES (1)") == 1
    again = calls[calls.index("SELECT a FROM t") :]
    assert [*dict.fromkeys(again)] == ["SELECT a FROM t", *undone]
    assert found["retries"] == {"locked": again.count("SELECT a FROM t") - 1}
    assert (found["operations"], found["errors"]) == (1, {})


def test_transactions_begin_with_the_servers_own_word_where_it_has_one() -> None:
    cursor = Cursor()
    outcome("BEGIN;\nUPDATE t SET x = 1;\nCOMMIT;", cursor, begin="BEGIN TRANSACTION")
    assert [sql for sql, *_ in cursor.calls] == ["BEGIN TRANSACTION", "UPDATE t SET x = 1", "COMMIT"]


def test_what_a_server_says_in_a_later_part_of_its_answer_is_heard() -> None:
    class InParts(Cursor):
        parts = 0

        def nextset(self) -> bool:
            self.calls.append(("nextset()",))
            self.parts += 1
            if self.parts == 3:
                raise ClientError("constraint", "no")
            return self.parts == 1

    cursor = InParts()
    found = outcome("DELETE FROM t;\nDELETE FROM u;", cursor)
    assert [sql for sql, *_ in cursor.calls] == [
        *("DELETE FROM t", "nextset()", "nextset()"),
        *("DELETE FROM u", "nextset()"),
    ]
    assert found["errors"] == {"constraint": 1}


@pytest.mark.parametrize("by_methods", [False, True])
def test_a_load_commits_every_so_many_rows_and_what_its_indexes_are_part_of(by_methods: bool) -> None:
    cursor, job = Cursor(), job_of(load("point-select", dialects()))
    made = twin_of([cursor], "SELECT 1;", ends_by_methods=by_methods, commit_rows=1500)
    made.load(json.dumps(job.plan), job.seed, 1, ["CREATE TABLE t"], ["CREATE INDEX i"])
    rows = [call[1] for call in cursor.calls if len(call) == 2]
    assert rows == [1024, 976]
    inserts = [('INSERT INTO "sbtest1"', number) for number in rows]
    begin: list[tuple[object, ...]] = [] if by_methods else [("BEGIN",)]
    commit: tuple[object, ...] = ("commit()",) if by_methods else ("COMMIT",)
    last = [commit] if by_methods else []
    assert cursor.calls == [("CREATE TABLE t",), *begin, *inserts, commit, ("CREATE INDEX i",), *last]
    cursor.calls.clear()
    twin_of([cursor], "SELECT 1;", ends_by_methods=by_methods, commit_rows=1000).load(
        json.dumps(job.plan), job.seed, 1, [], []
    )
    assert [call for call in cursor.calls if len(call) == 1] == [*begin, commit, *begin, commit, *last]


def test_a_conflict_is_tried_again_with_the_same_values() -> None:
    cursor = Cursor()

    def does(_sql: str) -> None:
        if len(cursor.calls) < 3:
            raise ClientError("conflict", "someone else was first", retryable=True)

    cursor.does = does
    found = outcome("\\set x random(1, 1000000)\nSELECT :x;", cursor)
    assert (found["retries"], found["errors"], len(set(cursor.calls))) == ({"conflict": 2}, {}, 1)


def test_a_defect_of_the_driver_is_told_by_its_type() -> None:
    cursor = Cursor()
    cursor.does = lambda _sql: [][0]
    found = outcome("SELECT 1;", cursor)
    assert found["errors"] == {"defect": 1}
    assert "IndexError" in found["first_error"]


def test_what_an_operation_does_depends_on_its_number_alone_on_however_many_threads() -> None:
    script, orders = "\\set x random(1, 1000000)\nSELECT :op, :x;", {"operations": 300}
    alone, several = Cursor(), [Cursor() for _ in range(3)]
    threads = set[int]()
    for cursor in several:
        cursor.does = lambda _sql: threads.add(threading.get_ident())
    outcome(script, alone, trial=orders)
    assert outcome(script, *several, trial=orders)["operations"] == 300
    assert sorted(alone.calls, key=repr) == sorted((c for one in several for c in one.calls), key=repr)
    assert threading.get_ident() not in threads


def test_a_connection_is_made_anew_where_the_engine_has_such() -> None:
    made: list[object] = []

    def connect(old: object) -> Cursor:
        made.append(old)
        return Cursor()

    assert outcome("\\connect\nSELECT 1;", Cursor(), connect=connect, trial={"operations": 2})["errors"] == {}
    assert made[0] is None
    assert all(isinstance(old, Cursor) for old in made[1:])
    assert len(made) == 3


def test_cold_operations_files_and_settling_are_the_engines_own_functions() -> None:
    cursor, calls = Cursor(), list[str]()
    cursor.does = calls.append
    functions = {"cool": lambda: calls.append("cool"), "files": lambda: {"database": len(calls)}}
    made = twin_of([cursor], "SELECT 1;", settle=lambda: calls.append("settle") or True, **functions)
    extra = made.trial(json.dumps(TRIAL | {"operations": 2, "cold": True}))["extra"]
    assert calls == ["cool", "SELECT 1", "cool", "SELECT 1", "settle"]
    assert extra is not None
    assert extra["files"] == {"database": 4}
    assert extra["checkpoint_ns"] > 0
    made.trial(json.dumps(TRIAL), False)
    assert calls[5:] == ["SELECT 1"]
    with pytest.raises(_native.NativeError) as refused:
        twin_of([Cursor(), Cursor()], "SELECT 1;").trial(json.dumps(TRIAL | {"cold": True}))
    assert refused.value.args[0] == "value"


def test_every_statement_is_metered_by_itself() -> None:
    made = twin_of([Cursor([(1,), (2,)], ["a"])], "SELECT 1;\nDELETE FROM t;", is_spread=True)
    extra = made.trace(json.dumps(TRIAL | {"operations": 4}))["extra"]
    assert extra is not None
    costs = extra["costs"]
    assert {name: (cost["calls"], cost["rows"]) for name, cost in costs.items()} == {"t/1": (4, 8), "t/2": (4, 0)}
    assert costs["t/1"]["cpu_ns"] > 0


def test_the_loop_is_timed_on_a_cursor_that_does_nothing_but_answer_ones() -> None:
    script = "SELECT a AS x, b FROM t \\gset\nSELECT 1 / :x, :b;\nUPDATE t SET a = 1;"
    order = {"transactions": [{"name": "t", "weight": 1.0, "text": script}], "constants": {}, "trial": TRIAL}
    report = loop_cost({"parameters": "dollar"}, "duckdb", order)
    assert (report["outcome"]["operations"], report["outcome"]["first_error"]) == (1, None)
    assert report["outcome"]["rows"] == 2
    assert NoDatabase("sqlite").fetchall()[0][:2] == (1, 1)


# ------------------------------------------------------------------------------ the same work on SQLite's own driver


def own_twin(path: Path) -> _native.DbApiTwin:
    def connect(_old: object) -> sqlite3.Cursor:
        return sqlite3.connect(path, isolation_level=None, check_same_thread=False).cursor()

    return _native.DbApiTwin('{"parameters": "qmark"}', connect, 1, explained)


def job_of(workload: Workload) -> PopulateJob:
    tables = tuple((t.name, tuple(c.name for c in t.columns)) for t in workload.tables)
    return PopulateJob(workload.plan(SCALE), 5, workload.tables_sql(DIALECT), workload.indexes_sql(DIALECT), tables)


def both(path: Path, mix: dict[str, Any], tables: Any) -> None:
    """One file filled by the driver, worked on by the native client, and its copy by the driver."""
    copy = path.with_name("copy.db")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    with Worker(program=WORKER) as worker:
        options = SqliteEngine().opening(path, SETTINGS, None)["options"]
        worker.ask("open", library="sqlite3mc", options=options, connections=1)
        worker.ask("prepare", **mix)
        native = worker.ask("trial", trial=JOB.as_json())
        sums = dict(checksums(worker, tables))
    twin = own_twin(copy)
    twin.prepare(json.dumps(mix["transactions"]), json.dumps(mix["constants"]))
    python = twin.trial(json.dumps(JOB.as_json()))
    assert python["outcome"]["errors"] == native["outcome"]["errors"] == {}
    assert python["outcome"]["operations"] == native["outcome"]["operations"] == JOB.operations - JOB.discard
    counts = {name: totals[0] for name, totals in python["spans"].items()}
    assert counts == {name: totals[0] for name, totals in native["spans"].items()}
    assert python["outcome"]["rows"] == native["outcome"]["rows"]
    assert twin.checksums([(name, list(columns)) for name, columns in tables]) == sums
    twin.close()


@pytest.mark.parametrize("name", ["order-entry", "read-only", "insert"])
def test_a_workload_leaves_the_same_rows(tmp_path: Path, name: str) -> None:
    workload = load(name, dialects())
    job, path = job_of(workload), tmp_path / "twin.db"
    twin = own_twin(path)
    twin.load(json.dumps(job.plan), job.seed, 2, job.tables_sql, job.indexes_sql)
    tables = [(table, list(columns)) for table, columns in job.tables]
    assert twin.checksums(tables) == _native.plan_checksums(json.dumps(job.plan), job.seed, 2)
    twin.close()
    scripts = [{"name": n, "weight": s["weight"], "text": s["text"]} for n, s in workload.scripts().items()]
    rows = {f"rows_{table}": float(count) for table, count in workload.rows(SCALE).items()}
    both(path, {"transactions": scripts, "constants": {**rows, "scale": SCALE}}, job.tables)


def test_what_every_distribution_of_drawing_makes_is_bound_the_same(tmp_path: Path) -> None:
    path = tmp_path / "drawn.db"
    columns = ("op", "a", "b", "c", "d", "t")
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"CREATE TABLE drawn ({', '.join(columns)})")
    script = {"name": "draw", "weight": 1.0, "text": DRAWN}
    both(path, {"transactions": [script], "constants": {"scale": 1.0}}, (("drawn", columns),))

"""The markers on their way: what a worker is told, in which order; the statements run on the SQLite of Python."""

import dataclasses
import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.refused import Part, refused
from tdelta.engines.sqlite.exposure import SqliteExposure
from tdelta.engines.sqlite.profile import DIALECT
from tdelta.errors import UsageError, WorkerFault
from tdelta.evidence import FileClass, Markers, table_sql
from tdelta.processes import PopulateJob, Worker
from tdelta.processes.rows import with_markers

MARKERS = Markers.drawn(7)
LOAD = PopulateJob(
    {"tables": [{"name": "t", "rows": 1, "columns": []}], "more": 1}, 7, ("CREATE t",), ("INDEX",), (("t", ("id",)),)
)


class SqliteWorker:
    """Does what a worker would, with the SQLite of Python in this process."""

    def __init__(self, path: Path) -> None:
        self.pid = os.getpid()
        self.path = path
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode=wal")
        self.extra: list[Any] = []
        self.told: list[str] = []

    def ask(self, do: str, *, seconds: float = 0.0, **order: Any) -> dict[str, Any]:
        self.told.append(do)
        return getattr(self, f"do_{do}")(**order) or {}

    def do_facts(self, queries):
        return {name: str(self.db.execute(sql).fetchone()[0]) for name, sql in queries.items()}

    def do_expose(self, statements, cursors):
        extra = sqlite3.connect(self.path, isolation_level=None)
        extra.execute("PRAGMA temp_store=file")
        for sql in statements:
            extra.execute(sql).fetchall()
        opened = [extra.execute(sql) for sql in cursors]
        assert all(cursor.fetchone() for cursor in opened)
        self.extra = [opened, extra]

    def do_conceal(self):
        opened, extra = self.extra
        for cursor in opened:
            cursor.close()
        extra.close()

    def rows(self):
        return self.db.execute("SELECT id, marker FROM tdelta_marker ORDER BY id").fetchall()


def worker(folder: Path) -> SqliteWorker:
    path = folder / "a.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute(table_sql(DIALECT))
        db.executemany("INSERT INTO tdelta_marker VALUES (?, ?)", enumerate(MARKERS.rows, 1))
        db.commit()
    return SqliteWorker(path)


def found_by(exposure: SqliteExposure) -> dict[FileClass, int]:
    counts: dict[FileClass, int] = {}
    for one in exposure.found():
        counts[one.file_class] = counts.get(one.file_class, 0) + one.markers_found
    return counts


def test_the_markers_table_stands_behind_all_others_of_a_load() -> None:
    job = with_markers(LOAD, MARKERS, DIALECT)
    assert [table["name"] for table in job.plan["tables"]] == ["t", "tdelta_marker"]  # type: ignore[index,union-attr]
    assert (job.plan["more"], job.tables_sql, job.indexes_sql) == (1, ("CREATE t", table_sql(DIALECT)), ("INDEX",))
    assert job.tables == (("t", ("id",)), ("tdelta_marker", ("id", "marker")))
    assert LOAD.plan["tables"] == [{"name": "t", "rows": 1, "columns": []}]


def test_a_workload_with_a_table_of_that_name_is_refused() -> None:
    with refused(UsageError, "table-name-taken", table="tdelta_marker"):
        with_markers(dataclasses.replace(LOAD, tables=(("Tdelta_Marker", ("id",)),)), MARKERS, DIALECT)


def test_markers_reach_every_class_of_file_and_the_rows_stay_what_they_are(tmp_path: Path) -> None:
    held = worker(tmp_path)
    before = held.rows()
    exposure = SqliteExposure(held, held.path, MARKERS.needles)  # type: ignore[arg-type]
    with exposure.under_way():
        exposure.scan()
        during = found_by(exposure)
    exposure.scan_afterwards()
    after = found_by(exposure)
    held.db.close()
    assert during[FileClass.DATABASE] == after[FileClass.DATABASE] == 32
    assert during[FileClass.TEMP] > 32
    assert during[FileClass.WAL] >= 32
    with closing(sqlite3.connect(held.path)) as db:
        assert db.execute("SELECT id, marker FROM tdelta_marker ORDER BY id").fetchall() == before
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_files_are_searched_over_and_over_until_there_is_an_answer(tmp_path: Path) -> None:
    held = worker(tmp_path)
    answers, pipe = os.pipe()
    held.fileno = lambda: answers  # type: ignore[attr-defined]
    exposure = SqliteExposure(held, held.path, MARKERS.needles)  # type: ignore[arg-type]
    looks = []

    def look() -> None:
        looks.append(len(looks))
        if len(looks) == 3:
            os.write(pipe, b"{}\n")

    exposure.scan = look  # type: ignore[method-assign]
    exposure.scan_until_answered(60.0)
    exposure.scan_until_answered(60.0)
    assert looks == [0, 1, 2, 3]
    os.read(answers, 100)
    exposure.scan_until_answered(0.0)  # a worker that is stuck is not waited for here
    os.close(answers)
    os.close(pipe)
    held.db.close()
    assert looks == [0, 1, 2, 3, 4]


def test_the_log_keeps_its_markers_while_the_workload_commits_and_checkpoints(tmp_path: Path) -> None:
    held = worker(tmp_path)
    held.db.execute("CREATE TABLE work (a)")
    held.db.execute("PRAGMA wal_autocheckpoint=5")
    exposure = SqliteExposure(held, held.path, MARKERS.needles)  # type: ignore[arg-type]
    with exposure.under_way():
        for _ in range(300):
            held.db.execute("INSERT INTO work VALUES (randomblob(3000))")
        exposure.scan()
    assert found_by(exposure)[FileClass.WAL] >= 32
    held.db.close()


def test_the_workload_may_write_while_markers_are_under_way(tmp_path: Path) -> None:
    held = worker(tmp_path)
    held.db.execute("PRAGMA busy_timeout=0")
    exposure = SqliteExposure(held, held.path, MARKERS.needles)  # type: ignore[arg-type]
    with exposure.under_way():
        held.db.execute("CREATE TABLE work (a)")
        held.db.execute("INSERT INTO work VALUES (1)")
    held.db.close()


def test_a_worker_that_dies_under_search_is_told_as_that(tmp_path: Path) -> None:
    held = worker(tmp_path)
    exposure = SqliteExposure(held, held.path, MARKERS.needles)  # type: ignore[arg-type]
    with Worker() as dead:
        os.kill(dead.pid, signal.SIGKILL)
        with pytest.raises(WorkerFault):
            dead.ask("hello")
        held.pid = dead.pid
        held.require_running = dead.require_running  # type: ignore[attr-defined]
        with refused(WorkerFault, "process-died", ending=Part("killed")):
            exposure.scan()
    held.db.close()


def test_nothing_is_left_held_once_the_trial_is_over(tmp_path: Path) -> None:
    held = worker(tmp_path)
    exposure = SqliteExposure(held, held.path, MARKERS.needles)  # type: ignore[arg-type]
    with exposure.under_way():
        held.told.append("trial")
    exposure.scan_afterwards()
    assert held.told == ["facts", "expose", "trial", "conceal", "facts"]
    held.db.execute("BEGIN EXCLUSIVE")
    held.db.close()

import datetime
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tdelta.engines.postgres.driven import DRIVER as PSYCOPG
from tdelta.engines.server.dbapi import Driver
from tdelta.engines.server.dbapi_worker import DrivenHost, as_text
from tdelta.engines.server.mysql_dbapi import DRIVER as PYMYSQL
from tdelta.processes.dbapi import ClientError


def said(module: ModuleType, error: BaseException) -> Any:
    if isinstance(error, sqlite3.IntegrityError):
        return "constraint", str(error), False
    return ("sql", str(error), False) if isinstance(error, module.Error) else None


def connect(module: ModuleType, options: Any) -> Any:
    return module.connect(options["path"], isolation_level=None, check_same_thread=False)


def refused(host: DrivenHost, do: str, **request: Any) -> list[str]:
    found = host.answer({"do": do, **request})
    assert found is not None
    words: list[str] = found["ok"]["refused"]
    return words


LITE = Driver("sqlite3", "sqlite3", {"parameters": "qmark"}, connect, said, "sqlite")


@pytest.fixture
def host(tmp_path: Any) -> Iterator[DrivenHost]:
    made = DrivenHost(LITE)
    options = {"path": str(tmp_path / "db"), "setup": ["CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY)"]}
    assert made.answer({"do": "enter", "options": options, "connections": 1}) == {"ok": {}}
    yield made
    made.end()


def test_rows_come_as_texts_and_what_a_server_refuses_is_an_answer(host: DrivenHost) -> None:
    assert host.do_rows({"sql": "SELECT 1 AS a, NULL AS b, 'x' AS c"}) == {
        "columns": ["a", "b", "c"],
        "rows": [["1", None, "x"]],
    }
    assert host.answer({"do": "put", "sql": "CREATE TABLE u (x)"}) == {"ok": {"columns": [], "rows": []}}
    host.do_run({"statements": ["INSERT INTO t VALUES (1)"]})
    assert refused(host, "perform", statements=["INSERT INTO t VALUES (1)"])[0] == "constraint"
    assert host.answer({"do": "rows", "sql": "SELECT * FROM v"})["error"] == ["sql", "no such table: v"]


def test_a_trial_reads_the_counters_around_it_and_tells_the_clients_time_apart(host: DrivenHost) -> None:
    host.do_observe({"observed": {"watch": [], "counters": ["SELECT 'rows', count(*) FROM t", "SELECT 'none', NULL"]}})
    text = "INSERT INTO t VALUES (:op);"
    host.do_prepare({"transactions": [{"name": "add", "weight": 1, "text": text}], "constants": {}})
    trial = {"seed": 1, "stream": 2, "operations": 3, "first_op": 5, "deadline_ns": 60_000_000_000}
    answer = host.do_trial({"trial": trial})
    assert answer["outcome"]["total_operations"] == 3
    assert answer["extra"]["counters"] == {"rows": 3}
    assert answer["extra"]["client_cpu_user_seconds"] >= 0
    assert answer["outcome"]["cpu_user_seconds"] == 0.0  # no process of a server is known


def test_a_driver_that_is_not_installed_is_named_with_what_installs_it() -> None:
    host = DrivenHost(replace(LITE, module="no_such_driver", distribution="no-such-driver"))
    kind, words = refused(host, "enter", options={}, connections=1)
    assert kind == "library"
    assert "'no-such-driver'" in words


def test_a_session_that_does_not_keep_what_was_set_is_refused_and_one_that_a_load_opens_anew_is_not_asked(
    tmp_path: Any,
) -> None:
    made = DrivenHost(LITE)
    wanted = {"sql": "PRAGMA foreign_keys", "expected": [["foreign_keys", "1"]]}
    options = {"path": str(tmp_path / "db"), "in_force": wanted}
    assert refused(made, "enter", options=options, connections=1) == ["settings", "foreign_keys = '0', expected '1'"]
    made.do_connect({"options": {**options, "setup": ["PRAGMA foreign_keys = ON"]}, "connections": 1})
    made.do_rows({"sql": "PRAGMA foreign_keys = OFF"})
    made._options = options
    made._cursor(made._asking).connection.close()


def test_what_is_no_error_of_the_drivers_is_a_defect() -> None:
    assert LITE.explained(KeyError("x"))[0] == "defect"
    assert LITE.explained(ClientError("full", "no-room")) == ("full", "no-room", False)


def test_values_are_told_as_tdeltas_own_clients_tell_them() -> None:
    assert [as_text(value) for value in (True, False, None, b"x", 1.5, {"a": [1]})] == [
        *("t", "f", None, "x", "1.5", '{"a": [1]}'),
    ]
    assert as_text(datetime.datetime(2026, 1, 2, 3, 4, 5)) == "2026-01-02 03:04:05"


@pytest.mark.parametrize(
    ("arguments", "kind", "is_retried"),
    [
        ((1045, "Access denied"), "auth", False),
        ((1213, "Deadlock found"), "conflict", True),
        ((2013, "Lost connection"), "connection", False),
        ((1146, "Table doesn't exist"), "sql", False),
        (("closed",), "connection", False),
    ],
)
def test_what_pymysql_says_is_told_apart_by_its_number(arguments: Any, kind: str, is_retried: bool) -> None:
    module = pytest.importorskip("pymysql")
    found = PYMYSQL.explained(module.err.OperationalError(*arguments))
    assert (found[0], found[2]) == (kind, is_retried)


def test_psycopg_answers_char_without_the_blanks_that_pad_it() -> None:
    pytest.importorskip("psycopg.types.string")
    loaders: dict[str, Any] = {}
    opened = SimpleNamespace(adapters=SimpleNamespace(register_loader=loaders.__setitem__))
    module: Any = SimpleNamespace(connect=lambda **_options: opened)
    assert PSYCOPG.connect(module, {"host": "db1", "port": 5432, "user": "app"}) is opened
    assert loaders["bpchar"](1042).load(b" ab  ") == " ab"


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("connection failed: FATAL:  password authentication failed for user", "auth"),
        ('connection failed: FATAL:  database "x" does not exist', "unknown_database"),
        ("connection failed: Connection refused", "connection"),
        ("server does not support SSL, but SSL was required", "tls"),
    ],
)
def test_what_libpq_says_without_a_state_is_told_apart_by_its_words(words: str, kind: str) -> None:
    psycopg = ModuleType("psycopg")
    psycopg.Error = OSError  # type: ignore[attr-defined]
    assert PSYCOPG.said(psycopg, OSError(words)) == (kind, words, False)


def test_what_a_server_says_as_a_session_dies_is_not_hidden_by_the_session_that_is_gone(tmp_path: Any) -> None:
    def limited(cursor: Any, seconds: float) -> Any:
        if seconds:
            raise sqlite3.ProgrammingError("the connection is closed")
        return cursor

    made = DrivenHost(replace(LITE, limited=limited))
    made.do_connect({"options": {"path": str(tmp_path / "db"), "answer_seconds": 60.0}, "connections": 1})
    assert refused(made, "perform", statements=["SELECT * FROM v"]) == ["sql", "no such table: v"]
    made.end()


def test_rows_whose_writing_was_cut_are_written_again(host: DrivenHost, tmp_path: Any, monkeypatch: Any) -> None:
    written: list[Path] = []

    def write_csv(_plan: str, _table: str, _seed: int, _threads: int, path: Path) -> None:
        written.append(path)
        path.write_text("1,a")
        if len(written) == 1:
            raise OSError(28, "no room")

    monkeypatch.setattr("tdelta.engines.server.dbapi_worker._native.write_csv", write_csv)
    column = {"name": "id", "distribution": "uniform"}
    load = {"plan": {"tables": [{"name": "t", "columns": [column]}]}, "seed": 1, "threads": 1}
    with pytest.raises(OSError, match="no room"):
        host.do_write_rows({"load": load, "folder": str(tmp_path)})
    host.do_write_rows({"load": load, "folder": str(tmp_path)})
    host.do_write_rows({"load": load, "folder": str(tmp_path)})
    assert len(written) == 2
    assert (tmp_path / "t.csv").read_text() == "1,a"

"""Errors that servers do not forgive, on SYNTHETIC peers (tests/peers) that are as strict in these points.

Definitions are parts of transactions, answers come in parts, CHAR is padded, nobody gets in without a password, and a
limit of time is one.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tdelta.engines import registry
from tdelta.engines.oracle.driver import Oracle
from tdelta.engines.oracle.worker import DRIVER as ORACLE
from tdelta.engines.server.base import ANSWER_SECONDS, Identity, ServerEngine
from tdelta.engines.server.dbapi_worker import DrivenHost
from tdelta.engines.sqlserver.driver import SqlServer
from tdelta.engines.sqlserver.worker import DRIVER as MSSQL
from tdelta.processes.answers import as_checksums
from tdelta.processes.jobs import PopulateJob
from tdelta.processes.rows import generated_checksums
from tdelta.workloads import load

PEERS = Path(__file__).parents[3] / "peers"
SCHEMA = "tdelta_r1"
DRIVERS = {"oracle": ORACLE, "sqlserver": MSSQL}
KINDS: dict[str, ServerEngine] = {
    "oracle": Oracle(Identity("oracle", "Oracle Database", "19", "BENCH"), "TS"),
    "sqlserver": SqlServer(Identity("sqlserver", "SQL Server", "16.0", "bench"), None),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "oracle": {"port": 1521, "database": "PDB1", "setup": [f"ALTER SESSION SET CURRENT_SCHEMA = {SCHEMA}"]},
    "sqlserver": {"port": 1433, "database": SCHEMA},
}
PARTS = ("replaying", "mssql_python", "oracledb")


@pytest.fixture(autouse=True)
def peers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("TDELTA_PEER", str(tmp_path))
    monkeypatch.syspath_prepend(str(PEERS))
    for name in [*sys.modules]:
        if name.split(".")[0] in PARTS:
            monkeypatch.delitem(sys.modules, name)
    yield
    for name in PARTS:
        sys.modules.pop(name, None)


@pytest.fixture(params=DRIVERS)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def opened(engine: str, **more: Any) -> DrivenHost:
    options = {"host": "db1", "user": "bench", "password": "x", "answer_seconds": ANSWER_SECONDS, **OPTIONS[engine]}
    host = DrivenHost(DRIVERS[engine])
    host.do_connect({"options": {**options, **more}, "connections": 1})
    return host


@pytest.fixture
def host(engine: str) -> Iterator[DrivenHost]:
    made = opened(engine)
    yield made
    made.end()


def job(engine: str, workload: str = "read-only") -> PopulateJob:
    dialect = registry.profile(engine).dialect
    made = load(workload, registry.dialects())
    tables = tuple((table.name, tuple(column.name for column in table.columns)) for table in made.tables)
    return PopulateJob(made.plan(0.01), 1, made.tables_sql(dialect), made.indexes_sql(dialect), tables)


def indexes(host: DrivenHost, engine: str) -> set[str]:
    rows = host.do_rows({"sql": KINDS[engine].indexes_sql(SCHEMA)})["rows"]
    return {str(row[0]) for row in rows}


def test_indexes_stay_when_the_connection_that_made_them_is_closed(host: DrivenHost, engine: str) -> None:
    order_entry = job(engine, "order-entry")
    host.do_load(order_entry.request(1))
    host.do_close({})
    again = opened(engine)
    assert len(indexes(again, engine)) >= len(order_entry.indexes_sql) > 0
    again.end()


def test_statistics_wait_for_nobody_after_a_load_and_have_no_limit_of_time(host: DrivenHost, engine: str) -> None:
    host.do_load(job(engine).request(1))
    host.do_run({"statements": KINDS[engine].statistics_sql(["sbtest1"])})


@pytest.mark.parametrize("is_direct", [False, True])
def test_rows_with_padded_columns_are_those_that_were_generated(host: DrivenHost, engine: str, is_direct: bool) -> None:
    loaded = job(engine)
    host._loads_directly = is_direct
    host.do_load(loaded.request(1))
    host._loads_directly = False
    sums = host.do_checksums({"tables": loaded.tables})
    assert as_checksums(sums) == generated_checksums(loaded)


def test_a_schema_is_dropped_when_the_statement_has_ended(host: DrivenHost, engine: str) -> None:
    kind = KINDS[engine]
    drop, has = kind.drop_sql(SCHEMA), lambda: host.do_rows({"sql": HAS[engine]})["rows"]
    host.do_run({"statements": [MAKES[engine]]})
    assert has() == [["1"]]
    host.do_run({"statements": [drop]})
    assert has() == []


MAKES = {
    "oracle": f'CREATE USER {SCHEMA} NO AUTHENTICATION DEFAULT TABLESPACE "TS" QUOTA UNLIMITED ON "TS"',
    "sqlserver": f"CREATE DATABASE [{SCHEMA}]",
}
HAS = {
    "oracle": f"SELECT 1 AS one FROM all_users WHERE username = UPPER('{SCHEMA}')",
    "sqlserver": f"SELECT 1 AS one FROM sys.databases WHERE name = N'{SCHEMA}'",
}


def test_a_backup_that_is_measured_has_ended() -> None:
    host = opened("sqlserver")
    backup = f"BACKUP DATABASE [{SCHEMA}] TO DISK = N'NUL' WITH COPY_ONLY, FORMAT, NO_COMPRESSION"
    host.do_step({"before": [], "load": None, "statements": [backup]})
    asked = f"SELECT TOP (1) backup_size FROM msdb.dbo.backupset WHERE database_name = N'{SCHEMA}'"
    assert len(host.do_rows({"sql": asked})["rows"]) == 1
    host.end()


def test_whoever_has_no_password_is_asked_for_one(engine: str) -> None:
    options = {"host": "db1", "user": "bench", **OPTIONS[engine]}
    answer = DrivenHost(DRIVERS[engine]).answer({"do": "enter", "options": options, "connections": 1})
    assert answer is not None
    assert answer["ok"]["refused"][0] == "auth"


def test_a_question_that_is_not_answered_in_time_is_no_lost_connection(host: DrivenHost, engine: str) -> None:
    cooling = KINDS[engine].cooling_sql[-1]
    host.do_run({"statements": [cooling]})
    answer = host.answer({"do": "put", "sql": cooling})
    assert answer is not None
    assert answer["ok"]["refused"][0] == "endless"


def test_transactions_begin_and_end_in_the_servers_words_and_nothing_is_left_open(
    host: DrivenHost, engine: str
) -> None:
    host.do_load(job(engine).request(1))
    script = "BEGIN;\nUPDATE sbtest1 SET k = 1 WHERE id = :op;\nCOMMIT;\nSELECT c FROM sbtest1 WHERE id = :op;"
    host.do_prepare({"transactions": [{"name": "t", "weight": 1, "text": script}], "constants": {}})
    trial = {"seed": 1, "stream": 2, "operations": 3, "first_op": 5, "deadline_ns": 60_000_000_000}
    assert host.do_trial({"trial": trial})["outcome"]["first_error"] is None
    host.do_run({"statements": KINDS[engine].statistics_sql(["sbtest1"])})

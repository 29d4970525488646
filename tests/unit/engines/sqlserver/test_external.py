"""SQL Server's adapter, asked by answers that are written by hand."""

from collections.abc import Callable, Mapping, Sequence

import pytest

from tdelta.engines.registry import dialects
from tdelta.engines.server.base import Identity
from tdelta.engines.sqlserver.driver import Encryptor, SqlServer
from tdelta.engines.sqlserver.worker import as_written, bare, named
from tdelta.workloads import load

SERVER = SqlServer(Identity("sqlserver", "SQL Server", "16.0", "bench"), Encryptor("certificate", "AES_256"))
Rows = Sequence[Mapping[str, str | None]]


def answering(rows: Rows) -> Callable[[str], Rows]:
    return lambda _sql: rows


@pytest.mark.parametrize(
    ("state", "algorithm", "length", "found"),
    [
        ("3", "AES", "256", True),
        ("3", "AES", "128", None),
        ("3", "TRIPLE_DES_3KEY", "168", None),
        ("2", "AES", "256", False),
        ("5", "AES", "256", False),
        (None, None, None, False),
    ],
)
def test_a_table_is_encrypted_when_its_database_is_whole_and_of_the_algorithm_asked_for(
    state: str | None, algorithm: str | None, length: str | None, found: bool | None
) -> None:
    row = {"name": "orders", "state": state, "algorithm": algorithm, "length": length}
    assert SERVER.tables(answering([row]), "tdelta_x") == {"orders": found}


def test_a_certificate_that_encrypts_nothing_asks_for_no_algorithm() -> None:
    server = SqlServer(SERVER.identity, None)
    row = {"name": "orders", "state": "3", "algorithm": "AES", "length": "128"}
    assert server.tables(answering([row]), "tdelta_x") == {"orders": True}


@pytest.mark.parametrize(
    ("state", "length", "is_encrypted"),
    [("1", "256", False), ("2", "256", None), ("3", "256", True), ("3", "128", None), ("5", "256", None)],
)
def test_a_conversion_is_over_when_the_state_says_it_and_the_algorithm_is_right(
    state: str, length: str, is_encrypted: bool | None
) -> None:
    row = {"state": state, "percent_done": "12.5", "algorithm": "AES", "length": length}
    found = SERVER.conversion(lambda sql: [{"scan": "1"}] if "scan" in sql else [row], "tdelta_x")
    assert found.is_encrypted is is_encrypted
    assert found.said == f"encryption_state={state}, percent_complete=12.5, AES_{length}, encryption_scan_state=1"


def test_scans_are_suspended_since_sql_server_2019() -> None:
    earlier = SqlServer(Identity("sqlserver", "SQL Server", "14.0.1000.169", "bench"), None)
    assert earlier.suspend_sql("tdelta_x") == ""
    assert SERVER.suspend_sql("tdelta_x") == "ALTER DATABASE [tdelta_x] SET ENCRYPTION SUSPEND"
    assert "scan" not in earlier.conversion(answering([]), "tdelta_x").said


def test_data_and_log_get_the_same_room_on_every_server_and_neither_shrinks() -> None:
    data, log = SERVER.presize_sql("tdelta_x", 300 << 20)
    assert "NAME = [tdelta_x], SIZE = 600MB" in data
    assert "NAME = [tdelta_x_log], SIZE = 600MB" in log
    assert "size < 76800" in data, "pages of 8 KiB"
    assert all("SIZE = 64MB" in sql for sql in SERVER.presize_sql("tdelta_x", 1))


def test_plans_are_found_by_the_text_that_the_server_keeps_of_a_statement() -> None:
    scripts = {
        "orders": "\\set id random(1, 9)\n-- newest\nSELECT a, b FROM orders\nWHERE id = :id ORDER BY a LIMIT 10;",
        "sums": "SELECT SUM(a) AS s FROM orders;\nSELECT 1 AS never;",
    }
    kept = "SELECT a, b FROM orders\nWHERE id = @P1 ORDER BY a OFFSET 0 ROWS FETCH NEXT 10 ROWS ONLY"
    rows = [
        {"plan_hash": "0x02", "text": kept},
        {"plan_hash": "0x01", "text": kept},
        {"plan_hash": "0x03", "text": "SELECT SUM(a) AS s FROM orders"},
        {"plan_hash": "0x04", "text": "SELECT something else"},
    ]
    assert SERVER.plan_hashes(answering(rows), "tdelta_x", scripts) == {
        "orders/1": ["0x01", "0x02"],
        "sums/1": ["0x03"],
    }


def test_statements_of_every_workload_are_told_apart_by_their_bare_text() -> None:
    for workload in ("order-entry", "warehouse", "dml-trace", "read-only", "spill"):
        for script in load(workload, dialects()).scripts().values():
            found = list(named({"t": str(script["text"])}))
            assert found
            assert all(text and ":" not in text.replace("::", "") and "--" not in text for _, text in found)


def test_a_limit_is_a_fetch() -> None:
    assert as_written("ORDER BY a LIMIT 10") == "ORDER BY a OFFSET 0 ROWS FETCH NEXT 10 ROWS ONLY"
    assert bare("SELECT Z  FROM t -- x\nWHERE b = :b;") == "select z from t where b = ?"

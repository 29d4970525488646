"""SQL Server's adapter, asked by answers that are written by hand."""

import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any

import pytest

from tdelta.engines.registry import dialects
from tdelta.engines.server.base import Identity, LeftoverSchema, NewSchema
from tdelta.engines.sqlserver.driver import SQL, Encryptor, SqlServer, _folder
from tdelta.engines.sqlserver.worker import as_written, bare, named
from tdelta.processes.workers import Refused
from tdelta.workloads import load

ENCRYPTOR = Encryptor("CERTIFICATE", "certificate", "0x1A", "AES_256")
SERVER = SqlServer(Identity("sqlserver", "SQL Server", "16.0", "bench"), ENCRYPTOR)
EARLIER = SqlServer(Identity("sqlserver", "SQL Server", "14.0.1000.169", "bench"), None)
HELD = dict.fromkeys(("state", "makes", "ends", "alters", "devices", "history"), "1") | {"administers": "0"}
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
    row = {"state": state, "percent_done": "12.5", "algorithm": "AES", "length": length, "regenerated": "2026-01-01"}
    found = SERVER.conversion(lambda sql: [{"scan": "1"}] if "scan" in sql else [row], "tdelta_x")
    assert found.is_encrypted is is_encrypted
    assert found.said == f"encryption_state={state}, percent_complete=12.5, AES_{length}, encryption_scan_state=1"


def test_scans_are_suspended_since_sql_server_2019() -> None:
    assert EARLIER.suspend_sql("tdelta_x") == ""
    assert SERVER.suspend_sql("tdelta_x") == "ALTER DATABASE [tdelta_x] SET ENCRYPTION SUSPEND"
    assert "scan" not in EARLIER.conversion(answering([]), "tdelta_x").said


@pytest.mark.parametrize(("free", "codes"), [("1000", ["disk-too-small"]), ("1040", []), (None, [])])
def test_schemas_are_refused_where_their_files_would_fill_the_volume(free: str | None, codes: list[str]) -> None:
    found = [] if free is None else [{"bytes": free}]
    assert [one.code for one in SERVER.schema_faults(answering(found), ("a", "b"), 100)] == codes


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


def identified(version: str = "16.0.4135.4", engine: str = "3", keys: Rows = ()) -> Callable[[str], Rows]:
    who = {"version": version, "edition": "Developer Edition", "engine": engine, "who": "bench", "machine": "DB1"}
    return lambda sql: [who] if sql == SQL["identity"] else keys


def key(name: str | None, algorithm: str = "AES", length: str = "256", kind: str = "CERTIFICATE") -> dict[str, Any]:
    return {"name": name, "kind": kind, "thumbprint": "0x1A", "algorithm": algorithm, "length": length}


@pytest.mark.parametrize(
    ("version", "engine"), [("13.0.1601.5", "3"), ("12.0.2000.8", "5"), ("16.0.5100.1", "8"), ("16.0.100.1", "12")]
)
def test_what_lacks_the_views_or_is_a_service_is_refused_by_name_and_asked_nothing_more(
    version: str, engine: str
) -> None:
    with pytest.raises(Refused) as refused:
        SqlServer.answering(identified(version, engine, keys=[{}]))
    assert refused.value.refusal.code == "unexpected"
    assert refused.value.refusal.parameters["found"] == f"SQL Server Developer Edition {version}"


@pytest.mark.parametrize(
    ("found", "within", "algorithm"),
    [
        (key("a]b'c"), "CERTIFICATE [a]]b''c]", "AES_256"),
        (key("k", kind="ASYMMETRIC KEY"), "ASYMMETRIC KEY [k]", "AES_256"),
        (key("c", "TRIPLE_DES", "192"), "CERTIFICATE [c]", "TRIPLE_DES_3KEY"),
    ],
)
def test_a_key_is_made_by_what_encrypts_a_database_there_whatever_that_is_called(
    found: dict[str, Any], within: str, algorithm: str
) -> None:
    server = SqlServer.answering(identified(keys=[found]))
    assert f"WITH ALGORITHM = {algorithm} ENCRYPTION BY SERVER {within}'" in server.key_sql("tdelta_x")


def test_of_several_encryptors_the_newest_is_taken_and_that_is_said() -> None:
    server = SqlServer.answering(identified(keys=[key("new"), key("old"), key("new")]))
    assert "[new]" in server.key_sql("tdelta_x")
    (data, _) = server.encryption(answering([])).scopes
    assert "the newest of 2 encryptors" in data.said


def test_an_encryptor_that_may_not_be_seen_is_no_reason_to_make_another_one() -> None:
    server = SqlServer.answering(identified(keys=[key(None)]))
    assert server.encryption(answering([])).can_be_asked
    (grant,) = server.missing_grants(answering([HELD]))
    assert "GRANT VIEW DEFINITION ON CERTIFICATE::NAME TO [bench]" in grant
    assert "0x1A" in grant
    assert server.missing_grants(answering([HELD | {"administers": "1"}])) == ()


@pytest.mark.parametrize(
    ("works", "lacks", "grants"),
    [
        ({"load"}, {"alters", "devices", "history"}, ()),
        ({"cold"}, {"alters"}, ("GRANT ALTER SERVER STATE TO [bench]",)),
        ({"cold"}, {"devices", "history"}, ()),
        ({"backup"}, {"devices", "history"}, ("USE msdb; GRANT SELECT ON dbo.backupset TO [bench]",)),
        ({"restore"}, {"devices"}, ("ALTER SERVER ROLE diskadmin ADD MEMBER [bench]",)),
    ],
)
def test_rights_are_those_that_the_works_of_a_run_need(
    works: set[str], lacks: set[str], grants: tuple[str, ...]
) -> None:
    held = HELD | dict.fromkeys(lacks, "0")
    assert SERVER.missing_grants(answering([held])) == ()
    assert SERVER.missing_work_grants(answering([held]), works) == grants
    assert SERVER.missing_work_grants(answering([held | {"administers": "1"}]), works) == ()


def test_before_sql_server_2022_administrators_alone_empty_the_buffers() -> None:
    assert EARLIER.missing_work_grants(answering([HELD]), {"cold"}) == (
        "ALTER SERVER ROLE sysadmin ADD MEMBER [bench]",
    )


def test_a_database_of_tdeltas_is_the_same_whatever_the_instances_model_is_like() -> None:
    made = SERVER.make_sql(NewSchema("tdelta_x", "r1", is_encrypted=False))
    assert made[0] == "CREATE DATABASE [tdelta_x]"
    assert "SET RECOVERY SIMPLE" in made[2]
    assert made[3] == "ALTER DATABASE [tdelta_x] SET COMPATIBILITY_LEVEL = 160"


@pytest.mark.parametrize("server", [SERVER, EARLIER])
def test_a_drop_resumes_a_scan_that_was_left_suspended_and_does_not_wait_for_one_that_was_aborted(
    server: SqlServer,
) -> None:
    drop = server.drop_sql("tdelta_x")
    knows_scans = server is SERVER
    assert drop.startswith("IF EXISTS" if knows_scans else "DECLARE @said")
    assert ("SET ENCRYPTION RESUME" in drop, "encryption_scan_state <> 3" in drop) == (knows_scans, knows_scans)
    assert drop.index("SINGLE_USER") < drop.index("DROP DATABASE [tdelta_x]") < drop.rindex("THROW")


def test_a_mark_is_looked_for_only_in_databases_that_may_have_it() -> None:
    asked: list[str] = []

    def ask(sql: str) -> Rows:
        asked.append(sql)
        return [{"name": "mine"}] if "HAS_DBACCESS" in sql else [{"mark": "tdelta run r1"}]

    assert SERVER.own_schemas(ask, "mine") == (LeftoverSchema("mine", "r1"),)
    assert "name LIKE N'tdelta[_]%' OR name IN (N'mine')" in asked[0]
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("/var/opt/mssql/data", "/var/opt/mssql/data/"),
        ("/d/", "/d/"),
        ("D:\\x", "D:\\x\\"),
        ("D:\\it's\\", "D:\\it''s\\"),
    ],
)
def test_a_folder_of_the_instance_ends_in_its_separator(path: str, folder: str) -> None:
    assert _folder(path) == folder


@pytest.mark.parametrize(("server", "knows"), [(SERVER, True), (EARLIER, False)])
def test_a_scan_is_awaited_for_an_hour_at_most_and_what_does_not_end_is_said_with_its_state(
    server: SqlServer, knows: bool
) -> None:
    server = SqlServer(server.identity, ENCRYPTOR)
    made = server.make_sql(NewSchema("tdelta_x", "r1", is_encrypted=True))[-1]
    dropped = server.drop_sql("tdelta_x")
    for awaited in (made, dropped):
        assert "DATEADD(HOUR, 1, GETUTCDATE())" in awaited
        assert "encryption_state=', encryption_state, ', percent_complete=', percent_complete" in awaited
        assert ("encryption_scan_state" in awaited) is knows
    assert "THROW 50000, @said, 1;" in made
    assert "BREAK;" in dropped  # the removal says whether the scan forbids it
    assert "THROW 50000" not in dropped
    assert ("encryption_scan_state IN (2, 3)" in made) is knows


@pytest.mark.parametrize(("before", "is_set"), [("2", False), ("0", True), (None, True)])
def test_a_limit_of_cpus_is_set_only_where_it_is_another(before: str | None, is_set: bool) -> None:
    parts = re.fullmatch(r"IF NOT (EXISTS \(.*\))\s+ALTER .* SET MAXDOP = 2;?", SERVER.parallel_sql(2))
    assert parts is not None
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("ATTACH ':memory:' AS sys")
        database.execute("CREATE TABLE sys.database_scoped_configurations (name TEXT, value INTEGER)")
        values = [("MAXDOP", before), ("LEGACY_CARDINALITY_ESTIMATION", "2")]
        database.executemany("INSERT INTO sys.database_scoped_configurations VALUES (?, ?)", values)
        assert database.execute("SELECT NOT " + parts[1].replace("N'", "'")).fetchone() == (is_set,)

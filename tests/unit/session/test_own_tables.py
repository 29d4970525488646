"""The user's own tables on two servers: only read, by sessions that cannot write, and nothing else on the servers."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from support.refused import check_messages, refused
from tdelta.engines.mariadb.driver import MariaDb
from tdelta.engines.mysql.driver import MySql
from tdelta.engines.oracle.driver import Oracle
from tdelta.engines.postgres.server import Postgres
from tdelta.engines.server import external_twins as own_tables
from tdelta.engines.server.base import Identity
from tdelta.engines.server.discovery import schema_name
from tdelta.engines.server.external_twins import compared_tables, reads_own_tables
from tdelta.engines.server.pairs import FurtherSchema, _own_faults
from tdelta.engines.server.schemas import RunSchema
from tdelta.errors import Defect, InvalidTwins, UsageError, WorkloadError
from tdelta.session.request import RunRequest
from tdelta.session.run_plan import check
from tdelta.session.staging import require_reading
from tdelta.workloads.database import Database, DatabaseColumn, DatabaseIndex, DatabaseTable, IndexColumn
from tdelta.workloads.model import Transaction, Workload

from .test_external_servers import BASELINE, TYPED, server, servers

READS = (
    "SELECT 1;",
    "\\set id random(1, 9)\nSELECT a FROM t WHERE id = :id;",
    "WITH x AS (SELECT 1) SELECT * FROM x;",
    "(SELECT 'INTO the blue, FOR UPDATE') UNION SELECT 2;",
    "SELECT updated_at, locked, '--x' FROM t; -- a comment",
    "SELECT REPLACE(a, 'x', 'y'), TRUNCATE(b, 1), INSERT(a, 1, 1, 'z') FROM t;",
)
WRITES = (
    "UPDATE t SET a = 1;",
    "BEGIN;\nSELECT 1;\nCOMMIT;",
    "SELECT a INTO OUTFILE '/tmp/x' FROM t;",
    "SELECT a FROM t FOR UPDATE;",
    "SELECT a FROM t FOR NO KEY UPDATE;",
    "SELECT a FROM t FOR SHARE;",
    "SELECT a FROM t LOCK IN SHARE MODE;",
    "SELECT 1 /*! INTO OUTFILE '/tmp/x' */;",
    "WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone;",
    "SET SESSION TRANSACTION READ WRITE;",
    "CALL spoil();",
    "SELECT a FROM t WHERE a = 5--1 FOR UPDATE;",
    "SELECT set_config('default_transaction_read_only', 'off', false);",
    "SELECT GET_LOCK('a', 1);",
    "WITH x AS (SELECT 1) UPDATE (t) SET a = 1;",
    "\\connect\nSELECT 1;",
    "\\raw\nSELECT 1;",
)


def workload(text: str) -> Workload:
    script = Transaction("one", "one", 1.0, text, writes=False, connects=False)
    return Workload("own", 1, "own", "own", (), (script,), 1, 0)


@pytest.mark.parametrize("text", READS)
def test_scripts_that_only_select_may_run(text: str) -> None:
    require_reading(workload(text), "load")


@pytest.mark.parametrize("text", WRITES)
def test_any_other_statement_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(WorkloadError) as raised:
        require_reading(workload(text), "load")
    assert {one.code for one in raised.value.refusals} == {"own-script-writes"}
    assert "one.sql:1" in str(raised.value)


def folder(path: Path, *, makes_tables: bool) -> Path:
    path.mkdir()
    (path / "workload.toml").touch()
    if makes_tables:
        (path / "schema.sql").touch()
    return path


def test_a_schema_is_the_users_if_the_workload_makes_no_tables(tmp_path: Path) -> None:
    reading, making = (str(folder(tmp_path / name, makes_tables=name == "making")) for name in ("reading", "making"))

    def is_own(**asked: Any) -> bool:
        request = RunRequest(**{**TYPED, **asked})
        return reads_own_tables(request.baseline, request.schema, request.workload)

    assert is_own(schema="app", workload=reading)
    assert not is_own(schema="app", workload=making)
    assert not is_own(schema="app", workload="order-entry")
    assert not is_own(workload=reading)


def test_a_workload_that_makes_no_tables_needs_the_name_of_a_schema(tmp_path: Path) -> None:
    reading = str(folder(tmp_path / "reading", makes_tables=False))
    with refused(UsageError, "requires", needs="--schema NAME"):
        check(RunRequest(**{**TYPED, "workload": reading}))


@pytest.mark.parametrize(
    ("kind", "asked", "expected"),
    [
        (MariaDb, "@@SESSION.tx_read_only", "1"),
        (MySql, "@@SESSION.transaction_read_only", "1"),
        (Postgres, "current_setting('default_transaction_read_only')", "on"),
    ],
)
def test_sessions_are_set_to_read_only_and_the_server_must_confirm_it(kind: Any, asked: str, expected: str) -> None:
    found = server("--baseline", BASELINE, is_encrypted=False)
    object.__setattr__(found, "kind", kind(Identity("mariadb", "Product", "11.4.2", "bench")))
    own, made = (RunSchema(found, "app", "r1", is_encrypted=False, is_own=is_own) for is_own in (True, False))
    options: Any = own.options(None)
    assert "READ ONLY" in options["setup"][-1]
    assert dict(options["in_force"]["expected"])["read_only"] == expected
    assert options["in_force"]["sql"].endswith(f"{asked} AS read_only")
    plain: Any = made.options(None)
    assert "read_only" not in dict(plain["in_force"]["expected"])


def test_a_schema_of_the_users_is_neither_made_nor_dropped() -> None:
    own = RunSchema(server("--baseline", BASELINE, is_encrypted=False), "app", "r1", is_encrypted=False, is_own=True)
    for does in (own.make, own.drop):
        with pytest.raises(Defect):
            does()


def test_a_server_whose_sessions_cannot_be_kept_from_writing_is_refused() -> None:
    found = server("--baseline", BASELINE, is_encrypted=False)
    object.__setattr__(found, "kind", Oracle(Identity("oracle", "Oracle Database", "23", "bench"), "USERS"))
    check_messages(_own_faults(found, ["app"]), "unsupported")


def test_every_copy_is_the_one_schema_of_its_server() -> None:
    found = servers()
    found.further = (FurtherSchema("aa", "app"), FurtherSchema("bb", "app", is_there=True))
    placed = {place: (schema.server.option, schema.is_own) for place, schema in found.own().items()}
    assert placed == {
        **dict.fromkeys(("baseline", "aa"), ("--baseline", True)),
        **dict.fromkeys(("encrypted", "bb"), ("--encrypted", True)),
    }


@pytest.mark.parametrize("asked", [{"vary": {"work": ("load",)}}, {"trace": True}, {"inject": (0.1,)}])
def test_what_does_more_than_read_does_not_go_with_the_users_tables(asked: dict[str, Any], tmp_path: Path) -> None:
    reading = str(folder(tmp_path / "reading", makes_tables=False))
    with pytest.raises(UsageError) as raised:
        check(RunRequest(**{**TYPED, **asked}, schema="app", workload=reading))
    assert "conflict" in [one.code for one in raised.value.refusals]


def test_of_a_large_schema_only_keys_are_compared() -> None:
    key = DatabaseIndex("PRIMARY", (IndexColumn("id"),), is_unique=True, is_of_key=True)
    columns = (DatabaseColumn("id", 1), DatabaseColumn("note"))
    table = DatabaseTable("t", 9, 1, columns, (key,), is_without_rowid=True, keyed_rows=9)
    bare = DatabaseTable("bare", 9, 1, (DatabaseColumn("note"),), is_without_rowid=True)
    database = Database((table, bare), frozenset())
    assert compared_tables(database, has_keys_only=False) == (("t", ("id", "note")), ("bare", ("note",)))
    assert compared_tables(database, has_keys_only=True) == (("t", ("id",)),)


@pytest.mark.parametrize(
    ("tables", "code", "given"),
    [
        ({"baseline": "ab", "encrypted": "bc"}, "own-tables-differ", {"tables": "a, c"}),
        ({"baseline": "", "encrypted": ""}, "own-schema-empty", {"schema": "app"}),
    ],
)
def test_schemas_that_differ_and_empty_ones_have_a_message_each(
    tables: dict[str, str], code: str, given: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = (DatabaseColumn("id", 1),)
    found = {
        place: Database(tuple(DatabaseTable(name, 9, 1, columns) for name in names), frozenset())
        for place, names in tables.items()
    }
    schemas = {place: SimpleNamespace(name="app", place=place) for place in tables}
    monkeypatch.setattr(own_tables, "_described", lambda schema, _: found[schema.place])
    with refused(InvalidTwins, code, **given):
        own_tables.described(cast(Any, schemas), cast(Any, None))


@pytest.mark.parametrize(
    ("asked", "controls"), [({}, True), ({"aa_control": False}, False), ({"bb_control": False}, False)]
)
def test_two_servers_have_both_controls_or_neither(asked: dict[str, Any], controls: bool) -> None:
    request = RunRequest(**{**TYPED, **asked})
    assert (request.aa_control, request.bb_control) == (controls, controls)


def test_the_users_schema_may_be_called_whatever_can_be_quoted() -> None:
    assert schema_name("r1", "My-App$", is_own=True) == "My-App$"
    for name, is_own in (("My-App$", False), ('a"b', True), ("a`b", True), ("", True)):
        with pytest.raises(UsageError):
            schema_name("r1", name, is_own=is_own)

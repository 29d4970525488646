"""The encryption of an Oracle tablespace, asserted from more than one view."""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import pytest

from tdelta.engines.oracle.driver import SQL, Oracle, own_tablespace
from tdelta.engines.server.base import DATA, Identity, NewSchema
from tdelta.engines.server.sessions import Ask, Row
from tdelta.processes.workers import Refused

SERVERS = Oracle(Identity("oracle", "Oracle Database", "19.0.0.0.0", "BENCH"), "SECRET_TS")


def answering(encrypted: str, *accounted: tuple[str, str], **other: Any) -> Ask:
    """A primary with one tablespace, as the catalog has it and as V$ENCRYPTED_TABLESPACES accounts for it.

    Args:
        other: what is otherwise, by parameters, or by ``keystore``, ``container``, ``log_mode``, ``room``, ``archive``.
    """
    parameters = {"compatible": "19.0.0", "cluster_database": "FALSE", **other}
    answers: Mapping[str, Sequence[Row]] = {
        "SELECT database_role": [
            {"role": "PRIMARY", "mode_of": "READ WRITE", "container": other.get("container", "PDB1")}
        ],
        "SELECT log_mode": [{"log_mode": other.get("log_mode", "NOARCHIVELOG")}],
        "SELECT encrypted": [{"encrypted": encrypted}],
        "FROM v$encrypted_tablespaces": [{"algorithm": name, "status": status} for name, status in accounted],
        "FROM v$encryption_wallet": [{"status": other.get("keystore", "OPEN"), "kind": "AUTOLOGIN"}],
        "'UNDO', 'TEMPORARY'": [{"contents": "UNDO", "encrypted": "NO"}],
        "contents = 'PERMANENT'": [{"tablespace": "PLAIN_TS"}, {"tablespace": "SECRET_TS"}, {"tablespace": "lower"}],
        "FROM v$system_parameter": [{"name": name, "value": str(value)} for name, value in parameters.items()],
        "dba_tablespace_usage_metrics": [{"bytes": other.get("room", "1e9")}],
        "v$recovery_file_dest": [{"bytes": other.get("archive")}],
        "product_component_version": [{"product": "Oracle", "version": "12.2.0.1.0", "who": "BENCH", "machine": "db1"}],
    }

    def ask(sql: str) -> Sequence[Row]:
        (found,) = [rows for part, rows in answers.items() if part in sql]
        return found

    return ask


ENCRYPTED = ("YES", ("AES256", "NORMAL"))


@pytest.mark.parametrize(
    ("encrypted", "accounted", "faults"),
    [
        ("NO", (), []),
        ("NO", (("NONE", "NORMAL"),), []),
        ("YES", (("AES256", "NORMAL"),), []),
        ("YES", (), ["encryption-unsettled"]),
        ("YES", (("", "NORMAL"),), ["encryption-unsettled"]),
        ("YES", (("NONE", "NORMAL"),), ["encryption-unsettled"]),
        ("YES", (("AES256", "DECRYPTING"),), ["encryption-unsettled"]),
        ("NO", (("AES256", "ENCRYPTING"),), ["encryption-unsettled"]),
    ],
)
def test_a_tablespace_is_plain_or_encrypted_by_a_known_algorithm_or_it_is_no_twin(
    encrypted: str, accounted: tuple[tuple[str, str], ...], faults: list[str]
) -> None:
    assert [fault.code for fault in SERVERS.standing_faults(answering(encrypted, *accounted))] == faults


@pytest.mark.parametrize(
    ("other", "faults"),
    [
        ({"keystore": "CLOSED"}, ["database-answer"]),
        ({"keystore": "OPEN_NO_MASTER_KEY"}, ["database-answer"]),
        ({"container": "CDB$ROOT"}, ["database-answer"]),
        ({"cluster_database": "TRUE"}, ["server-unfit"]),
    ],
)
def test_a_closed_keystore_the_root_and_a_cluster_are_refused(other: Any, faults: list[str]) -> None:
    assert [fault.code for fault in SERVERS.standing_faults(answering(*ENCRYPTED, **other))] == faults


def test_a_plain_tablespace_needs_no_keystore() -> None:
    assert not [*SERVERS.standing_faults(answering("NO", keystore="NOT_AVAILABLE"))]


LONG = "tdelta_20261122_abcd_encrypt_mode_offline"


@pytest.mark.parametrize(
    ("schema", "other", "faults"),
    [
        (LONG, {}, []),
        (LONG, {"compatible": "12.1.0.2.0"}, ["too-large"]),
        (LONG, {"tablespace_encryption": "AUTO_ENABLE"}, ["conflict"]),
        (LONG, {"encrypt_new_tablespaces": "ALWAYS"}, ["conflict"]),
        ("tdelta_r1", {"encrypt_new_tablespaces": "ALWAYS"}, []),
        ("tdelta_r1", {"room": "129"}, ["disk-too-small"]),
        ("tdelta_r1", {"archive": "129"}, []),
        ("tdelta_r1", {"archive": "129", "log_mode": "ARCHIVELOG"}, ["disk-too-small"]),
        ("tdelta_r1", {"archive": "130", "log_mode": "ARCHIVELOG"}, []),
    ],
)
def test_what_a_schema_lacks_is_refused_before_it_is_made(schema: str, other: Any, faults: list[str]) -> None:
    found = SERVERS.schema_faults(answering(*ENCRYPTED, **other), [schema], 100)
    assert [fault.code for fault in found] == faults


def test_that_redo_is_archived_is_said() -> None:
    def ask(sql: str) -> Sequence[Row]:
        return [{"sessions": "0"}] if "v$session" in sql else answering("NO", log_mode="ARCHIVELOG")(sql)

    assert [caution.code for caution in SERVERS.disturbances(ask, "--baseline")] == ["redo-archived"]


def test_a_release_without_schema_only_users_is_refused_by_its_number() -> None:
    with pytest.raises(Refused) as refused:
        Oracle.answering(answering("NO"))
    assert refused.value.refusal.parameters["needs"] == "18c or later, found 12.2.0.1.0"


def test_the_algorithm_is_the_databases_own_account() -> None:
    scope = SERVERS.encryption(answering("YES", ("AES192", "NORMAL"))).scope(DATA)
    assert scope is not None
    assert scope.is_encrypted
    assert "AES192" in scope.said


@pytest.mark.parametrize(("asked", "found"), [("PLAIN_TS", "PLAIN_TS"), ("plain_ts", "PLAIN_TS"), ("lower", "lower")])
def test_a_tablespace_is_found_by_its_name_in_any_case(asked: str, found: str) -> None:
    assert SERVERS.within(answering("NO"), asked).place == found


def test_a_tablespace_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(Refused) as refused:
        SERVERS.within(answering("NO"), "SYSTEM")
    assert refused.value.refusal.code == "unknown"
    assert refused.value.refusal.parameters["hint"] == " Expected one of PLAIN_TS, SECRET_TS, lower."


@pytest.mark.parametrize(
    ("schema", "held", "missing"),
    [
        ("tdelta_r1", (), ()),
        ("tdelta_r1_encrypted", (), ()),
        ("tdelta_r1_encrypt", ("CREATE TABLESPACE", "ALTER TABLESPACE", "DROP TABLESPACE", "ALTER USER"), ()),
        ("tdelta_r1_rekey", ("CREATE TABLESPACE", "ALTER USER"), ("GRANT ALTER TABLESPACE, DROP TABLESPACE TO BENCH",)),
    ],
)
def test_a_conversion_takes_rights_on_tablespaces_and_nothing_else_does(
    schema: str, held: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    assert SERVERS.missing_schema_grants(lambda _sql: [{"privilege": right} for right in held], schema) == missing


def test_altering_the_system_is_for_cold_trials_alone() -> None:
    def ask(_sql: str) -> Sequence[Row]:
        return []

    assert "ALTER SYSTEM" not in str(SERVERS.missing_grants(ask))
    assert SERVERS.missing_work_grants(ask, {"warm"}) == ()
    assert SERVERS.missing_work_grants(ask, {"cold"}) == ("GRANT ALTER SYSTEM TO BENCH",)


def test_a_tablespace_of_the_users_is_neither_converted_nor_dropped() -> None:
    def ask(sql: str) -> Sequence[Row]:
        assert "FROM dba_users" in sql
        return [{"found": "0"}]

    assert not SERVERS.conversion(ask, "tdelta_r1").is_possible
    dropped = SERVERS.drop_sql("tdelta_r1")
    assert set(re.findall(r"TABLESPACE (\w+)", dropped)) == {own_tablespace("tdelta_r1")}
    assert "INCLUDING CONTENTS" not in dropped
    assert dropped.index("DROP TABLE tdelta_r1") < dropped.index("DROP TABLESPACE") < dropped.index("DROP USER")


def test_a_user_without_a_mark_is_dropped_with_the_table_for_it_and_nothing_else() -> None:
    dropped = SERVERS.drop_unmarked_sql("tdelta_r1")
    assert re.findall(r"'(DROP [^']*)'", dropped) == ["DROP TABLE tdelta_r1.tdelta_mark PURGE", "DROP USER tdelta_r1"]


@pytest.mark.parametrize(
    ("destinations", "free"),
    [
        ("'USE_DB_RECOVERY_FILE_DEST' AS destination, 'VALID' AS status", 130),
        ("'/disk2' AS destination, 'VALID' AS status", None),
        ("'USE_DB_RECOVERY_FILE_DEST' AS destination, 'INACTIVE' AS status", None),
        ("'' AS destination, '' AS status WHERE FALSE", 130),  # not seen: as if redo were archived there
    ],
)
def test_room_is_asked_of_the_recovery_area_only_where_redo_is_archived_there(
    destinations: str, free: int | None
) -> None:
    with closing(sqlite3.connect(":memory:")) as views:
        area = "SELECT 200 AS space_limit, 100 AS space_used, 30 AS space_reclaimable"
        views.execute(f"CREATE TABLE v$recovery_file_dest AS {area}")
        views.execute(f"CREATE TABLE v$archive_dest AS SELECT {destinations}")
        assert views.execute(SQL["recovery_room"]).fetchall() == [(free,)]


@pytest.mark.parametrize("folder", ["/u01/diag/trace/", "C:\\oracle\\trace\\"])
def test_a_trace_is_read_from_the_sessions_own_file(folder: str) -> None:
    def found(value: str, pattern: str) -> str | None:
        match = re.search(pattern.replace("\\", "\\\\"), value)
        return match and match[0]

    with closing(sqlite3.connect(":memory:")) as views:
        views.create_function("REGEXP_SUBSTR", 2, found)
        views.execute("CREATE TABLE v$diag_info (name, value)")
        own = [("Default Trace File", f"{folder}ora_7.trc"), ("Diag Trace", folder)]
        views.executemany("INSERT INTO v$diag_info VALUES (?, ?)", own)
        views.execute("CREATE TABLE v$diag_trace_file_contents (trace_filename, payload)")
        lines = [("ora_7.trc", "mine"), ("ora_77.trc", "another's"), (f"{folder}ora_7.trc", "no name")]
        views.executemany("INSERT INTO v$diag_trace_file_contents VALUES (?, ?)", lines)
        assert views.execute(SQL["trace_lines"]).fetchall() == [("mine",)]


def test_the_name_of_a_tablespace_of_tdeltas_is_short_whatever_the_schema_is_called() -> None:
    names = {own_tablespace(schema) for schema in (LONG, f"{LONG}_", "a" * 63)}
    assert len(names) == 3
    assert max(map(len, names)) <= 30


def test_that_a_tablespace_was_encrypted_once_makes_it_no_tablespace_to_be_converted() -> None:
    servers = Oracle(SERVERS.identity, "TS")
    scope = servers.encryption(answering("NO", ("AES256", "NORMAL"))).scope(DATA)
    assert scope is not None
    assert not scope.is_encrypted
    made = servers.make_sql(NewSchema("tdelta_r1", "r1", is_encrypted=False))
    assert not any("CREATE TABLESPACE" in statement for statement in made)


def test_only_a_plain_schema_where_tables_would_be_encrypted_gets_a_tablespace() -> None:
    def statements_for(encrypted: str, *, is_encrypted: bool) -> int:
        servers = Oracle(SERVERS.identity, "TS")
        servers.encryption(answering(encrypted, *((("AES256", "NORMAL"),) if encrypted == "YES" else ())))
        made = servers.make_sql(NewSchema("tdelta_r1_encrypt", "r1", is_encrypted))
        return sum("CREATE TABLESPACE" in statement for statement in made)

    assert statements_for("YES", is_encrypted=False) == 1
    assert statements_for("YES", is_encrypted=True) == 0
    assert statements_for("NO", is_encrypted=False) == 0

"""What an Oracle database says of a tablespace's encryption is asserted, and never taken from one view alone."""

from collections.abc import Mapping, Sequence

import pytest

from tdelta.engines.oracle.driver import Oracle
from tdelta.engines.server.base import DATA, Identity, NewSchema
from tdelta.engines.server.sessions import Ask, Row
from tdelta.processes.workers import Refused

SERVERS = Oracle(Identity("oracle", "Oracle Database", "19.0.0.0.0", "BENCH"), "SECRET_TS")


def answering(encrypted: str, *accounted: tuple[str, str]) -> Ask:
    """A primary with one tablespace, as the catalog has it and as V$ENCRYPTED_TABLESPACES accounts for it."""
    answers: Mapping[str, Sequence[Row]] = {
        "FROM v$database": [{"role": "PRIMARY", "mode_of": "READ WRITE"}],
        "WHERE tablespace_name =": [{"encrypted": encrypted}],
        "FROM v$encrypted_tablespaces": [{"algorithm": name, "status": status} for name, status in accounted],
        "FROM v$encryption_wallet": [{"status": "OPEN", "kind": "AUTOLOGIN"}],
        "'UNDO', 'TEMPORARY'": [{"contents": "UNDO", "encrypted": "NO"}],
        "contents = 'PERMANENT'": [{"tablespace": "PLAIN_TS"}, {"tablespace": "SECRET_TS"}, {"tablespace": "lower"}],
    }

    def ask(sql: str) -> Sequence[Row]:
        (found,) = [rows for part, rows in answers.items() if part in sql]
        return found

    return ask


@pytest.mark.parametrize(
    ("encrypted", "accounted", "faults"),
    [
        ("NO", (), []),
        ("YES", (("AES256", "NORMAL"),), []),
        ("YES", (), ["encryption-unsettled"]),
        ("YES", (("", "NORMAL"),), ["encryption-unsettled"]),
        ("YES", (("AES256", "DECRYPTING"),), ["encryption-unsettled"]),
        ("NO", (("AES256", "ENCRYPTING"),), ["encryption-unsettled"]),
    ],
)
def test_a_tablespace_is_plain_or_encrypted_by_a_known_algorithm_or_it_is_no_twin(
    encrypted: str, accounted: tuple[tuple[str, str], ...], faults: list[str]
) -> None:
    assert [fault.code for fault in SERVERS.standing_faults(answering(encrypted, *accounted))] == faults


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


def test_a_tablespace_of_the_users_is_neither_converted_nor_dropped() -> None:
    def ask(sql: str) -> Sequence[Row]:
        assert "FROM dba_users" in sql
        return [{"found": "0"}]

    assert not SERVERS.conversion(ask, "tdelta_r1").is_possible
    assert "TABLESPACE" not in SERVERS.drop_sql("tdelta_r1")
    assert "IF own > 0 THEN" in SERVERS.drop_sql("tdelta_r1_encrypt")
    assert "INCLUDING CONTENTS" not in SERVERS.drop_sql("tdelta_r1_encrypt")


def test_only_a_plain_schema_where_tables_would_be_encrypted_gets_a_tablespace() -> None:
    def statements_for(encrypted: str, *, is_encrypted: bool) -> int:
        servers = Oracle(SERVERS.identity, "TS")
        servers.encryption(answering(encrypted, *((("AES256", "NORMAL"),) if encrypted == "YES" else ())))
        made = servers.make_sql(NewSchema("tdelta_r1_encrypt", "r1", is_encrypted))
        return sum("CREATE TABLESPACE" in statement for statement in made)

    assert statements_for("YES", is_encrypted=False) == 1
    assert statements_for("YES", is_encrypted=True) == 0
    assert statements_for("NO", is_encrypted=False) == 0

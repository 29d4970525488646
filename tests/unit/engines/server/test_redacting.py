"""No secret leaves a user's machine in any form, statement or column."""

import json
from pathlib import Path

import pytest

from tdelta.engines.server.redacting import Recorder, without
from tdelta.session.server_check.conducting import _recorded

NATIVE = "*927F6F98F2B3A5AD0F2B3A5AD0F2B3A5AD0F2B3A"
SCRAM = "SCRAM-SHA-256$4096:c2FsdHNhbHQ=$c3RvcmVka2V5:c2VydmVya2V5"
MD5 = "md5" + "0f" * 16
CACHING = r"$A$005$ab{cd}ef+gh0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabc"
ED25519 = "vubFBzIrapbfHct1/J72dnUryz5VS7lA6XHH8sIx4TI"
ORACLE = "S:" + "AB" * 30 + ";T:" + "CD" * 80
SQLSERVER = "0x0200" + "AB" * 64


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (f"GRANT PROCESS ON *.* TO `app`@`%` IDENTIFIED BY PASSWORD '{NATIVE}' REQUIRE SSL", "REQUIRE SSL"),
        (
            f"GRANT ALL ON *.* TO `a`@`h` IDENTIFIED VIA ed25519 USING '{ED25519}' OR unix_socket WITH GRANT OPTION",
            "GRANT",
        ),
        (f"CREATE USER `a`@`h` IDENTIFIED WITH 'caching_sha2_password' AS '{CACHING}' REQUIRE NONE", "REQUIRE NONE"),
        (f"CREATE USER a IDENTIFIED BY VALUES '{ORACLE}' DEFAULT TABLESPACE users", "users"),
        (f"CREATE LOGIN app WITH PASSWORD = {SQLSERVER} HASHED, SID = 0x01", "SID"),
        (f"ALTER ROLE app PASSWORD '{SCRAM}' VALID UNTIL 'infinity'", "VALID UNTIL"),
        ("user=app password=hunter2 host=x", "host=x"),
        (f"the stored value is {MD5}", "the stored value"),
        (f"{NATIVE} {SCRAM} {ORACLE} {SQLSERVER}", ""),
        ("$6$saltsalt$" + "a" * 86, ""),
        ("argon2: $argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b4dWRWJTmaaJObG", "argon2"),
    ],
)
def test_no_hash_and_nothing_that_identifies_is_left(said: str, kept: str) -> None:
    found = without(said, {})
    for secret in (NATIVE, SCRAM, "c3RvcmVka2V5", MD5, CACHING, ED25519, "ABABAB", "hunter2", "aaaa", "Rdescudv"):
        assert secret not in found
    assert "<SECRET>" in found
    assert kept in found


def test_what_is_no_secret_stays() -> None:
    for said in ("GRANT SELECT, PROCESS ON *.* TO app REQUIRE SSL", "checksum 3735928559", "password_history = 5"):
        assert without(said, {}) == said


def test_a_record_has_no_secret_in_titles_settings_or_columns(tmp_path: Path) -> None:
    path = tmp_path / "record"
    options = {"user": "bench", "password": "pa55", "host": "db1", "port": 33071}
    recorder = Recorder(path, options)
    recorder.asked("SHOW GRANTS", ["Grants for bench@%"], [[f"GRANT ALL TO `bench`@`%` IDENTIFIED BY '{NATIVE}'"]])
    rows = [["port", "3306"], ["report_password", "s3cret"], ["wsrep_sst_auth", "sst:t0p"], ["hostname", "db-7"]]
    recorder.asked("SHOW GLOBAL VARIABLES", ["Variable_name", "Value"], [*rows, ["big_tables", "OFF"]])
    recorder.asked("SELECT 1", ["User", "authentication_string"], [["root", "6f8c114b58f2ce9e"]])
    recorder.refused("CREATE USER x IDENTIFIED BY 'pa55'", "sql", "at db1:33071: using password pa55")
    text = path.read_text()
    for secret in ("bench", NATIVE, "3306", "33071", "s3cret", "t0p", "db-7", "6f8c", "pa55", "db1"):
        assert secret not in text, secret
    lines = [json.loads(line) for line in text.splitlines()]
    assert lines[0]["columns"] == ["Grants for <USER>@%"]
    assert ["big_tables", "OFF"] in lines[1]["rows"]


def test_a_record_is_its_owners_alone_also_where_a_file_was_there(tmp_path: Path) -> None:
    path = tmp_path / "record"
    path.write_text("earlier")
    path.chmod(0o644)
    with _recorded(path):
        assert (path.stat().st_mode & 0o777, path.read_text()) == (0o600, "")

from pathlib import Path

import pytest

from tdelta.driver.load_generator.connections import Connection, inherited_environment, write_passfile

from .recorded import MYSQL, POSTGRES


def test_clients_of_postgresql_connect_by_their_environment_alone() -> None:
    assert POSTGRES.environment(Path("/p")) == {
        "PGHOST": "/run/twin",
        "PGPORT": "5499",
        "PGUSER": "tdelta",
        "PGDATABASE": "tdelta",
        "PGPASSFILE": "/p",
    }


def test_clients_of_mysql_get_socket_and_password_by_their_environment() -> None:
    found = MYSQL.environment(Path("/p"))
    assert (found["MYSQL_UNIX_PORT"], found["MYSQL_PWD"]) == ("/run/twin/server.sock", "s3cret")


def test_tls_of_a_postgresql_server_is_in_the_environment() -> None:
    there = Connection("postgres", "me", "db", host="db.example", tls="verify-full", tls_ca="/ca.pem")
    found = there.environment(Path("/p"))
    assert (found["PGSSLMODE"], found["PGSSLROOTCERT"], found["PGPORT"]) == ("verify-full", "/ca.pem", "5432")


def test_a_connection_is_made_of_the_native_clients_options() -> None:
    options = {"protocol": "mysql", "user": "me", "database": "db", "host": "h", "port": 3307, "password": "x"}
    made = Connection.from_options(options)
    assert (made.client_host, made.client_port, made.password, made.tls) == ("h", 3307, "x", "disable")
    assert Connection.from_options({"protocol": "mysql", "user": "me", "socket": "/s"}).socket == Path("/s")


@pytest.mark.parametrize(
    ("protocol", "text"),
    [
        ("postgres", r"*:*:*:*:a\:b\\c" + "\n"),
        ("mysql", '[client]\nuser="me"\npassword="a:b\\\\c"\nhost="127.0.0.1"\nport="3306"\n'),
    ],
)
def test_the_file_with_the_password_is_its_owners_only(tmp_path: Path, protocol: str, text: str) -> None:
    path = tmp_path / "passfile"
    write_passfile(Connection(protocol, "me", "db", password="a:b\\c"), path)  # noqa: S106
    assert path.read_text() == text
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_connection_of_the_users_own_environment_is_not_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGHOST", "PGSERVICE", "MYSQL_PWD", "OPENSSL_ia32cap"):
        monkeypatch.setenv(name, "elsewhere")
    monkeypatch.setenv("TDELTA_TEST_KEPT", "yes")
    found = inherited_environment()
    assert "elsewhere" not in found.values()
    assert found["TDELTA_TEST_KEPT"] == "yes"

import os
from pathlib import Path

import pytest

from tdelta.processes.load_generator.connections import (
    Connection,
    from_users_home,
    inherited_environment,
    make_home,
    own_socket_only,
)

from .recorded import MYSQL, POSTGRES


def test_clients_of_postgresql_connect_by_their_environment_alone() -> None:
    assert POSTGRES.environment() == {
        "PGHOST": "/run/twin",
        "PGPORT": "5499",
        "PGUSER": "tdelta",
        "PGDATABASE": "tdelta",
    }


def test_clients_of_mysql_get_the_socket_by_their_environment() -> None:
    assert MYSQL.environment() == {"MYSQL_UNIX_PORT": "/run/twin/server.sock", "MYSQL_HOST": "localhost"}


def test_a_connection_of_the_users_own_environment_is_not_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGHOST", "PGSERVICE", "MYSQL_PWD", "OPENSSL_ia32cap"):
        monkeypatch.setenv(name, "elsewhere")
    monkeypatch.setenv("TDELTA_TEST_KEPT", "yes")
    found = inherited_environment()
    assert "elsewhere" not in found.values()
    assert found["TDELTA_TEST_KEPT"] == "yes"


REDIRECTS = ("MYSQL_HOME", "MYSQL_GROUP_SUFFIX", "PGSERVICEFILE", "PGSYSCONFDIR", "PGOPTIONS", "PGREQUIREPEER")


def test_nothing_of_the_users_says_where_a_server_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in REDIRECTS:
        monkeypatch.setenv(name, "elsewhere")
    home = make_home(tmp_path / "home", "")
    assert "elsewhere" not in {**inherited_environment(), **home}.values()
    assert home["HOME"] == str(tmp_path / "home")
    for name in ("PSQLRC", "PGSERVICEFILE", "MYSQL_TEST_LOGIN_FILE"):
        assert not Path(home[name]).exists()


def test_an_option_file_of_tdeltas_is_the_last_that_a_client_reads(tmp_path: Path) -> None:
    connection = Connection("mysql", 'a"b', "db", Path("/run/twin/s"))
    home = make_home(tmp_path / "home", connection.option_file())
    path = Path(home["HOME"]) / ".my.cnf"
    assert path.stat().st_mode & 0o777 == 0o600
    client, mysql = path.read_text().split("[mysql]\n")
    assert client == '[client]\nuser="a\\"b"\nhost="localhost"\nsocket="/run/twin/s"\nprotocol="socket"\n'
    assert mysql == own_socket_only(Path("/run/twin/s")).removeprefix("[mysql]\n")
    assert f"@@socket=0x{b'/run/twin/s'.hex()}" in mysql


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("mariadb {database} < ~/app.sql", "mariadb {database} < /home/me/app.sql"),
        ("gunzip -c ~/a.gz|psql", "gunzip -c /home/me/a.gz|psql"),
        ("FILE=~/a psql -f '~/b'", "FILE=/home/me/a psql -f '/home/me/b'"),
        ("sed s~/a~b~ ~me/x a~/b", "sed s~/a~b~ ~me/x a~/b"),
    ],
)
def test_a_file_in_the_users_home_is_found_all_the_same(
    monkeypatch: pytest.MonkeyPatch, command: str, found: str
) -> None:
    monkeypatch.setitem(os.environ, "HOME", "/home/me")
    assert from_users_home(command) == found

from pathlib import Path

import pytest

from support.refused import Part, refused
from tdelta.engines.registry import catalogue, driver
from tdelta.engines.server.base import ServerBinary
from tdelta.engines.server.driver import UNTRIED
from tdelta.engines.sqlite.libraries import SQLCIPHER, SQLITE3MC, WHEELS, Library
from tdelta.errors import EngineUnavailable, UnknownName, UsageError
from tdelta.messages import Refusal
from tdelta.report.drawing import draw
from tdelta.report.listings import engines_blocks


def found(monkeypatch: pytest.MonkeyPatch, *servers: ServerBinary) -> None:
    monkeypatch.setattr(
        "tdelta.engines.server.driver.installed_servers",
        lambda kind: [one for one in servers if one.kind == kind],
    )


@pytest.fixture(autouse=True)
def nothing_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No server is here, and libraries are called by their products' names."""
    found(monkeypatch)
    monkeypatch.setattr("tdelta.engines.sqlite.driver.ask_library", lambda name: {"text": WHEELS[name].product})


def test_every_engine_of_the_design_is_listed_the_libraries_of_the_one_that_runs_first() -> None:
    listed = [(info.name, info.option) for info in catalogue()]
    assert listed[:2] == [("sqlite", "sqlite3mc"), ("sqlite", "sqlcipher")]
    planned = ["mariadb", "mysql", "postgres", "duckdb", "oracle", "sqlserver"]
    assert listed[2:] == [(name, "") for name in planned]


def test_a_library_is_listed_with_its_own_ciphers_and_whose_code_encrypts() -> None:
    multiple_ciphers, sqlcipher = catalogue()[:2]
    assert (multiple_ciphers.ciphers, multiple_ciphers.crypto) == (tuple(SQLITE3MC.ciphers), "own")
    assert (sqlcipher.ciphers, sqlcipher.crypto) == (tuple(SQLCIPHER.ciphers), "openssl")


def test_an_installed_library_says_itself_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tdelta.engines.sqlite.driver.ask_library", lambda name: {"text": f"{WHEELS[name].product} 9.9"}
    )
    listed = catalogue()[0]
    assert listed.library.startswith("SQLite3 Multiple Ciphers 9.9, ")
    assert "apsw-sqlite3mc" in listed.library


def test_a_library_that_is_installed_and_cannot_be_loaded_is_not_available_and_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_name: str) -> dict[str, str]:
        raise EngineUnavailable(Refusal.of("database-says", said="no-client"))

    monkeypatch.setattr("tdelta.engines.sqlite.driver.ask_library", refuse)
    listed = catalogue()[0]
    assert (listed.available, listed.notes) == (False, "no-client")


def test_an_engine_that_is_not_available_says_what_to_install() -> None:
    assert all(info.available or info.install for info in catalogue())


@pytest.mark.parametrize("name", ["oracle", "sqlserver"])
def test_an_engine_of_users_servers_says_in_one_screen_what_it_takes_and_that_nobody_ran_it(name: str) -> None:
    (listed,) = (info for info in catalogue() if info.name == name)
    assert f"{name}://USER@HOST" in listed.library
    assert f"'tdelta[{name}]'" in listed.install
    assert "rights: " in listed.notes
    assert UNTRIED in listed.notes
    assert len(draw(engines_blocks([listed]), 100).splitlines()) <= 24


def test_a_server_that_was_found_is_listed_with_its_ciphers_and_scopes(monkeypatch: pytest.MonkeyPatch) -> None:
    found(monkeypatch, ServerBinary("mysql", "MySQL", Path("/opt/mysqld"), "9.7.4", "mysqld Ver 9.7.4"))
    (listed,) = (info for info in catalogue() if info.name == "mysql")
    assert (listed.available, listed.version, listed.ciphers) == (True, "9.7.4", ("none", "aes-256"))
    assert "scopes: data, +log, +binlog, all" in listed.notes


def test_a_server_that_cannot_be_tested_as_it_is_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    binary = ServerBinary("postgres", "PostgreSQL", Path("/opt/postgres"), "15.1", "postgres 15.1")
    found(monkeypatch, binary)

    def refuse() -> Path:
        raise EngineUnavailable(Refusal.of("database-says", said="gocryptfs is missing"))

    monkeypatch.setattr("tdelta.engines.postgres.driver.gocryptfs_program", refuse)
    listed = [info for info in catalogue() if info.name == "postgres"]
    assert [(info.available, info.notes) for info in listed] == [(False, "gocryptfs is missing")]


def test_an_unknown_engine_is_refused_with_the_nearest_one() -> None:
    with refused(UnknownName, "unknown", found=Part("postgresql"), hint=Part("postgres")):
        driver("postgresql", {})


def test_an_engine_of_users_servers_is_refused_without_them() -> None:
    with refused(UsageError, "requires", what="Oracle Database", needs=Part("--baseline and")):
        driver("oracle", {})


def test_an_engine_without_its_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Library, "installed_version", lambda _self: None)
    with refused(
        EngineUnavailable,
        "library-not-installed",
        engine="sqlite",
        wheel=Part("apsw-sqlite3mc"),
        install=Part("apsw-sqlite3mc"),
    ):
        driver("sqlite", {"library": "sqlite3mc"})
    with refused(
        EngineUnavailable,
        "library-not-installed",
        engine="sqlite",
        wheel=Part("sqlcipher3"),
        install=Part("sqlcipher3"),
    ):
        driver("sqlite", {"library": "sqlcipher"})

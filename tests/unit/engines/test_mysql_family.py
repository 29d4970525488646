import dataclasses
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from support.refused import Part, has, refused
from tdelta.engines.mariadb.actions import Alter
from tdelta.engines.mariadb.driver import MariaDb
from tdelta.engines.mysql.driver import PERCONA, MySql
from tdelta.engines.server.actions import Site
from tdelta.engines.server.base import ServerBinary, ServerSettings, recipe_of
from tdelta.engines.server.driver import PrivateDriver
from tdelta.engines.server.mysql_family import PAGE_BYTES, chunk_bytes, free_pages, pool_bytes, wanted_switches
from tdelta.errors import UnknownName
from tdelta.processes.servers.recipes import Recipe, ServerPaths

MIB = 1 << 20
KEY = "0123456789abcdef" * 4
PLACE = ServerPaths(Path("/twins/a"), Path("/twins/a/s"))
MARIADB = MariaDb(ServerBinary("mariadb", "MariaDB", Path("/usr/sbin/mariadbd"), "10.11.19", ""))
MYSQL = MySql(
    ServerBinary(
        "mysql",
        "MySQL",
        Path("/cache/root/usr/sbin/mysqld"),
        "9.7.4",
        "",
        ("/cache/root/usr/lib/ld.so", "--library-path", "/cache/root/usr/lib"),
        Path("/cache/root"),
    )
)
INSTALLED = MySql(ServerBinary("mysql", "MySQL", Path("/usr/sbin/mysqld"), "8.4.1", "", loader=Path("/lib64/ld.so")))
PERCONAS = MySql(ServerBinary("mysql", PERCONA, Path("/usr/sbin/mysqld"), "8.4.2", "", loader=Path("/lib64/ld.so")))
ENGINES = (MARIADB, MYSQL, PERCONAS)
Engine = MariaDb | MySql
CIPHERED = [(engine, scope) for engine in ENGINES for scope in engine.scopes if scope != "none"]


def recipe(engine: Engine, settings: ServerSettings) -> Recipe:
    return recipe_of(engine, PLACE, settings, KEY if settings.is_encrypted else None)


def options(engine: Engine, settings: ServerSettings) -> dict[str, str]:
    text = recipe(engine, settings).files[PLACE.folder / "server.cnf"]
    lines = [line.partition("=") for line in text.splitlines()[1:]]
    return {name: value for name, _, value in lines}


@pytest.mark.parametrize(
    ("engine", "said", "left"),
    [
        (MARIADB, "ENGINE=InnoDB `ENCRYPTED`='YES' `ENCRYPTION_KEY_ID`='1';", "ENGINE=InnoDB  ;"),
        (MARIADB, "ENGINE=InnoDB `encrypted`='no' COMMENT='x';", "ENGINE=InnoDB  COMMENT='x';"),
        (MARIADB, "ENGINE=InnoDB ENCRYPTED=NO;", "ENGINE=InnoDB ;"),
        (MYSQL, "ENGINE=InnoDB /*!80016 ENCRYPTION='Y' */;", "ENGINE=InnoDB /*!80016  */;"),
    ],
)
def test_the_command_that_is_named_takes_encryption_out_of_a_dump(engine: Engine, said: str, left: str) -> None:
    command = ["bash", "-c", engine.dump_encryption.remedy]
    assert subprocess.run(command, input=said, capture_output=True, text=True, check=True).stdout == left


@pytest.mark.parametrize("engine", ENGINES)
def test_memory_of_a_session_is_the_same_on_all_twins_and_is_read_back(engine: Engine) -> None:
    usual = options(engine, ServerSettings("none"))
    for scope in engine.scopes:
        cipher = "none" if scope == "none" else "aes-256"
        found = options(engine, ServerSettings(cipher, scope, session_bytes=MIB, threads=8))
        added = {
            name: value for name, value in found.items() if name not in options(engine, ServerSettings(cipher, scope))
        }
        limits = ("sort_buffer_size", "join_buffer_size", "tmp_table_size", "max_heap_table_size")
        assert {added[name] for name in limits} == {str(MIB)}
        caches = {"aria_pagecache_buffer_size": str(8 * MIB)} if engine is MARIADB else {}
        assert added == dict.fromkeys(limits, str(MIB)) | caches
        assert set(added) <= set(engine.facts)
        assert not set(added) & set(usual)


@pytest.mark.parametrize("engine", ENGINES)
def test_twins_share_every_setting_but_their_encryption(engine: Engine) -> None:
    plain = options(engine, ServerSettings("none"))
    for scope in engine.scopes[1:]:
        encrypted = options(engine, ServerSettings("aes-256", scope))
        assert {name: encrypted.get(name) for name in plain} == plain
        told = " ".join(engine.differing_settings(ServerSettings("aes-256", scope)))
        added = set(encrypted) - set(plain)
        assert added
        assert all(name in told for name in added if not name.startswith("file_key_management_"))
    assert engine.differing_settings(ServerSettings("none")) == ()


@pytest.mark.parametrize(("engine", "scope"), CIPHERED)
def test_a_key_is_in_no_argument_no_environment_and_no_option_file(engine: Engine, scope: str) -> None:
    made = recipe(engine, ServerSettings("aes-256", scope))
    for command in (*made.initialize, made.serve):
        assert KEY[:32] not in " ".join(command.argv)
        assert KEY[:32] not in str(dict(command.environment))
    assert KEY[:32] not in made.files[PLACE.folder / "server.cnf"]
    assert all(PLACE.keys in path.parents for path, text in made.files.items() if KEY[:32] in text)
    assert KEY[:32] not in repr(made)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("path", ["datadir", "tmpdir", "socket", "pid_file"])
def test_all_that_a_server_writes_is_in_its_own_folder(engine: Engine, path: str) -> None:
    assert PLACE.folder in Path(options(engine, ServerSettings("none"))[path]).parents


@pytest.mark.parametrize("engine", ENGINES)
def test_a_server_listens_on_its_socket_only(engine: Engine) -> None:
    found = options(engine, ServerSettings("none"))
    assert "skip_networking" in found
    assert recipe(engine, ServerSettings("none")).connect == {
        "protocol": "mysql",
        "socket": "/twins/a/s",
        "user": "tdelta",
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_commits_reach_the_disk_if_they_are_to(engine: Engine) -> None:
    durable = options(engine, ServerSettings("none", has_binlog=True))
    loose = options(engine, ServerSettings("none", has_binlog=True, is_durable=False))
    loading = options(engine, ServerSettings("none", has_binlog=True, is_loading=True))
    name = "innodb_flush_log_at_trx_commit"
    assert (durable[name], durable["sync_binlog"]) == ("1", "1")
    assert (loose[name], loose["sync_binlog"]) == ("2", "0")
    assert (loading[name], "log_bin" in loading, "skip_log_bin" in loading) == ("0", False, True)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_server_takes_as_many_connections_as_are_wanted_and_tdeltas_own(engine: Engine) -> None:
    found = options(engine, ServerSettings("none", connections=2048))
    assert int(found["max_connections"]) > 2048
    assert int(found["open_files_limit"]) > 2 * 2048


@pytest.mark.parametrize(
    ("wanted", "pool"),
    [(0, 8 * MIB), (30 * MIB, 30 * MIB), (30 * MIB + 1, 31 * MIB), (1000 * MIB + 5, 1005 * MIB)],
)
def test_the_buffer_pool_is_what_was_asked_in_whole_chunks(wanted: int, pool: int) -> None:
    found = pool_bytes(ServerSettings("none", cache_bytes=wanted))
    assert found == pool
    assert found % chunk_bytes(wanted) == 0


def test_loading_has_memory_to_sort_in() -> None:
    assert pool_bytes(ServerSettings("none", is_loading=True)) == 512 * MIB


def test_a_switch_reads_as_a_word_or_as_a_digit() -> None:
    settings = ServerSettings("aes-256", "data")
    wanted = wanted_switches(MARIADB.switches, settings)
    found = {name: {"ON": "1", "OFF": "0"}.get(value, value) for name, value in wanted.items()}
    assert MARIADB.switches_fault(settings, found) is MARIADB.switches_fault(settings, wanted) is None
    fault = MARIADB.switches_fault(settings, {**found, "encrypt_binlog": "1"})
    assert has([fault], "settings-not-in-force", settings="encrypt_binlog")


@pytest.mark.parametrize(
    ("scope", "on", "off"),
    [
        ("data", "innodb_encrypt_tables=FORCE", "innodb_encrypt_log"),
        ("+log", "innodb_encrypt_log=ON", "encrypt_tmp_files"),
        ("+temp", "encrypt_tmp_files=ON", "encrypt_binlog"),
        ("+binlog", "encrypt_binlog=ON", "innodb_encrypt_log"),
    ],
)
def test_a_scope_of_mariadb_is_tables_and_one_thing(scope: str, on: str, off: str) -> None:
    text = recipe(MARIADB, ServerSettings("aes-256", scope)).files[PLACE.folder / "server.cnf"]
    assert f"{on}\n" in text
    assert off not in text
    assert "innodb_encrypt_tables=FORCE\n" in text


@pytest.mark.parametrize(
    ("cipher", "digits", "mode"),
    [
        ("aes-128", 32, "AES_CBC"),
        ("aes-256", 64, "AES_CBC"),
        ("aes-128-ctr", 32, "AES_CTR"),
        ("aes-256-ctr", 64, "AES_CTR"),
    ],
)
def test_mariadbs_key_file_has_keys_of_the_ciphers_length(cipher: str, digits: int, mode: str) -> None:
    made = recipe(MARIADB, ServerSettings(cipher, "data"))
    first, second, third = str(made.files[PLACE.keys / "keys.txt"]).splitlines()
    assert (first, second) == (f"1;{KEY[:digits]}", f"2;{KEY[:digits]}")
    number, _, other = third.partition(";")
    assert number == "3"
    assert len(bytes.fromhex(other)) == digits // 2
    assert other != KEY[:digits]
    assert options(MARIADB, ServerSettings(cipher, "data"))["file_key_management_encryption_algorithm"] == mode


def test_a_cipher_that_mariadb_does_not_have_is_named() -> None:
    with refused(UnknownName, "unknown", found="chacha20"):
        recipe(MARIADB, ServerSettings("chacha20", "data"))


def test_mysql_is_called_by_a_name_in_its_own_folder_by_way_of_its_loader() -> None:
    argv = recipe(MYSQL, ServerSettings("none")).serve.argv
    assert argv[:3] == ("/cache/root/usr/lib/ld.so", "--argv0", "/twins/a/bin/mysqld")
    assert argv[3:6] == ("--library-path", "/cache/root/usr/lib", "/cache/root/usr/sbin/mysqld")
    installed = recipe(INSTALLED, ServerSettings("none")).serve.argv
    assert installed[:4] == ("/lib64/ld.so", "--argv0", "/twins/a/bin/mysqld", "/usr/sbin/mysqld")


def test_mysqls_keyring_is_named_in_files_of_its_own_folder_on_encrypted_twins_only() -> None:
    encrypted, plain = recipe(MYSQL, ServerSettings("aes-256", "data")), recipe(MYSQL, ServerSettings("none"))
    assert "component_keyring_file" in encrypted.files[PLACE.folder / "bin" / "mysqld.my"]
    assert str(PLACE.keys / "keyring") in encrypted.files[PLACE.folder / "plugins" / "component_keyring_file.cnf"]
    assert set(encrypted.links) - set(plain.links) == {PLACE.folder / "plugins" / "component_keyring_file.so"}
    assert not any("keyring" in str(path) for path in plain.files)


def test_percona_has_switches_that_mysql_has_not() -> None:
    assert "+temp" not in MYSQL.scopes
    assert "+temp" in PERCONAS.scopes
    text = recipe(PERCONAS, ServerSettings("aes-256", "all")).files[PLACE.folder / "server.cnf"]
    temporary = ("innodb_temp_tablespace_encrypt", "encrypt_tmp_files", "innodb_encrypt_online_alter_logs")
    for name in ("innodb_sys_tablespace_encrypt", *temporary):
        assert f"{name}=ON\n" in text
    assert "innodb_sys_tablespace_encrypt" not in options(PERCONAS, ServerSettings("aes-256", "+temp"))


def test_perconas_server_writes_nothing_for_its_makers() -> None:
    assert options(PERCONAS, ServerSettings("none"))["loose_percona_telemetry_disable"] == "1"
    assert "loose_percona_telemetry_disable" not in options(MYSQL, ServerSettings("none"))


def test_mysqls_own_tables_are_encrypted_only_where_all_is() -> None:
    (database,) = MYSQL.schema_sql(ServerSettings("aes-256", "data"))
    assert "ENCRYPTION = 'Y'" in database
    assert "ENCRYPTION = 'N'" in MYSQL.schema_sql(ServerSettings("none"))[0]
    assert "ALTER TABLESPACE mysql ENCRYPTION = 'Y'" in MYSQL.schema_sql(ServerSettings("aes-256", "all"))


GOOD_MYSQL = {
    "binlog_encryption": "0",
    "default_table_encryption": "1",
    "innodb_redo_log_encrypt": "0",
    "innodb_undo_log_encrypt": "0",
    "keyring": "Active",
    "plain_tablespaces": "0",
    "encrypted_tablespaces": "2",
    "encrypted_system_tablespaces": "0",
    "system_tablespaces": "2",
}


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({}, ()),
        ({"default_table_encryption": "0"}, ("default_table_encryption", "0", "ON")),
        ({"innodb_redo_log_encrypt": "1"}, ("innodb_redo_log_encrypt", "1", "OFF")),
        ({"keyring": "missing"}, ("keyring", "missing", "Active")),
        ({"plain_tablespaces": "1"}, ("1", "tablespaces")),
        ({"encrypted_tablespaces": "0"}, ("0", "tablespaces")),
    ],
)
def test_what_is_not_as_asked_in_mysqls_catalog_is_a_fault(changed: dict[str, str], wrong: tuple[str, ...]) -> None:
    assert set(MYSQL.cipher_facts(ServerSettings("aes-256", "data"))) == set(GOOD_MYSQL)
    fault = MYSQL.cipher_fault(ServerSettings("aes-256", "data"), GOOD_MYSQL | changed)
    assert (fault is None) is (not wrong)
    assert all(word in str(fault) for word in wrong)


def test_a_system_tablespace_that_stayed_plain_is_a_fault_where_all_is_encrypted() -> None:
    settings = ServerSettings("aes-256", "all")
    on = {name: "1" for name in GOOD_MYSQL if "encrypt" in name and "tablespaces" not in name}
    assert has(
        [MYSQL.cipher_fault(settings, GOOD_MYSQL | on)],
        "wrong-count",
        count="0",
        what=Part("of its own"),
        expected="all",
    )
    assert MYSQL.cipher_fault(settings, GOOD_MYSQL | on | {"encrypted_system_tablespaces": "2"}) is None


@pytest.mark.parametrize("engine", [MARIADB, MYSQL])
def test_a_plain_twin_with_an_encrypted_tablespace_is_a_fault(engine: Engine) -> None:
    settings = ServerSettings("none")
    found = dict.fromkeys(engine.cipher_facts(settings), "0") | {"encrypted_tablespaces": "1"}
    if engine is MARIADB:
        found["innodb_encrypt_tables"] = "OFF"
    assert has(
        [engine.cipher_fault(settings, found)],
        "wrong-count",
        count="1",
        what="tablespaces are encrypted",
        expected="none",
    )


def test_mariadb_whose_background_encryption_is_not_done_is_a_fault() -> None:
    settings = ServerSettings("aes-256", "data")
    found = {
        **dict.fromkeys(MARIADB.cipher_facts(settings), "0"),
        "innodb_encrypt_tables": "FORCE",
        "innodb_encryption_threads": "4",
        "aria_encrypt_tables": "1",
        "file_key_management_encryption_algorithm": "aes_cbc",
        "encrypted_tablespaces": "5",
    }
    assert MARIADB.cipher_fault(settings, found) is None
    fault = MARIADB.cipher_fault(settings, found | {"plain_tablespaces": "2"})
    assert has([fault], "wrong-count", count="2", what="tablespaces are not encrypted", expected="none")
    other = dataclasses.replace(settings, cipher="aes-256-ctr")
    fault = MARIADB.cipher_fault(other, found)
    assert has([fault], "settings-not-in-force", settings="file_key_management_encryption_algorithm")


@pytest.mark.parametrize(("pool", "pages"), [(8 * MIB, 100), (30 * MIB, 100), (360 * MIB, 360), (60 << 30, 1024)])
def test_a_small_pool_is_not_kept_free_for_the_most_part(pool: int, pages: int) -> None:
    assert free_pages(pool) == pages
    assert pages * PAGE_BYTES <= pool / 4


def test_a_scope_that_some_version_lacks_is_refused_once() -> None:
    driver = PrivateDriver(MARIADB, {"MariaDB": MARIADB, "MySQL": MYSQL})
    options_given = {"scope": None, "hosts": None, "server_binary": None}
    refused_scopes = []
    for check in driver.option_checks(options_given, {"scope": ("data", "+temp", "foo")}):
        try:
            check()
        except UnknownName as fault:
            refused_scopes += [refusal.parameters["found"] for refusal in fault.refusals]
    assert refused_scopes == ["+temp", "foo"]


def test_the_last_look_at_the_disk_is_not_in_the_time_of_a_conversion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(_folder: Path) -> int:
        time.sleep(0.2)
        return 7

    class Quick(Alter):
        def _convert(self) -> dict[str, int]:
            return {"tablespaces": 1}

    monkeypatch.setattr("tdelta.engines.mariadb.actions.allocated_bytes", look)
    monkeypatch.setattr("tdelta.engines.mariadb.actions.kept", lambda _recipe: tmp_path)
    outcome = Quick(cast(Site, SimpleNamespace(recipe=None))).perform()
    assert outcome.counters == {"tablespaces": 1, "disk_more_bytes": 0}
    assert outcome.seconds is not None
    assert outcome.seconds < 0.1

"""Settings and queries of PostgreSQL's adapter; the live tests run them."""

import dataclasses
import re
import struct
from pathlib import Path

import pytest

from support.refused import Part, has
from tdelta.engines.postgres.server import Postgres
from tdelta.engines.postgres.storage import EncryptedFolder, Gocryptfs
from tdelta.engines.postgres.tde import PgTde
from tdelta.engines.server.base import ServerBinary, ServerSettings, recipe_of
from tdelta.engines.server.driver import covered
from tdelta.evidence import FileClass
from tdelta.processes.servers.recipes import Recipe, ServerPaths

PLAIN = ServerSettings("none")
ENCRYPTED = ServerSettings("aes-256", "all")
PLACE = ServerPaths(Path("/run/twin's"), Path("/run/twin's/.s.PGSQL.5432"))
KEY = "ab" * 32


def binary(version: str = "15.4") -> ServerBinary:
    return ServerBinary("postgres", "PostgreSQL", Path("/opt/pg/bin/postgres"), version, f"postgres {version}")


GOCRYPTFS = Gocryptfs(binary(), Path("/usr/bin/gocryptfs"))
FOLDER = EncryptedFolder(binary(), Path("/mnt/safe"), "LUKS2 (dm-crypt) under ext4")
PG_TDE, FORK = PgTde(binary()), PgTde(binary(), "open_pg_tde")


def recipe(settings: ServerSettings, key: str | None = None, engine: Postgres = GOCRYPTFS) -> Recipe:
    return recipe_of(engine, PLACE, settings, key)


def configuration(settings: ServerSettings, engine: Postgres = GOCRYPTFS) -> dict[str, str]:
    text = recipe(settings, engine=engine).files[PLACE.folder / "postgresql.conf"]
    return dict(line.split(" = ", 1) for line in text.splitlines())


def test_a_server_listens_on_its_private_socket_only() -> None:
    options = configuration(PLAIN)
    assert (options["listen_addresses"], options["unix_socket_permissions"]) == ("''", "0700")
    assert options["unix_socket_directories"] == "'/run/twin''s'"
    let_in = recipe(PLAIN).files[PLACE.folder / "pg_hba.conf"].splitlines()
    assert [line.split()[:2] + line.split()[-1:] for line in let_in] == [
        ["local", "all", "trust"],
        ["local", "replication", "trust"],
    ]
    assert recipe(PLAIN).connect["socket"] == str(PLACE.folder / GOCRYPTFS.socket_name)


def test_nothing_is_written_into_the_data_directory_which_initdb_wants_empty() -> None:
    assert not any(path.is_relative_to(PLACE.data) for path in recipe(PLAIN).files)


def test_programs_that_refuse_root_are_run_as_somebody_else() -> None:
    made = recipe(ENCRYPTED, KEY)
    assert all(command.as_user for command in (*made.initialize, made.serve))
    assert made.mount is not None
    assert not made.mount.serve.as_user


@pytest.mark.parametrize("engine", [GOCRYPTFS, FOLDER], ids=["gocryptfs", "folder"])
def test_twins_below_which_something_else_encrypts_have_the_same_configuration(engine: Postgres) -> None:
    assert configuration(PLAIN, engine) == configuration(ENCRYPTED, engine)


def test_twins_with_pg_tde_differ_in_its_own_settings_and_where_new_tables_go() -> None:
    plain, encrypted = configuration(PLAIN, PG_TDE), configuration(ENCRYPTED, PG_TDE)
    differing = {name for name in encrypted if encrypted[name] != plain.get(name)}
    assert differing == {"default_table_access_method", "pg_tde.cipher", "pg_tde.wal_encrypt"}
    assert plain.items() <= encrypted.items()
    told = PG_TDE.differing_settings(ENCRYPTED)
    assert {line.split(" = ")[0] for line in told} == differing


def test_twins_with_the_fork_differ_in_its_settings_and_their_ciphers_are_those_of_data_files() -> None:
    assert set(FORK.ciphers) == {"none", "aes-128", "aes-256"}
    settings = ServerSettings("aes-256", "+temp")
    options = configuration(settings, FORK)
    assert options["shared_preload_libraries"] == "'open_pg_tde'"
    assert (options["open_pg_tde.cipher"], options["open_pg_tde.data_cipher"]) == ("'aes_256'", "'aes_256_xts'")
    assert (options["open_pg_tde.wal_encrypt"], options["encrypt_temp_files"]) == ("off", "on")
    statements = " ".join(FORK.before_load_sql(settings))
    assert "CREATE EXTENSION open_pg_tde" in statements
    assert statements.count("SELECT open_pg_tde_") == 4
    found = {"open_pg_tde.cipher": "aes_256", "open_pg_tde.data_cipher": "aes_256_xts", "encrypt_temp_files": "on"}
    found |= {"open_pg_tde.wal_encrypt": "off", "plain tables and indexes": "0", "open_pg_tde version": "2.4"}
    assert set(found) == set(FORK.cipher_facts(settings))
    assert FORK.cipher_fault(settings, found) is None
    wrong = FORK.cipher_fault(settings, found | {"open_pg_tde.data_cipher": "aes_128"})
    assert all(word in str(wrong) for word in ("open_pg_tde.data_cipher", "aes_128", "aes_256_xts"))
    assert "encrypt_temp_files" in str(FORK.cipher_fault(ServerSettings("aes-256", "data"), found))


def test_only_the_fork_answers_for_temporary_files_and_only_where_the_scope_has_them() -> None:
    def answers(engine: Postgres, scope: str) -> bool:
        parts = engine.evidence.parts_of("PostgreSQL")
        return FileClass.TEMP in covered(parts, ServerSettings("aes-256", scope))

    assert answers(FORK, "+temp")
    assert answers(FORK, "all")
    assert not answers(FORK, "+log")
    assert not answers(PG_TDE, "all")


@pytest.mark.parametrize(
    "engine", [GOCRYPTFS, FOLDER, PG_TDE, FORK], ids=["gocryptfs", "folder", "pg_tde", "open_pg_tde"]
)
def test_every_cipher_has_a_plain_twin_that_differs_in_nothing(engine: Postgres) -> None:
    assert engine.ciphers[0] == "none"
    assert engine.scopes[0] == PLAIN.scope
    assert engine.differing_settings(PLAIN) == engine.cautions(PLAIN) == ()
    assert recipe(PLAIN, engine=engine).mount is None
    assert engine.home(PLAIN) is None


def test_buffers_are_what_the_cache_says_or_hold_what_all_connections_pin() -> None:
    def kib(settings: ServerSettings) -> int:
        return int(configuration(settings)["shared_buffers"].removesuffix("kB"))

    assert kib(dataclasses.replace(PLAIN, cache_bytes=3 << 20)) == 3 << 10
    assert kib(dataclasses.replace(PLAIN, cache_bytes=1)) == 128
    few, many = (kib(dataclasses.replace(PLAIN, connections=connections)) for connections in (1, 2048))
    assert 128 < few < 2048 * 16 < many


def test_there_are_connections_for_the_load_and_for_questions_beside_it() -> None:
    assert int(configuration(dataclasses.replace(PLAIN, connections=64))["max_connections"]) >= 64 + 4


@pytest.mark.parametrize(
    ("settings", "fsync", "synchronous_commit"),
    [
        (PLAIN, "on", "on"),
        (dataclasses.replace(PLAIN, is_durable=False), "on", "off"),
        (dataclasses.replace(PLAIN, is_loading=True), "off", "off"),
    ],
    ids=["durable", "not durable", "loading"],
)
def test_commits_reach_the_disk_when_they_are_measured_and_must(
    settings: ServerSettings, fsync: str, synchronous_commit: str
) -> None:
    options = configuration(settings)
    assert (options["fsync"], options["synchronous_commit"]) == (fsync, synchronous_commit)


def test_the_greeting_is_a_whole_startup_message_of_the_user_that_connects() -> None:
    made = recipe(PLAIN)
    length, protocol = struct.unpack("!II", made.greeting.says[:8])
    assert (length, protocol) == (len(made.greeting.says), 0x30000)
    fields = made.greeting.says[8:].split(b"\0")
    assert fields[:4] == [b"user", str(made.connect["user"]).encode(), b"database", b"postgres"]
    assert made.greeting.answer == b"R"


@pytest.mark.parametrize("cipher", ["aes-256", "chacha20"])
def test_the_key_goes_to_gocryptfs_by_its_standard_input_and_nowhere_else(cipher: str) -> None:
    made = recipe(ServerSettings(cipher, "all"), KEY)
    assert made.mount is not None
    commands = (made.mount.make, made.mount.serve, made.serve, *made.initialize)
    assert [command.secret for command in commands[:2]] == [KEY, KEY]
    assert all(KEY not in " ".join(command.argv) for command in commands)
    assert all(KEY not in "".join(command.environment.values()) for command in commands)
    assert all(KEY not in text for text in made.files.values())
    assert KEY not in repr(made)


def test_gocryptfs_encrypts_below_the_data_directory_with_the_cipher_that_was_asked_for() -> None:
    aes, chacha = (recipe(ServerSettings(cipher, "all"), KEY).mount for cipher in ("aes-256", "chacha20"))
    assert aes is not None
    assert chacha is not None
    assert (aes.at, aes.ciphertext.parent) == (PLACE.data, PLACE.folder)
    assert "-xchacha" not in aes.make.argv
    assert set(chacha.make.argv) - set(aes.make.argv) == {"-xchacha"}
    assert aes.serve.argv == chacha.serve.argv
    assert "-openssl=false" in aes.serve.argv


def test_a_folder_of_the_users_holds_the_encrypted_twins_only() -> None:
    directory = ServerSettings("directory", "all")
    assert (FOLDER.home(directory), FOLDER.home(PLAIN)) == (Path("/mnt/safe"), None)
    assert "LUKS2 (dm-crypt) under ext4" in FOLDER.differing_settings(directory)[0]
    assert "'/mnt/safe/'" in FOLDER.cipher_facts(directory)["in the encrypted folder"]


def test_the_log_is_encrypted_by_pg_tde_where_the_scope_says_so_and_its_key_is_there() -> None:
    def wal(scope: str, *, is_loading: bool = False) -> str:
        return configuration(ServerSettings("aes-128", scope, is_loading=is_loading), PG_TDE)["pg_tde.wal_encrypt"]

    assert {scope: wal(scope) for scope in ("data", "+log", "all")} == {"data": "off", "+log": "on", "all": "on"}
    assert wal("all", is_loading=True) == "off"


def test_pg_tde_draws_its_key_before_tables_are_made_and_keeps_it_outside_the_data_directory() -> None:
    statements = PG_TDE.before_load_sql(ENCRYPTED)
    assert statements[:2] == ("CREATE EXTENSION pg_tde", "CREATE EXTENSION pgcrypto")
    assert [sql.split("(")[0].removeprefix("SELECT pg_tde_") for sql in statements[2:]] == [
        "add_global_key_provider_file",
        "create_key_using_global_key_provider",
        "set_default_key_using_global_key_provider",
        "set_server_key_using_global_key_provider",
    ]
    keyring = Path(statements[2].split("'")[3])
    assert (PLACE.data / keyring).parent.resolve() == PLACE.keys.resolve()
    assert PG_TDE.before_load_sql(PLAIN) == statements[:2]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pg_tde.cipher", "aes_128"),
        ("pg_tde.cipher", ""),
        ("pg_tde.wal_encrypt", "off"),
        ("plain tables and indexes", "3"),
    ],
)
def test_a_pg_tde_that_is_not_in_force_is_found(name: str, value: str) -> None:
    as_asked = {"pg_tde.cipher": "aes_256", "pg_tde.wal_encrypt": "on", "plain tables and indexes": "0"}
    assert PG_TDE.cipher_fault(ENCRYPTED, as_asked) is None
    fault = PG_TDE.cipher_fault(ENCRYPTED, as_asked | {name: value})
    assert has([fault], "settings-not-in-force", settings=name, differences=Part(as_asked[name]))


def test_a_gocryptfs_that_is_not_there_is_found_and_so_is_one_under_a_plain_twin() -> None:
    assert GOCRYPTFS.cipher_fault(ENCRYPTED, {"file system": "fuse.gocryptfs"}) is None
    assert GOCRYPTFS.cipher_fault(PLAIN, {"file system": "xfs"}) is None
    assert GOCRYPTFS.cipher_fault(ENCRYPTED, {"file system": "xfs"}) is not None
    assert GOCRYPTFS.cipher_fault(PLAIN, {"file system": "fuse.gocryptfs"}) is not None


def test_encrypted_twins_on_gocryptfs_say_that_they_pay_for_the_file_system_too() -> None:
    file_system, cache = map(str, GOCRYPTFS.cautions(ENCRYPTED))
    assert "FUSE" in file_system
    assert "work=cold" in cache


@pytest.mark.parametrize(
    ("version", "asked", "not_asked"),
    [
        ("13.14", ["pg_stat_bgwriter", "buffers_backend"], ["pg_stat_io", "pg_stat_checkpointer"]),
        ("16.2", ["pg_stat_bgwriter", "pg_stat_io"], ["buffers_backend", "pg_stat_checkpointer"]),
        ("17.1", ["pg_stat_checkpointer", "sum(writes)"], ["pg_stat_bgwriter", "write_bytes"]),
        ("18.0", ["pg_stat_checkpointer", "write_bytes"], ["pg_stat_bgwriter", "sum(writes)"]),
    ],
)
def test_each_version_is_asked_for_the_views_it_has(version: str, asked: list[str], not_asked: list[str]) -> None:
    text = "\n".join(Postgres(binary(version)).counters)
    assert [part for part in asked if part not in text] == []
    assert [part for part in not_asked if part in text] == []
    assert bool(Postgres(binary(version)).flushing) == (int(version.split(".")[0]) >= 15)


def test_the_proof_reads_as_many_pages_as_it_is_asked_to_and_no_more_than_a_segment_has_at_once() -> None:
    for pages in (1, 1000, 2000, 2500):
        sql = GOCRYPTFS.proof_sql(ENCRYPTED, pages)["encrypted"]
        found = re.search(r"0 \* number, (\d+)\).*generate_series\(1, (\d+)\)", sql)
        assert found, sql
        size, reads = map(int, found.groups())
        assert size <= 16 << 20
        assert pages * 16384 - reads < size * reads <= pages * 16384


def test_a_twin_below_which_nothing_of_tdeltas_decrypts_has_nothing_to_prove() -> None:
    assert GOCRYPTFS.proof_sql(PLAIN, 1000) == {}
    assert FOLDER.proof_sql(ServerSettings("directory", "all"), 1000) == {}


def test_memory_of_a_session_is_that_of_each_of_its_operations() -> None:
    found = configuration(dataclasses.replace(PLAIN, session_bytes=1 << 20))
    assert found == configuration(dataclasses.replace(ENCRYPTED, session_bytes=1 << 20))
    assert (found["work_mem"], found["hash_mem_multiplier"], found["temp_buffers"]) == ("1024kB", "1.0", "1024kB")
    assert {"work_mem", "temp_buffers"} & set(configuration(PLAIN)) == set()
    least = configuration(dataclasses.replace(PLAIN, session_bytes=1))
    assert (least["work_mem"], least["temp_buffers"]) == ("64kB", "800kB")

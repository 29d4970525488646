import contextlib
import ctypes
import dataclasses
import fcntl
import os
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.acting import check_backups, check_restarts, performed
from support.processes import until
from support.refused import Part, has, refused
from support.running import require
from tdelta.engines.postgres.driver import protected
from tdelta.engines.postgres.server import Postgres
from tdelta.engines.postgres.storage import EncryptedFolder
from tdelta.engines.postgres.tde import PgTde
from tdelta.engines.server.actions import TwinRows
from tdelta.engines.server.base import ServerSettings, recipe_of
from tdelta.errors import EnvironmentFault, ServerFault, UsageError
from tdelta.measure.aes import CryptoKind, cannot_hide, hidden_environment
from tdelta.measure.encrypted_folders import encryption_of, require_encrypted
from tdelta.measure.procfs import read_text
from tdelta.processes.actions import Halt
from tdelta.processes.mounts import is_mounted, mounts_below
from tdelta.processes.process_tree import shared_memory, usage
from tdelta.processes.servers.copies import copy_data
from tdelta.processes.servers.recipes import Recipe, place_for
from tdelta.processes.servers.server import Server

from .servers import (
    ENCRYPTED,
    INSTALL,
    KEY,
    PLAIN,
    answers,
    files_with,
    made,
    psql,
    running,
    stock_binary,
    stock_engine,
)

MARKER = b"tdelta-marker-9f27c1"


@pytest.fixture(scope="module")
def engine() -> Postgres:
    return stock_engine()


@pytest.fixture(scope="module")
def plain(engine: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(engine, tmp_path_factory.mktemp("plain") / "server", PLAIN) as server:
        yield marked(engine, server)


@pytest.fixture(scope="module")
def encrypted(engine: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(engine, tmp_path_factory.mktemp("encrypted") / "server", ENCRYPTED) as server:
        yield marked(engine, server)


@pytest.fixture(params=["plain", "encrypted"])
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


def marked(engine: Postgres, server: Server) -> Server:
    psql(
        server,
        "CREATE TABLE notes (id int PRIMARY KEY, note text)",
        f"INSERT INTO notes SELECT n, '{MARKER.decode()}-' || n FROM generate_series(1, 5000) AS n",
        "CREATE INDEX ON notes (note)",
        "CREATE TABLE tdelta_marker AS SELECT 16 AS id, gen_random_uuid()::text::bytea AS marker",
        *engine.after_load_sql(PLAIN, ["notes"]),
    )
    return server


def rows(server: Server) -> str:
    return psql(server, "SELECT count(*), sum(id) FROM notes WHERE note IS NOT NULL")


def processes_of(server: Server) -> dict[str, int]:
    return {name.strip(): pid for pid in server.pids() if (name := read_text(Path(f"/proc/{pid}/comm")))}


def shown_by(server: Server, source: str) -> list[bytes]:
    """The content of ``/proc`` for each process of a server that has not ended."""
    shown = []
    for pid in server.pids():
        with contextlib.suppress(OSError):
            shown.append(Path(f"/proc/{pid}/{source}").read_bytes())
    return shown


def test_twins_share_every_setting_that_is_compared(engine: Postgres, plain: Server, encrypted: Server) -> None:
    settings = answers(plain, engine.facts)
    assert settings == answers(encrypted, engine.facts)
    assert (settings["data_checksums"], settings["fsync"], settings["collation"]) == ("on", "on", "C.UTF-8")


def test_nobody_reaches_a_server_but_through_its_private_socket(server: Server) -> None:
    assert psql(server, "SHOW listen_addresses") == ""
    socket = server.recipe.place.socket
    assert socket.stat().st_mode & 0o077 == 0
    assert socket.parent.stat().st_mode & 0o077 == 0


def test_a_stopped_twin_is_not_mounted(encrypted: Server) -> None:
    data = encrypted.recipe.place.data
    assert is_mounted(data)
    encrypted.stop()
    try:
        assert not is_mounted(data)
        assert list(data.iterdir()) == []
    finally:
        encrypted.start()


def test_plaintext_is_in_the_plain_twins_files_and_in_none_of_the_encrypted_twins(
    plain: Server, encrypted: Server
) -> None:
    mount = encrypted.recipe.mount
    assert mount is not None
    seen = files_with(plain.recipe.place.data, MARKER)
    assert {part.split("/")[0] for part in seen} == {"base", "pg_wal"}
    assert files_with(encrypted.recipe.place.data, MARKER), "the mount itself must show it, or nothing was searched"
    encrypted.stop()
    try:
        ciphertext = [path for path in mount.ciphertext.rglob("*") if path.is_file()]
        assert sum(path.stat().st_size for path in ciphertext) > 20 << 20
        assert files_with(encrypted.recipe.place.folder, MARKER) == []
        assert [path for path in ciphertext if path.name in ("PG_VERSION", "pg_control")] == []
    finally:
        encrypted.start()


def test_no_key_is_among_arguments_environments_or_files(encrypted: Server) -> None:
    shown = {source: shown_by(encrypted, source) for source in ("cmdline", "environ")}
    assert any(b"gocryptfs" in text for text in shown["cmdline"])
    assert any(b"PATH=" in text for text in shown["environ"])
    assert [text for texts in shown.values() for text in texts if KEY.encode() in text] == []
    encrypted.stop()
    try:
        assert files_with(encrypted.recipe.place.folder, KEY.encode()) == []
    finally:
        encrypted.start()


def test_the_file_system_is_one_of_the_servers_processes_so_that_its_cpu_counts(
    plain: Server, encrypted: Server
) -> None:
    assert "gocryptfs" in processes_of(encrypted)
    assert "gocryptfs" not in processes_of(plain)


def test_a_twin_is_told_from_one_that_is_not_encrypted_as_asked(
    engine: Postgres, plain: Server, encrypted: Server
) -> None:
    found = {server: answers(server, engine.cipher_facts(ENCRYPTED)) for server in (plain, encrypted)}
    assert engine.cipher_fault(PLAIN, found[plain]) is None
    assert engine.cipher_fault(ENCRYPTED, found[encrypted]) is None
    assert has([engine.cipher_fault(ENCRYPTED, found[plain])], "data-directory", wanted="on fuse.gocryptfs")
    assert engine.cipher_fault(PLAIN, found[encrypted])


def test_what_a_session_did_is_counted_once_it_was_told_to_say(engine: Postgres, server: Server) -> None:
    before = counters(engine, server)
    work = (
        "SET work_mem = '64kB'",
        "SELECT count(*) FROM (SELECT note FROM notes ORDER BY md5(note)) AS sorted",
        "UPDATE notes SET note = note",
        "CHECKPOINT",
    )
    address = [Path(server.recipe.serve.argv[0]).with_name("psql"), "-X", "-q", "-A", "-t", "-d", "tdelta"]
    address += ["-h", server.recipe.place.socket.parent, "-U", "postgres"]
    with subprocess.Popen(address, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as session:
        assert session.stdin is not None
        assert session.stdout is not None
        session.stdin.write(";\n".join((*work, *engine.flushing, "SELECT 'said'")) + ";\n")
        session.stdin.flush()
        while session.stdout.readline().strip() != "said":  # the session stays open: its end would tell, too
            pass
        after = counters(engine, server)
        session.stdin.close()
    grown = {name: after[name] - before[name] for name in after}
    assert grown["buffer_requests"] > 5000
    assert grown["temporary_files"] >= 1
    assert grown["temporary_bytes"] > 0
    assert grown["pages_written"] > 0
    assert grown["log_bytes"] > 5000 * 50
    assert grown["checkpoints"] == 1


def counters(engine: Postgres, server: Server) -> dict[str, int]:
    lines = [line for query in engine.counters for line in psql(server, query).splitlines()]
    return {name: int(value) for name, value in (line.split("|") for line in lines)}


def test_misses_of_the_buffers_are_counted_after_a_restart(engine: Postgres, server: Server) -> None:
    server.stop()
    server.start()
    before = counters(engine, server)
    rows(server)
    after = counters(engine, server)
    pages = int(psql(server, "SELECT pg_relation_size('notes') / 8192"))
    assert after["pages_read"] - before["pages_read"] >= pages
    assert after["buffer_requests"] > before["buffer_requests"]


@pytest.mark.parametrize("settings", [ENCRYPTED, ServerSettings("chacha20", "all")], ids=lambda s: s.cipher)
def test_a_copy_of_a_loaded_server_starts_elsewhere_under_other_settings(
    engine: Postgres, tmp_path: Path, settings: ServerSettings
) -> None:
    loading = dataclasses.replace(settings, is_loading=True)
    with running(engine, tmp_path / "loaded", loading) as loaded:
        marked(engine, loaded)
        loaded.stop()
        with made(engine, tmp_path / "copy", dataclasses.replace(settings, connections=3)) as copy:
            copy_data(loaded.recipe, copy.recipe)
            copy.start()
            assert rows(copy) == "5000|12502500"
            assert engine.cipher_fault(settings, answers(copy, engine.cipher_facts(settings))) is None
            assert psql(copy, "SHOW fsync") == "on"


def stored(server: Server) -> Path:
    recipe = server.recipe
    return recipe.mount.ciphertext if recipe.mount else recipe.place.data


def test_a_wrong_key_mounts_nothing_and_says_so(engine: Postgres, tmp_path: Path) -> None:
    with made(engine, tmp_path / "server", ENCRYPTED) as server:
        server.start(initialize=True)
        server.stop()
        ciphertext = stored(server)
        recipe = recipe_of(engine, place_for(tmp_path / "other", engine.socket_name), ENCRYPTED, "0" * 64)
        with Server(recipe) as other:
            shutil.copytree(ciphertext, stored(other))
            with refused(ServerFault, "database-says", said=Part("gocryptfs")) as raised:
                other.start()
        assert "password incorrect" in str(raised.value).lower()
        assert KEY not in str(raised.value)
        assert "0" * 64 not in str(raised.value)


PROGRAM = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from postgres.servers import ENCRYPTED, running, stock_engine
with running(stock_engine(), Path(sys.argv[2]), ENCRYPTED) as server:
    print(*server.pids(), flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("is_frozen", [False, True], ids=["awake", "frozen"])
def test_a_killed_parent_leaves_no_mount_process_folder_or_shared_memory(tmp_path: Path, *, is_frozen: bool) -> None:
    require(shutil.which("gocryptfs"), INSTALL)
    folder = tmp_path / "run" / "server"
    program = PROGRAM.replace("print(", "server.freeze(); print(") if is_frozen else PROGRAM
    arguments = [sys.executable, "-c", program, str(Path(__file__).parent.parent), str(folder)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        try:
            assert mounts_below(folder)
            assert len(pids) > 4
            assert (shared := shared_memory(parent.pid))
        finally:
            parent.kill()
    wait_until_gone(folder, pids)
    assert not any(path.exists() for path in shared)
    assert mounts_below(tmp_path) == ()
    assert not folder.exists()
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []


def wait_until_gone(folder: Path, pids: list[int]) -> None:
    until(lambda: not folder.exists() and not any(Path(f"/proc/{pid}").exists() for pid in pids))


def test_a_server_whose_file_system_dies_is_ended_and_leaves_nothing(engine: Postgres, tmp_path: Path) -> None:
    with running(engine, tmp_path / "server", ENCRYPTED) as server:
        os.kill(processes_of(server)["gocryptfs"], signal.SIGKILL)
    assert mounts_below(tmp_path) == ()
    assert list(tmp_path.iterdir()) == []


def test_the_aes_instructions_are_hidden_from_the_file_system(engine: Postgres, tmp_path: Path) -> None:
    if reason := cannot_hide(CryptoKind(engine.crypto)):
        pytest.skip(reason)
    hidden = hidden_environment(CryptoKind(engine.crypto))
    with running(engine, tmp_path / "server", dataclasses.replace(ENCRYPTED, aes_instructions="off")) as server:
        pid = processes_of(server)["gocryptfs"]
        assert b"GODEBUG=" + hidden["GODEBUG"].encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")


def test_the_proof_reads_pages_through_the_file_system(engine: Postgres, encrypted: Server) -> None:
    queries = engine.proof_sql(ENCRYPTED, 1500)
    assert psql(encrypted, queries["encrypted"]) == str(1500 * 16384)
    assert psql(encrypted, queries["plain"]) == "2"


def test_the_proof_of_pg_tde_encrypts_in_the_servers_own_process(plain: Server) -> None:
    psql(plain, "CREATE EXTENSION pgcrypto")
    assert [psql(plain, sql) for sql in PgTde(stock_binary()).proof_sql(PLAIN, 7).values()] == [str(7 * 16384)] * 2


@pytest.fixture
def fscrypt(tmp_path: Path) -> Iterator[Path]:
    """A folder with an fscrypt policy, on a file system within a file."""
    if os.geteuid() != 0 or not shutil.which("mkfs.ext4"):
        pytest.skip("fscrypt needs root and mkfs.ext4")
    image, mounted = tmp_path / "image", tmp_path / "mounted"
    mounted.mkdir()
    with image.open("wb") as file:
        file.truncate(256 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-O", "encrypt", image], check=True)
    if subprocess.run(["mount", "-o", "loop", image, mounted], capture_output=True, check=False).returncode != 0:
        pytest.skip("no loop devices here")
    try:
        yield with_policy(mounted)
    finally:
        subprocess.run(["umount", "-l", mounted], check=True)


def with_policy(mounted: Path) -> Path:
    """Add a key to a file system and a folder that is encrypted with it (linux/fscrypt.h)."""
    folder = mounted / "safe"
    folder.mkdir(mode=0o700)
    key = bytearray(struct.pack("<II32sII32x", 2, 0, b"", 64, 0) + os.urandom(64))
    root, safe = os.open(mounted, os.O_RDONLY), os.open(folder, os.O_RDONLY)
    try:
        fcntl.ioctl(root, 0xC0506617, key, True)
        fcntl.ioctl(safe, 0x800C6613, struct.pack("<BBBB4x16s", 2, 1, 4, 2, bytes(key[8:24])))
    except OSError:
        subprocess.run(["umount", mounted], check=False)
        pytest.skip("this kernel has no fscrypt")
    finally:
        os.close(root)
        os.close(safe)
    return folder


def test_a_folder_of_the_users_is_used_if_it_is_encrypted(fscrypt: Path, tmp_path: Path) -> None:
    assert encryption_of(fscrypt.parent) is None
    with pytest.raises(UsageError, match=r"requires a folder with dm-crypt.*found ext4"):
        require_encrypted(fscrypt.parent)
    engine, settings = protected(stock_binary(), {"encrypted_dir": fscrypt}), ServerSettings("directory", "all")
    assert isinstance(engine, EncryptedFolder)
    assert (engine.path, engine.found) == (fscrypt, "fscrypt (AES-256-XTS) under ext4")
    home = engine.home(settings)
    assert home == fscrypt
    assert engine.home(PLAIN) is None
    with running(engine, home / "run" / "server", settings) as server, running(engine, tmp_path / "p", PLAIN) as plain:
        inside, outside = (answers(one, engine.cipher_facts(settings)) for one in (server, plain))
        assert engine.cipher_fault(settings, inside) is None
        assert engine.cipher_fault(PLAIN, outside) is None
        assert has([engine.cipher_fault(settings, outside)], "data-directory", wanted=Part(str(str(fscrypt))))
        marked(engine, server)
        server.stop()
        ctypes.CDLL(None).sync()
        image = (tmp_path / "image").read_bytes()
    assert MARKER not in image


# The tests below write and recycle the log, in which those above look for markers.


def test_a_server_is_started_anew_after_a_crash_and_stormed(engine: Postgres, request: pytest.FixtureRequest) -> None:
    for name, settings in (("plain", PLAIN), ("encrypted", ENCRYPTED)):
        server: Server = request.getfixturevalue(name)
        check_restarts(engine, server, settings, "notes")
        assert rows(server) == "5000|12502500"
        asked, every = server.usage().syscall_written_bytes, usage(server.supervisor_pid).syscall_written_bytes
        assert (every > 1.4 * asked) == settings.is_encrypted, "what passes through a file system is counted once"


def test_a_base_backup_of_what_a_file_system_encrypts_is_plain_and_backups_are_restored(
    engine: Postgres, encrypted: Server, tmp_path: Path
) -> None:
    place = place_for(tmp_path / "beside", engine.socket_name)
    notes = TwinRows((("notes", ("id", "note")),), (MARKER,))
    check_backups(engine, encrypted, ENCRYPTED, notes, lambda other: recipe_of(engine, place, other, KEY), {"tables"})
    assert not place.folder.exists()


def test_a_plain_server_is_copied_into_encrypted_storage_while_it_works(
    engine: Postgres, plain: Server, tmp_path: Path
) -> None:
    place = place_for(tmp_path / "beside", engine.socket_name)
    asked: list[ServerSettings] = []

    def beside(settings: ServerSettings) -> Recipe:
        asked.append(settings)
        return recipe_of(engine, place, settings, KEY)

    settings = dataclasses.replace(PLAIN, becomes="aes-256")
    with performed(engine, plain, settings, "encrypt:rate=500", "notes", beside) as outcome:
        assert [(one.cipher, one.scope, one.becomes) for one in asked] == [("aes-256", "all", "")]
        assert outcome.counters["backup_ns"] > 0 < outcome.counters["start_ns"]
        assert outcome.counters["converted_bytes"] > 20 << 20
        assert outcome.programs.cpu_user_seconds > 0
        assert files_with(place.data, MARKER), "it is shown by the mount"
        assert files_with(place.folder / "ciphertext", MARKER) == []
        assert rows(plain) == "5000|12502500"
    assert not place.folder.exists()


def test_a_base_backup_ends_when_the_action_is_to_end(engine: Postgres, plain: Server, tmp_path: Path) -> None:
    halt = Halt()
    halt.ask()
    place = place_for(tmp_path / "beside", engine.socket_name)
    settings = dataclasses.replace(PLAIN, becomes="aes-256")
    with (
        refused(EnvironmentFault, "action-stopped"),
        performed(
            engine, plain, settings, "encrypt:rate=1", "notes", lambda other: recipe_of(engine, place, other, KEY), halt
        ),
    ):
        pass
    assert not place.folder.exists()

"""Tests for every private server of the MySQL family. One class of tests an engine; SQL goes by ``mariadb``."""

import dataclasses
import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from support.acting import check_backups, check_restarts
from support.disks import small_disk
from support.processes import is_gone, until
from support.refused import Part, refused
from support.running import require, server_of
from support.runs import processes_at
from support.thorough import draws
from tdelta.engines.mariadb.driver import MariaDb
from tdelta.engines.mysql.driver import MySql
from tdelta.engines.server.actions import TwinRows
from tdelta.engines.server.base import DATABASE, ServerBinary, ServerSettings, recipe_of
from tdelta.errors import ServerFault, StorageFault
from tdelta.evidence import FileClass, TwinFile, search
from tdelta.measure.space import allocated
from tdelta.processes import TwinFolder
from tdelta.processes.servers.copies import copy_data
from tdelta.processes.servers.recipes import Recipe, place_for
from tdelta.processes.servers.server import Server, greets

Engine = MariaDb | MySql

KEY = "00112233445566778899aabbccddeeff" * 2
MARKER = "a marker that nobody encrypts by chance"
ROWS = 20_000
PATIENCE_SECONDS = 120.0
KILLS = draws(3, 10)
ENGINES: dict[str, Callable[[ServerBinary], Engine]] = {"mariadb": MariaDb, "mysql": MySql}
FILL = (
    f"CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(200)) AS WITH RECURSIVE s AS (SELECT 1 n UNION ALL"
    f" SELECT n + 1 FROM s WHERE n < 200) SELECT '{MARKER}' a FROM s x, s y LIMIT {ROWS}"
)


def found(kind: str) -> Engine:
    require(shutil.which("mariadb"), "apt-get install mariadb-client")
    return ENGINES[kind](server_of(kind))


def sql(recipe: Recipe, statement: str, database: str = "") -> str:
    client = ["mariadb", "--no-defaults", "-N", "-B", "-u", DATABASE, "-S", str(recipe.place.socket), "-e", statement]
    ran = subprocess.run([*client, database], capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def settings(scope: str, cipher: str = "aes-256") -> ServerSettings:
    return ServerSettings(
        cipher if scope != "none" else "none",
        scope,
        cache_bytes=64 << 20,
        has_binlog=scope in ("+binlog", "all"),
        is_durable=False,
    )


def recipe(engine: Engine, folder: Path, wanted: ServerSettings, key: str = KEY) -> Recipe:
    return recipe_of(engine, place_for(folder), wanted, key if wanted.is_encrypted else None)


def fill(engine: Engine, server: Server, wanted: ServerSettings) -> None:
    for statement in engine.schema_sql(wanted):
        sql(server.recipe, statement)
    sql(server.recipe, FILL, DATABASE)
    for statement in engine.after_load_sql(wanted, ["t"]):
        sql(server.recipe, f"DELIMITER //\n{statement}//", DATABASE)  # the client would cut it at its semicolons


def count(server: Server) -> str:
    return sql(server.recipe, "SELECT COUNT(*) FROM t WHERE a LIKE 'a marker%'", DATABASE)


def cipher_facts(engine: Engine, server: Server, wanted: ServerSettings) -> dict[str, str]:
    return {name: sql(server.recipe, query) for name, query in engine.cipher_facts(wanted).items()}


def counters(engine: Engine, server: Server) -> dict[str, int]:
    lines = [line.split("\t") for query in engine.counters for line in sql(server.recipe, query).splitlines()]
    return {name: int(value) for name, value in lines}


def shows_marker(server: Server) -> bool:
    """Whether the table's file can be read by anyone who has it."""
    return MARKER.encode() in (server.recipe.place.data / DATABASE / "t.ibd").read_bytes()


OWNER = """
import sys
from pathlib import Path
from tdelta.processes import TwinFolder
from tdelta.processes.servers.server import Server
sys.path.insert(0, sys.argv[3])
from support.serving import found, recipe, settings

engine = found(sys.argv[1])
folder = TwinFolder(Path(sys.argv[2]), "r1")
print("begun", flush=True)
while True:
    with Server(recipe(engine, folder.path / "twin", settings("all"))) as server:
        server.start(initialize=True)
        server.freeze()
        server.thaw()
        server.stop()
"""


class PrivateServers:
    """The tests. ``kind`` is the engine's; ``wont_start`` what the server says of an option that it does not know."""

    kind: ClassVar[str]
    wont_start: ClassVar[str]

    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls) -> Engine:
        return found(cls.kind)

    @pytest.fixture(scope="class", params=["none", "all"])
    @classmethod
    def loaded(
        cls, request: pytest.FixtureRequest, engine: Engine, tmp_path_factory: pytest.TempPathFactory
    ) -> Iterator[Server]:
        """A server that was loaded and stopped: with everything encrypted, and with nothing."""
        wanted = dataclasses.replace(settings(request.param), is_loading=True)
        made = recipe(engine, tmp_path_factory.mktemp(cls.kind) / request.param.strip("+"), wanted)
        with Server(made) as server:
            server.start(initialize=True)
            fill(engine, server, wanted)
            server.stop()
            yield server

    @pytest.fixture
    def scope(self, loaded: Server) -> str:
        return loaded.recipe.place.folder.name

    def test_a_copy_starts_under_another_folder_with_the_rows(
        self, engine: Engine, loaded: Server, scope: str, tmp_path: Path
    ) -> None:
        wanted = settings(scope)
        with Server(recipe(engine, tmp_path / "copy", wanted)) as server:
            copy_data(loaded.recipe, server.recipe)
            server.start()
            assert count(server) == str(ROWS)
            assert shows_marker(server) == (scope == "none")
            assert engine.cipher_fault(wanted, cipher_facts(engine, server, wanted)) is None
            self.check_counters(engine, server, wanted)
            self.check_settling(engine, server)
            self.check_secrecy(server)
            self.check_life(server)
            check_restarts(engine, server, wanted, "t")
            if wanted.is_encrypted:
                rows = TwinRows((("t", ("id", "a")),), (MARKER.encode(),))
                check_backups(engine, server, wanted, rows, lambda _: recipe(engine, tmp_path / "other", wanted), set())
            assert count(server) == str(ROWS)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("encrypted", ["none", "data"])
    def test_pages_are_compressed_before_they_are_encrypted(
        self, engine: Engine, encrypted: str, tmp_path: Path
    ) -> None:
        wanted = dataclasses.replace(settings(encrypted), compression="zlib", is_loading=True)
        with Server(recipe(engine, tmp_path / "twin", wanted)) as server:
            server.start(initialize=True)
            fill(engine, server, wanted)
            facts = cipher_facts(engine, server, wanted)
            assert engine.cipher_fault(wanted, facts) is None
            other = dataclasses.replace(wanted, compression="none")
            assert "compressed" in str(engine.cipher_fault(other, facts))
            server.stop()
            path = server.recipe.place.data / DATABASE / "t.ibd"
            found = path.stat()
            assert allocated(path) < 0.9 * found.st_size  # most of a small table is allocated ahead by MySQL
            files = [TwinFile("t.ibd", str(path), FileClass.TABLES, (found.st_dev, found.st_ino))]
            as_it_lies, inflated = (
                search(files, [MARKER.encode()], inflate)[0].markers_found
                for inflate in (None, engine.evidence.inflating(is_compressed=True))
            )
            assert as_it_lies == 0
            assert (inflated > ROWS / 2) == (encrypted == "none")
            assert encrypted == "none" or inflated == 0

    def check_counters(self, engine: Engine, server: Server, wanted: ServerSettings) -> None:
        server.stop()
        server.start()
        before = counters(engine, server)
        count(server)
        after = counters(engine, server)
        assert after["pages_read"] > before["pages_read"] + 50
        assert after["buffer_requests"] > before["buffer_requests"]
        if "pages_decrypted" in after:
            assert (after["pages_decrypted"] > before["pages_decrypted"] + 50) == wanted.is_encrypted

    def check_settling(self, engine: Engine, server: Server) -> None:
        sql(server.recipe, "UPDATE t SET a = CONCAT(a, id)", DATABASE)
        settling = engine.settling
        for statement in settling.statements:
            sql(server.recipe, statement)
        assert settling.query is not None
        query = settling.query
        until(lambda: int(sql(server.recipe, query)) <= settling.at_most)

    def check_secrecy(self, server: Server) -> None:
        for pid in server.pids():
            for name in ("cmdline", "environ"):
                assert KEY[:32].encode() not in Path(f"/proc/{pid}/{name}").read_bytes()
        assert KEY[:32] not in server.recipe.place.log.read_text()

    def check_life(self, server: Server) -> None:
        first = server.pid
        server.freeze()
        assert server.alive()
        assert not greets(server.recipe.place.socket, server.recipe.greeting)
        server.thaw()
        assert count(server) == str(ROWS)
        server.kill()
        assert is_gone(first)
        server.start()
        assert count(server) == str(ROWS)

    @pytest.mark.parametrize("part", ["data", "+log", "+temp", "+binlog"])
    def test_every_scope_starts_and_is_what_the_server_says(self, engine: Engine, part: str, tmp_path: Path) -> None:
        if part not in engine.scopes:
            pytest.skip(f"{engine.binary.product} has no scope {part}")
        wanted = settings(part)
        with Server(recipe(engine, tmp_path / "twin", wanted)) as server:
            server.start(initialize=True)
            fill(engine, server, wanted)
            facts = cipher_facts(engine, server, wanted)
            assert engine.cipher_fault(wanted, facts) is None
            others = [scope for scope in engine.scopes if scope != part]
            assert all(engine.cipher_fault(settings(scope), facts) for scope in others)

    def test_an_option_that_the_server_does_not_know_is_shown_as_it_says(self, engine: Engine, tmp_path: Path) -> None:
        made = recipe(engine, tmp_path / "twin", settings("none"))
        files = {path: f"{text}no_such_option=1\n" if "[mysqld]" in text else text for path, text in made.files.items()}
        with (
            Server(dataclasses.replace(made, files=files)) as server,
            pytest.raises(ServerFault, match=self.wont_start),
        ):
            server.start(initialize=True)

    def test_a_missing_key_is_a_server_that_will_not_start(
        self, engine: Engine, loaded: Server, scope: str, tmp_path: Path
    ) -> None:
        if scope == "none":
            pytest.skip("it needs none")
        with Server(recipe(engine, tmp_path / "copy", settings("all"))) as server:
            copy_data(loaded.recipe, server.recipe)
            for key in server.recipe.place.keys.iterdir():
                key.unlink()
            with refused(ServerFault, "server-ended") as caught:
                server.start()
            assert KEY[:32] not in str(caught.value)

    def test_a_full_disk_is_said_to_be_full_and_nothing_stays(self, engine: Engine, tmp_path: Path) -> None:
        with small_disk(tmp_path / "tiny", "24m") as tiny:
            with (
                Server(recipe(engine, tiny / "twin", settings("none"))) as server,
                refused(StorageFault, "server-disk-full"),
            ):
                server.start(initialize=True)
            assert list(tiny.iterdir()) == []

    def test_a_copy_that_does_not_fit_is_a_storage_fault(self, engine: Engine, loaded: Server, tmp_path: Path) -> None:
        with (
            small_disk(tmp_path / "tiny", "8m") as tiny,
            Server(recipe(engine, tiny / "twin", settings("none"))) as server,
            refused(StorageFault, "cannot-copy", fault=Part(os.strerror(errno.ENOSPC))),
        ):
            copy_data(loaded.recipe, server.recipe)

    @pytest.mark.parametrize("seed", range(KILLS))
    def test_whenever_tdelta_is_killed_neither_a_process_nor_a_folder_stays(
        self, engine: Engine, seed: int, tmp_path: Path
    ) -> None:
        arguments = [sys.executable, "-c", OWNER, self.kind, str(tmp_path), str(Path(__file__).parents[1])]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as owner:
            assert owner.stdout is not None
            assert owner.stdout.readline() == "begun\n"
            time.sleep(random.Random(seed).uniform(0.0, 4.0))
            assert owner.poll() is None
            owner.send_signal(signal.SIGKILL)
        until(lambda: processes_at(tmp_path) == [])
        # A tdelta that was killed before it had a server leaves its folder to the next run.
        with TwinFolder(tmp_path, "r1"):
            pass
        assert list(tmp_path.iterdir()) == []

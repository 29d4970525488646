import dataclasses
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.acting import performed
from support.processes import until
from support.refused import has
from support.runs import processes_at
from support.serving import (
    FILL,
    ROWS,
    Engine,
    PrivateServers,
    cipher_facts,
    count,
    fill,
    recipe,
    settings,
    shows_marker,
    sql,
)
from tdelta.engines.server.base import DATABASE, ServerSettings
from tdelta.processes.key_service import OPTIONS
from tdelta.processes.servers.copies import copy_data
from tdelta.processes.servers.server import Server

OLDEST = "SELECT MIN(MIN_KEY_VERSION) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION"


def is_served(options: Path) -> bool:
    """Whether somebody answers at the address of a plugin's options."""
    port = re.search(r":(\d+)/", options.read_text())
    assert port
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", int(port[1]))) == 0


def with_keys(keys: str) -> ServerSettings:
    return dataclasses.replace(settings("data"), keys=keys)


class TestMariadb(PrivateServers):
    kind = "mariadb"
    wont_start = "unknown variable 'no_such_option=1'"

    @pytest.mark.parametrize("cipher", ["aes-128", "aes-256-ctr"])
    def test_every_mode_and_length_of_key_is_what_the_server_says(
        self, engine: Engine, cipher: str, tmp_path: Path
    ) -> None:
        wanted = settings("data", cipher)
        with Server(recipe(engine, tmp_path / "twin", wanted)) as server:
            server.start(initialize=True)
            fill(engine, server, wanted)
            server.stop()
            assert not shows_marker(server)
            server.start()
            facts = cipher_facts(engine, server, wanted)
            assert engine.cipher_fault(wanted, facts) is None
            other = settings("data", "aes-128-ctr" if cipher == "aes-128" else "aes-256")
            fault = engine.cipher_fault(other, facts)
            assert has([fault], "settings-not-in-force", settings="file_key_management_encryption_algorithm")

    def test_loading_ends_when_background_encryption_has(self, engine: Engine, tmp_path: Path) -> None:
        wanted = settings("data")
        with Server(recipe(engine, tmp_path / "twin", wanted)) as server:
            server.start(initialize=True)
            sql(server.recipe, "SET GLOBAL innodb_encrypt_tables = OFF")  # whose threads now decrypt
            for statement in (*engine.schema_sql(wanted), f"USE {DATABASE}; {FILL}"):
                sql(server.recipe, statement)
            plain = "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION WHERE MIN_KEY_VERSION = 0"
            until(lambda: sql(server.recipe, plain) != "0")
            sql(server.recipe, "SET GLOBAL innodb_encryption_threads = 0")
            sql(server.recipe, "SET GLOBAL innodb_encryption_threads = 4; SET GLOBAL innodb_encrypt_tables = 'FORCE'")
            (*_, wait) = engine.after_load_sql(wanted, [])
            sql(server.recipe, f"DELIMITER //\n{wait}//")
            assert sql(server.recipe, plain) == "0"
            assert engine.cipher_fault(wanted, cipher_facts(engine, server, wanted)) is None

    @pytest.fixture
    def keyed(self, engine: Engine, tmp_path: Path) -> Iterator[Server]:
        """Encrypted with keys from a file, and stopped."""
        with Server(recipe(engine, tmp_path / "keyed", settings("data"))) as server:
            server.start(initialize=True)
            fill(engine, server, settings("data"))
            server.stop()
            yield server

    @pytest.fixture
    def served(self, engine: Engine, keyed: Server, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
        """A copy, which has the same keys from a service."""
        with Server(recipe(engine, tmp_path / "twin", with_keys(request.param))) as server:
            copy_data(keyed.recipe, server.recipe)
            server.start()
            yield server

    @pytest.mark.parametrize("served", ["vault:latency=2ms"], indirect=True)
    def test_keys_come_from_a_service_that_ends_with_the_server(self, engine: Engine, served: Server) -> None:
        wanted = with_keys("vault:latency=2ms")
        assert engine.cipher_fault(wanted, cipher_facts(engine, served, wanted)) is None
        served.freeze()
        served.thaw()
        assert count(served) == str(ROWS)
        served.stop()
        assert not shows_marker(served)
        assert processes_at(served.recipe.place.folder) == []
        served.start()
        assert count(served) == str(ROWS)

    @pytest.mark.parametrize("served", ["vault"], indirect=True)
    def test_a_rotation_encrypts_every_page_with_a_later_version_of_the_key(
        self, engine: Engine, served: Server
    ) -> None:
        for version in ("3", "5"):
            with performed(engine, served, with_keys("vault"), "rotate:iops=10000", "t") as rotated:
                assert rotated.counters["tablespaces"] > 1
                assert rotated.counters["converted_bytes"] > 1_000_000
                assert sql(served.recipe, OLDEST) == version
        served.stop()
        served.start()
        assert count(served) == str(ROWS)

    @pytest.mark.parametrize("served", ["vault-down"], indirect=True)
    def test_a_server_that_has_started_goes_on_without_its_key_service(self, served: Server) -> None:
        until(lambda: not is_served(served.recipe.place.keys / OPTIONS))
        assert count(served) == str(ROWS)

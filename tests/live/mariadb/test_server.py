from pathlib import Path

import pytest

from support.processes import until
from support.refused import has
from support.serving import FILL, Engine, PrivateServers, cipher_facts, fill, recipe, settings, shows_marker, sql
from tdelta.engines.server.base import DATABASE
from tdelta.processes.servers.server import Server


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

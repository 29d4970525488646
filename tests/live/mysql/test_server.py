import dataclasses
from contextlib import closing
from pathlib import Path

import pytest

from support.acting import performed
from support.serving import (
    ROWS,
    Engine,
    PrivateServers,
    cipher_facts,
    count,
    recipe,
    settings,
    shows_marker,
    sql,
    until,
)
from tdelta.engines.server.base import DATABASE
from tdelta.engines.server.sessions import admin_session
from tdelta.errors import EnvironmentFault
from tdelta.processes.actions import Halt
from tdelta.processes.servers.copies import copy_data
from tdelta.processes.servers.server import Server

_MARKERS = "CREATE TABLE tdelta_marker (marker VARBINARY(64)) AS SELECT 16 AS id, RANDOM_BYTES(64) AS marker"
_COPYING = "SELECT COUNT(*) FROM performance_schema.processlist WHERE INFO LIKE 'ALTER TABLE%'"


class TestMysql(PrivateServers):
    kind = "mysql"
    wont_start = "unknown variable 'no_such_option=1'"

    def test_a_plain_server_is_encrypted_and_a_key_changed_while_it_works(
        self, engine: Engine, loaded: Server, scope: str, tmp_path: Path
    ) -> None:
        if scope != "none":
            pytest.skip("it is encrypted")
        wanted = dataclasses.replace(settings("none"), becomes="aes-256")
        with Server(recipe(engine, tmp_path / "copy", wanted)) as server:
            copy_data(loaded.recipe, server.recipe)
            server.start()
            sql(server.recipe, _MARKERS, DATABASE)
            with performed(engine, server, wanted, "encrypt", "t") as outcome:
                assert outcome.counters["tables"] == 1
                assert outcome.counters["converted_bytes"] > 1_000_000
                sql(server.recipe, "DROP TABLE tdelta_marker", DATABASE)  # it was not asked to be encrypted
                assert engine.cipher_fault(settings("data"), self.data_facts(engine, server)) is None
                sql(server.recipe, "FLUSH TABLES t FOR EXPORT", DATABASE)  # the copy's pages are written by then
                assert not shows_marker(server)
            assert engine.cipher_fault(wanted, cipher_facts(engine, server, wanted)) is None
            until(lambda: shows_marker(server))
            sql(server.recipe, "ALTER TABLE t ENCRYPTION = 'Y'", DATABASE)
            with performed(engine, server, wanted, "rotate:times=2", "t") as rotated:
                assert rotated.counters == {"rotations": 2, "tables": 1}
            server.stop()
            server.start()
            assert count(server) == str(ROWS), "by the new key"
            sql(server.recipe, _MARKERS, DATABASE)
            self.check_halt(engine, server)

    def data_facts(self, engine: Engine, server: Server) -> dict[str, str]:
        """The server's answers; new tables are plain by default."""
        return cipher_facts(engine, server, settings("data")) | {"default_table_encryption": "1"}

    def check_halt(self, engine: Engine, server: Server) -> None:
        """A table that is being copied when the action is to end is left as it is, and nobody waits for it."""
        halt = Halt()
        halt.ask()
        with closing(admin_session({**server.recipe.connect, "database": DATABASE})) as reader:
            reader.run("START TRANSACTION")
            reader.run("SELECT a FROM t LIMIT 1")  # the copy has to wait for it
            with (
                pytest.raises(EnvironmentFault, match="gave up waiting"),
                performed(engine, server, settings("none"), "encrypt", "t", halt=halt),
            ):
                pass
            until(lambda: sql(server.recipe, _COPYING) == "0")
        sql(server.recipe, "SET lock_wait_timeout = 5; UPDATE t SET a = 'changed'", DATABASE)

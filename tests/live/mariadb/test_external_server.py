import contextlib
from typing import Any

import pytest

from support.external_servers import ExternalServers, HostileGlobals, LookedAt
from support.own_engines import PASSWORD
from support.refused import Part, has, refused
from tdelta.engines.server.discovery import FoundServer, examine, schema_name
from tdelta.engines.server.external_twins import ENCRYPTED_PLACE
from tdelta.engines.server.pairs import own_schemas, pair
from tdelta.engines.server.schemas import RunSchema
from tdelta.engines.server.sessions import Session
from tdelta.errors import ExternalServerFault, InvalidTwins

from . import own


class TestMariadbExternalServers(HostileGlobals, ExternalServers):
    own = own
    isolation_setting = "tx_isolation"
    engine = "mariadb"
    encryption = (False, True)
    marks = ("tdelta_mark",)
    differences = ("innodb_buffer_pool_size: 67108864 / 33554432", "sort_buffer_size: 2097152 / 1048576")
    refusal = "Access denied"
    schema_sql = "SELECT DATABASE()"
    grants = (
        "GRANT PROCESS ON *.* TO 'nobody'@'127.0.0.1'",
        r"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX, ALTER ON `tdelta\_%`.* TO 'nobody'@'127.0.0.1'",
    )
    unmarking = ("DROP TABLE tdelta_r4.tdelta_mark", "CREATE TABLE tdelta_r4.precious (id INT)")
    precious = ("SELECT COUNT(*) FROM tdelta_r4.precious", "0")
    half_made = ("CREATE SCHEMA tdelta_r6",)
    left_half_made = ("tdelta_r6",)

    def test_what_is_encrypted_is_read_from_both(self, looked_at: LookedAt) -> None:
        baseline, encrypted = looked_at
        assert baseline.encryption.encrypted == ()
        assert encrypted.encryption.encrypted == ("data",)
        data = encrypted.encryption.scope("data")
        assert data is not None
        assert data.said == "innodb_encrypt_tables=ON, keys: file_key_management"
        assert (encrypted.identity.product, encrypted.identity.engine) == ("MariaDB", "mariadb")
        cautions = pair(baseline, encrypted, "tdelta_r1").cautions
        assert has(cautions, "scope-not-encrypted", scope="log", said="innodb_encrypt_log=OFF")

    def test_a_baseline_that_is_encrypted_and_a_plain_encrypted_one_are_invalid(self, looked_at: LookedAt) -> None:
        baseline, encrypted = looked_at
        with refused(InvalidTwins, "server-encrypted", said=Part("innodb_encrypt_tables=ON")):
            pair(encrypted, baseline, "tdelta_r1")

    def test_twins_without_any_encryption_are_invalid(self, servers: tuple[Any, Any]) -> None:
        _, encrypted = servers
        with contextlib.closing(own.root(encrypted)) as asked:
            asked.run("SET GLOBAL innodb_encrypt_tables = OFF")
            try:
                with (
                    self.examined(servers) as found,
                    refused(InvalidTwins, "nothing-encrypted", said=Part("innodb_encrypt_tables=OFF")),
                ):
                    pair(*found, "tdelta_r1")
            finally:
                asked.run("SET GLOBAL innodb_encrypt_tables = ON")

    def test_a_table_that_is_not_as_it_has_to_be_is_found_in_the_catalog(self, looked_at: LookedAt) -> None:
        found = pair(*looked_at, "tdelta_r2")
        with own_schemas(found, "tdelta_r2", "r2") as made:
            encrypted = made[ENCRYPTED_PLACE]
            with contextlib.closing(Session(encrypted.options(PASSWORD))) as load:
                load.run("CREATE TABLE plain (id INT PRIMARY KEY) ENCRYPTED=NO")
            with refused(InvalidTwins, "tables-otherwise", tables="plain"):
                encrypted.require_tables()

    def test_a_wait_for_a_lock_is_told_as_that_and_not_as_too_little_time(self, looked_at: LookedAt) -> None:
        baseline, _ = looked_at
        fault = baseline.failed("busy", "Lock wait timeout exceeded")
        assert has(fault.refusals, "server-lock-wait", seconds=60)

    def test_the_statements_that_are_named_give_all_rights_that_are_needed(self, servers: tuple[Any, Any]) -> None:
        plain, _ = servers
        with contextlib.closing(own.root(plain)) as asked:
            asked.run("CREATE USER later@'127.0.0.1' IDENTIFIED BY 'x'")
            try:
                dsn = self.dsn_of(plain, "later")
                with contextlib.closing(self.session("--baseline", dsn, "x")) as opened:
                    server = examine("--baseline", dsn, opened)
                    for grant in missing(server):
                        asked.run(grant)
                # Rights of sessions are those at log-in.
                with contextlib.closing(self.session("--baseline", dsn, "x")) as opened:
                    server = examine("--baseline", dsn, opened)
                    assert not missing(server)
                    schema = RunSchema(server, "tdelta_r3", "r3", is_encrypted=False)
                    schema.make()
                    schema.require_tables()
                    schema.drop()
            finally:
                asked.run("DROP USER later@'127.0.0.1'")

    def test_a_schema_of_the_users_naming_needs_no_prefix(self, looked_at: LookedAt) -> None:
        assert schema_name("r7", "bench_here") == "bench_here"
        with pytest.raises(ExternalServerFault, match=r"ON `bench\\_here`\.\* TO"):
            pair(*looked_at, "bench_here")


def missing(server: FoundServer) -> tuple[str, ...]:
    kind: Any = server.kind
    return (*kind.missing_grants(server.ask), *kind.missing_schema_grants(server.ask, "tdelta_r3"))

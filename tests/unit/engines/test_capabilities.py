"""Which server can what. A capability is asked by ``isinstance``, so that a method that is renamed is lost silently."""

from pathlib import Path

import pytest

from tdelta.engines.mariadb.external import MariaDbServers
from tdelta.engines.mariadb.private import MariadbEngine
from tdelta.engines.mysql.external import MySqlServers
from tdelta.engines.mysql.private import MysqlEngine
from tdelta.engines.postgres.external import PostgresServers
from tdelta.engines.postgres.private import PostgresEngine
from tdelta.engines.postgres.protection import Configures, Lodges, Mounts, Proves
from tdelta.engines.postgres.storage import EncryptedFolder, Gocryptfs
from tdelta.engines.postgres.tde import PgTde
from tdelta.engines.servers import (
    Cautioned,
    Flushed,
    FolderEncrypted,
    Keyed,
    Prepared,
    Proven,
    Restorable,
    ServerBinary,
    ServerSettings,
)
from tdelta.engines.shared.external.kind import GrantsBySchema, Identity
from tdelta.engines.shared.private.driver import PrivateDriver

OF_SERVERS = {Cautioned, Flushed, FolderEncrypted, Keyed, Prepared, Proven, Restorable}
OF_PROTECTIONS = {Configures, Lodges, Mounts, Proves}
BINARY = ServerBinary("any", "Any", Path("/usr/sbin/any"), "15.1", "any 15.1")
GOCRYPTFS = Gocryptfs(Path("/usr/bin/gocryptfs"))


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        (MariadbEngine(BINARY), {Keyed, Proven, Restorable}),
        (MysqlEngine(BINARY), {Cautioned, Proven, Restorable}),
        (PostgresEngine(BINARY, GOCRYPTFS), {Cautioned, Flushed, FolderEncrypted, Keyed, Prepared, Proven, Restorable}),
    ],
    ids=["mariadb", "mysql", "postgres"],
)
def test_a_private_server_can_what_its_engine_has(engine: object, expected: set[type]) -> None:
    assert {one for one in OF_SERVERS if isinstance(engine, one)} == expected


@pytest.mark.parametrize(
    ("protection", "expected"),
    [
        (GOCRYPTFS, {Mounts, Proves}),
        (EncryptedFolder(Path("/mnt/safe"), "LUKS2"), {Lodges}),
        (PgTde(), {Configures, Proves}),
    ],
    ids=["gocryptfs", "folder", "pg_tde"],
)
def test_a_protection_wants_what_it_has(protection: object, expected: set[type]) -> None:
    assert {one for one in OF_PROTECTIONS if isinstance(protection, one)} == expected


@pytest.mark.parametrize(
    ("kind", "grants", "flushes"),
    [(MariaDbServers, True, False), (MySqlServers, True, False), (PostgresServers, False, True)],
)
def test_a_users_server_can_what_its_engine_has(kind: type, grants: bool, flushes: bool) -> None:
    server = kind(Identity("any", "Any", "15.1", "me"))
    assert (isinstance(server, GrantsBySchema), isinstance(server, Flushed)) == (grants, flushes)


def test_only_a_server_with_something_to_say_has_cautions() -> None:
    from_mariadb = PrivateDriver(MariadbEngine(BINARY))
    assert from_mariadb.profile.name == "mariadb"
    assert from_mariadb.cautions(ServerSettings("none")) == ()

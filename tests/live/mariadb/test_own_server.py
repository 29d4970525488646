"""Servers of users: here two private ones, one of them encrypted, with users that log in by password over TCP."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import pytest
from sqlite.running import require

from tdelta.driver.servers.connection import Connection, WorkerSession, connect
from tdelta.driver.servers.own import OwnSchema, OwnServer, examine, leftovers, own_schemas, pair, schema_name
from tdelta.driver.servers.secrets import Passwords
from tdelta.engines.dsn import Dsn, parse_dsn
from tdelta.errors import OwnServerFault, UnsoundTwins

from .own import PASSWORD, ROOT_PASSWORD, Server, Session, free_port, objects, root, two


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    require(which("mariadbd") and which("mariadb-install-db"), "apt-get install mariadb-server")
    with two(tmp_path_factory.mktemp("own")) as both:
        yield both


def dsn_of(server: Server, user: str = "bench") -> Dsn:
    return parse_dsn(f"mariadb://{user}@127.0.0.1:{server.port}/")


def session(option: str, dsn: Dsn, password: str = PASSWORD) -> Session:
    found = connect(option, dsn, Passwords({}, lambda _prompt: password), Session)
    assert isinstance(found, Session)
    return found


@pytest.fixture
def looked_at(servers: tuple[Server, Server]) -> Iterator[tuple[OwnServer, OwnServer]]:
    with contextlib.ExitStack() as stack:
        found = []
        for option, server in zip(("--baseline", "--encrypted"), servers, strict=True):
            opened = stack.enter_context(contextlib.closing(session(option, dsn_of(server))))
            found.append(examine(option, dsn_of(server), opened))
        yield found[0], found[1]


def test_two_servers_are_twins_in_a_schema_of_tdeltas_and_nothing_else_is_touched(
    servers: tuple[Server, Server], looked_at: tuple[OwnServer, OwnServer]
) -> None:
    before = [objects(server) for server in servers]
    found = pair(*looked_at, "tdelta_r1")
    with own_schemas(found, "tdelta_r1", "r1") as schemas:
        for schema in schemas:
            with contextlib.closing(Session(schema.options(PASSWORD))) as load:
                load.run("CREATE TABLE t (id INT PRIMARY KEY, x TEXT)")
                load.run("INSERT INTO t VALUES (1, 'a')")
            schema.require_tables()
        states = [schema.server.kind.tables(schema.server.ask, "tdelta_r1") for schema in schemas]
        assert states == [{"t": False, "tdelta_mark": False}, {"t": True, "tdelta_mark": True}]
        assert leftovers(found.baseline) == ()  # this run lives
    assert [objects(server) for server in servers] == before


def test_what_is_encrypted_is_read_from_both(looked_at: tuple[OwnServer, OwnServer]) -> None:
    baseline, encrypted = looked_at
    assert baseline.encryption.encrypted == ()
    assert encrypted.encryption.encrypted == ("data",)
    data = encrypted.encryption.scope("data")
    assert data is not None
    assert data.said == "innodb_encrypt_tables=ON, keys: file_key_management"
    assert (encrypted.identity.product, encrypted.identity.engine) == ("MariaDB", "mariadb")
    cautions = pair(baseline, encrypted, "tdelta_r1").cautions
    assert any("not encrypted on the encrypted server: log (innodb_encrypt_log=OFF)" in said for said in cautions)


def test_differences_that_are_not_encryption_are_named_the_important_ones_first(
    looked_at: tuple[OwnServer, OwnServer],
) -> None:
    found = pair(*looked_at, "tdelta_r1").differences
    assert [str(difference) for difference in found] == [
        "innodb_buffer_pool_size: 67108864 / 33554432",
        "sort_buffer_size: 2097152 / 1048576",
    ]


def test_one_server_twice_is_refused_however_it_is_reached(servers: tuple[Server, Server]) -> None:
    plain, _ = servers
    by_socket = parse_dsn(f"mariadb://root@/?socket={plain.socket}")
    with (
        contextlib.closing(session("--baseline", dsn_of(plain))) as one,
        contextlib.closing(session("--encrypted", by_socket, ROOT_PASSWORD)) as other,
        pytest.raises(OwnServerFault, match="both are one and the same server"),
    ):
        pair(examine("--baseline", dsn_of(plain), one), examine("--encrypted", by_socket, other), "tdelta_r1")


def test_a_baseline_that_is_encrypted_and_a_plain_encrypted_one_are_unsound(
    looked_at: tuple[OwnServer, OwnServer],
) -> None:
    baseline, encrypted = looked_at
    with pytest.raises(UnsoundTwins, match="expected plain tables, found them encrypted: innodb_encrypt_tables=ON"):
        pair(encrypted, baseline, "tdelta_r1")


def test_twins_without_any_encryption_are_unsound(servers: tuple[Server, Server], tmp_path: Path) -> None:
    plain, encrypted = servers
    with contextlib.closing(root(encrypted)) as asked:
        asked.run("SET GLOBAL innodb_encrypt_tables = OFF")
    try:
        with (
            contextlib.closing(session("", dsn_of(plain))) as one,
            contextlib.closing(session("", dsn_of(encrypted))) as other,
        ):
            found = examine("--baseline", dsn_of(plain), one), examine("--encrypted", dsn_of(encrypted), other)
            with pytest.raises(UnsoundTwins, match="found none: innodb_encrypt_tables=OFF"):
                pair(*found, "tdelta_r1")
    finally:
        with contextlib.closing(root(encrypted)) as asked:
            asked.run("SET GLOBAL innodb_encrypt_tables = ON")


def test_a_table_that_is_not_as_it_has_to_be_is_found_in_the_catalog(looked_at: tuple[OwnServer, OwnServer]) -> None:
    found = pair(*looked_at, "tdelta_r2")
    with own_schemas(found, "tdelta_r2", "r2") as (_, encrypted):
        with contextlib.closing(Session(encrypted.options(PASSWORD))) as load:
            load.run("CREATE TABLE plain (id INT PRIMARY KEY) ENCRYPTED=NO")
        with pytest.raises(UnsoundTwins, match="to be encrypted, found otherwise by the server's catalog: plain;"):
            encrypted.require_tables()


def test_a_wrong_password_is_told_with_the_ways_to_give_it_and_without_it(servers: tuple[Server, Server]) -> None:
    with pytest.raises(OwnServerFault, match=r"--baseline \(bench@127.*Access denied.*password-env=NAME") as caught:
        session("--baseline", dsn_of(servers[0]), "wr0ng")
    assert "wr0ng" not in str(caught.value)


def test_a_closed_port_is_told_with_what_to_look_at() -> None:
    dsn = parse_dsn(f"mariadb://bench@127.0.0.1:{free_port()}/")
    with pytest.raises(OwnServerFault, match="is it running, does it listen there"):
        session("--encrypted", dsn)


def test_rights_that_are_missing_are_named_as_the_statements_that_give_them(servers: tuple[Server, Server]) -> None:
    with contextlib.ExitStack() as stack:
        found = []
        for option, server in zip(("--baseline", "--encrypted"), servers, strict=True):
            dsn = dsn_of(server, "nobody")
            found.append(examine(option, dsn, stack.enter_context(contextlib.closing(session(option, dsn, "x")))))
        with pytest.raises(OwnServerFault) as caught:
            pair(found[0], found[1], "tdelta_r1")
    for option in ("--baseline", "--encrypted"):
        said = [fault for fault in caught.value.faults if fault.startswith(option)]
        assert [fault.split("missing: ")[1] for fault in said] == [
            "GRANT PROCESS ON *.* TO 'nobody'@'127.0.0.1'",
            "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX, ALTER"
            r" ON `tdelta\_%`.* TO 'nobody'@'127.0.0.1'",
        ]


def test_the_statements_that_are_named_give_all_rights_that_are_needed(servers: tuple[Server, Server]) -> None:
    plain, _ = servers
    with contextlib.closing(root(plain)) as asked:
        asked.run("CREATE USER later@'127.0.0.1' IDENTIFIED BY 'x'")
        try:
            dsn = dsn_of(plain, "later")
            with contextlib.closing(session("--baseline", dsn, "x")) as opened:
                server = examine("--baseline", dsn, opened)
                for grant in server.kind.missing_grants(server.ask, "tdelta_r3"):
                    asked.run(grant)
            with contextlib.closing(
                session("--baseline", dsn, "x")
            ) as opened:  # rights of sessions are those at log-in
                server = examine("--baseline", dsn, opened)
                assert server.kind.missing_grants(server.ask, "tdelta_r3") == ()
                schema = OwnSchema(server, "tdelta_r3", "r3", is_encrypted=False)
                schema.make()
                schema.require_tables()
                schema.drop()
        finally:
            asked.run("DROP USER later@'127.0.0.1'")


def test_a_schema_that_exists_is_left_as_it_is(
    looked_at: tuple[OwnServer, OwnServer], servers: tuple[Server, Server]
) -> None:
    with contextlib.closing(root(servers[1])) as asked:
        asked.run("CREATE SCHEMA tdelta_taken")
        asked.run("CREATE TABLE tdelta_taken.precious (id INT)")
        try:
            with pytest.raises(OwnServerFault, match="expected no schema tdelta_taken, found one") as caught:
                pair(*looked_at, "tdelta_taken")
            assert len(caught.value.faults) == 1
            with pytest.raises(OwnServerFault, match="--schema"):
                OwnSchema(looked_at[1], "tdelta_taken", "r1", is_encrypted=True).make()
            assert asked.text("SELECT COUNT(*) FROM tdelta_taken.precious") == "0"
        finally:
            asked.run("DROP SCHEMA tdelta_taken")


def test_a_schema_without_the_mark_of_the_run_is_not_dropped(
    looked_at: tuple[OwnServer, OwnServer], servers: tuple[Server, Server]
) -> None:
    schema = OwnSchema(looked_at[0], "tdelta_r4", "r4", is_encrypted=False)
    schema.make()
    with contextlib.closing(root(servers[0])) as asked:
        asked.run("DROP TABLE tdelta_r4.tdelta_mark")
        asked.run("CREATE TABLE tdelta_r4.precious (id INT)")
        with pytest.raises(OwnServerFault, match="mark of run r4 is gone, so it is not touched"):
            schema.drop()
        assert asked.text("SELECT COUNT(*) FROM tdelta_r4.precious") == "0"
        asked.run("DROP SCHEMA tdelta_r4")


def test_what_a_killed_run_left_is_found_and_what_removes_it_does(servers: tuple[Server, Server]) -> None:
    plain, _ = servers
    with contextlib.closing(session("--baseline", dsn_of(plain))) as killed:
        OwnSchema(examine("--baseline", dsn_of(plain), killed), "tdelta_r5", "r5", is_encrypted=False).make()
        killed.run("CREATE SCHEMA tdelta_r6")  # killed between schema and mark
    with contextlib.closing(session("--baseline", dsn_of(plain))) as opened:
        server = examine("--baseline", dsn_of(plain), opened)
        left = leftovers(server)
        assert [said.split(": ")[1] for said in left] == [
            "schema tdelta_r5 is left of run r5; remove it",
            "schema tdelta_r6 is left of a run that was killed as it made it (it is empty); remove it",
        ]
        for said in left:
            opened.run(said.split("remove it: ")[1])
        assert leftovers(server) == ()


def test_a_schema_of_the_users_naming_needs_no_prefix(looked_at: tuple[OwnServer, OwnServer]) -> None:
    assert schema_name("r7", "bench_here") == "bench_here"
    with pytest.raises(OwnServerFault, match=r"ON `bench\\_here`\.\* TO"):
        pair(*looked_at, "bench_here")


def test_it_is_all_the_same_by_tdeltas_own_client(servers: tuple[Server, Server]) -> None:
    passwords = Passwords({"DB": PASSWORD})
    dsns = [parse_dsn(f"mysql://bench@127.0.0.1:{server.port}/?password-env=DB") for server in servers]
    passwords.read([("--baseline", dsns[0]), ("--encrypted", dsns[1])])
    opened: list[Connection] = []
    with contextlib.ExitStack() as stack:
        for option, dsn in zip(("--baseline", "--encrypted"), dsns, strict=True):
            opened.append(stack.enter_context(contextlib.closing(connect(option, dsn, passwords, WorkerSession))))
        found = pair(
            examine("--baseline", dsns[0], opened[0]), examine("--encrypted", dsns[1], opened[1]), "tdelta_native"
        )
        with own_schemas(found, "tdelta_native", "native") as schemas:
            for schema in schemas:
                options = schema.options(passwords.of(schema.server.dsn))
                with contextlib.closing(WorkerSession(options)) as load:
                    load.run("CREATE TABLE t (id INT PRIMARY KEY)")
                    assert load.text("SELECT DATABASE()") == "tdelta_native"
                schema.require_tables()
        assert not found.baseline.kind.has_schema(found.baseline.ask, "tdelta_native")
        assert found.baseline.identity.engine == "mariadb"  # whatever the DSN begins with


def test_tdeltas_own_client_is_refused_in_the_same_words(servers: tuple[Server, Server]) -> None:
    wrong = Passwords({}, lambda _prompt: "wr0ng")
    with pytest.raises(OwnServerFault, match=r"Access denied.*password-env=NAME") as caught:
        connect("--baseline", dsn_of(servers[0]), wrong, WorkerSession)
    assert "wr0ng" not in str(caught.value)
    with pytest.raises(OwnServerFault, match="is it running, does it listen there"):
        connect("--baseline", parse_dsn(f"mysql://bench@127.0.0.1:{free_port()}"), wrong, WorkerSession)

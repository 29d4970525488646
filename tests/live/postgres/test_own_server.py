"""Servers of users: two private PostgreSQL servers that ask for passwords, with users of few rights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from sqlite.running import require

from tdelta.driver.servers.connection import WorkerSession, connect
from tdelta.driver.servers.own import OwnSchema, OwnServer, examine, leftovers, own_schemas, pair
from tdelta.driver.servers.secrets import Passwords
from tdelta.engines.dsn import Dsn, parse_dsn
from tdelta.errors import OwnServerFault, UnsoundTwins

from .own import PASSWORD, ROOT_PASSWORD, Server, Session, free_port, objects, programs, root, two


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    require(programs(), "apt-get install postgresql")
    with two(tmp_path_factory.mktemp("own")) as both:
        yield both


def dsn_of(server: Server, user: str = "bench") -> Dsn:
    return parse_dsn(f"postgresql://{user}@127.0.0.1:{server.port}/app")


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
    found = pair(*looked_at, "tdelta_r1", assumed=True)
    with own_schemas(found, "tdelta_r1", "r1") as schemas:
        for schema in schemas:
            with contextlib.closing(Session(schema.options(PASSWORD))) as load:
                load.run("CREATE TABLE t (id INT PRIMARY KEY, x TEXT)")
                load.run("INSERT INTO t VALUES (1, 'a')")
            schema.require_tables()
            assert schema.server.kind.tables(schema.server.ask, "tdelta_r1") == {"t": None}
        assert leftovers(found.baseline) == ()  # this run lives
    assert [objects(server) for server in servers] == before


def test_a_disk_that_the_server_knows_nothing_of_has_to_be_vouched_for(looked_at: tuple[OwnServer, OwnServer]) -> None:
    with pytest.raises(UnsoundTwins, match="does not know whether its disk is encrypted: --assume-encrypted"):
        pair(*looked_at, "tdelta_r1")
    cautions = pair(*looked_at, "tdelta_r1", assumed=True).cautions
    assert cautions == (
        "that the encrypted server's disk is encrypted, and the baseline's is not, is what the user says",
    )


def test_differences_that_are_not_encryption_are_named_the_important_ones_first(
    looked_at: tuple[OwnServer, OwnServer],
) -> None:
    found = pair(*looked_at, "tdelta_r1", assumed=True).differences
    assert [str(difference) for difference in found] == [
        "shared_buffers: 4096 8kB / 2048 8kB",
        "wal_buffers: 128 8kB / 64 8kB",
        "work_mem: 4096 kB / 8192 kB",
    ]


def test_one_server_twice_is_refused_however_it_is_reached(servers: tuple[Server, Server]) -> None:
    plain, _ = servers
    other_way = parse_dsn(f"postgres://postgres@:{plain.port}/postgres?socket={plain.sockets}")
    with (
        contextlib.closing(session("--baseline", dsn_of(plain))) as one,
        contextlib.closing(session("--encrypted", other_way, ROOT_PASSWORD)) as other,
        pytest.raises(OwnServerFault, match="both are one and the same server"),
    ):
        pair(examine("--baseline", dsn_of(plain), one), examine("--encrypted", other_way, other), "tdelta_r1")


def test_a_wrong_password_is_told_with_the_ways_to_give_it_and_without_it(servers: tuple[Server, Server]) -> None:
    with pytest.raises(
        OwnServerFault, match=r"--baseline \(bench@127.*authentication failed.*password-env=NAME"
    ) as caught:
        session("--baseline", dsn_of(servers[0]), "wr0ng")
    assert "wr0ng" not in str(caught.value)


def test_a_closed_port_is_told_with_what_to_look_at() -> None:
    dsn = parse_dsn(f"postgres://bench@127.0.0.1:{free_port()}/")
    with pytest.raises(OwnServerFault, match="is it running, does it listen there"):
        session("--encrypted", dsn)


def test_a_database_that_is_not_there_is_told(servers: tuple[Server, Server]) -> None:
    dsn = parse_dsn(f"postgres://bench@127.0.0.1:{servers[0].port}/missing?password-env=P")
    passwords = Passwords({"P": PASSWORD})
    passwords.read([("--baseline", dsn)])
    with pytest.raises(OwnServerFault, match="name a database that exists in the DSN"):
        connect("--baseline", dsn, passwords, Session)


def test_rights_that_are_missing_are_named_as_the_statement_that_gives_them(servers: tuple[Server, Server]) -> None:
    with contextlib.ExitStack() as stack:
        found = []
        for option, server in zip(("--baseline", "--encrypted"), servers, strict=True):
            dsn = dsn_of(server, "nobody")
            found.append(examine(option, dsn, stack.enter_context(contextlib.closing(session(option, dsn, "x")))))
        with pytest.raises(OwnServerFault) as caught:
            pair(found[0], found[1], "tdelta_r1", assumed=True)
    assert [fault.split("missing: ")[1] for fault in caught.value.faults] == [
        "GRANT CREATE ON DATABASE app TO nobody"
    ] * 2


def test_a_schema_that_exists_is_left_as_it_is(
    looked_at: tuple[OwnServer, OwnServer], servers: tuple[Server, Server]
) -> None:
    with contextlib.closing(root(servers[1])) as asked:
        asked.run("CREATE SCHEMA tdelta_taken")
        asked.run("CREATE TABLE tdelta_taken.precious (id INT)")
        try:
            with pytest.raises(OwnServerFault, match="expected no schema tdelta_taken, found one") as caught:
                pair(*looked_at, "tdelta_taken", assumed=True)
            assert len(caught.value.faults) == 1
            with pytest.raises(OwnServerFault, match="--schema"):
                OwnSchema(looked_at[1], "tdelta_taken", "r1", is_encrypted=None).make()
            assert asked.text("SELECT count(*) FROM tdelta_taken.precious") == "0"
        finally:
            asked.run("DROP SCHEMA tdelta_taken CASCADE")


def test_a_schema_without_the_mark_of_the_run_is_not_dropped(
    looked_at: tuple[OwnServer, OwnServer], servers: tuple[Server, Server]
) -> None:
    schema = OwnSchema(looked_at[0], "tdelta_r4", "r4", is_encrypted=None)
    schema.make()
    with contextlib.closing(root(servers[0])) as asked:
        asked.run("COMMENT ON SCHEMA tdelta_r4 IS 'precious'")
        with pytest.raises(OwnServerFault, match="mark of run r4 is gone, so it is not touched"):
            schema.drop()
        assert asked.text("SELECT count(*) FROM pg_namespace WHERE nspname = 'tdelta_r4'") == "1"
        asked.run("DROP SCHEMA tdelta_r4")


def test_what_a_killed_run_left_is_found_and_what_removes_it_does(servers: tuple[Server, Server]) -> None:
    plain, _ = servers
    with contextlib.closing(session("--baseline", dsn_of(plain))) as killed:
        OwnSchema(examine("--baseline", dsn_of(plain), killed), "tdelta_r5", "r5", is_encrypted=None).make()
    with contextlib.closing(session("--baseline", dsn_of(plain))) as opened:
        server = examine("--baseline", dsn_of(plain), opened)
        (left,) = leftovers(server)
        assert left.split(": ")[1] == "schema tdelta_r5 is left of run r5; remove it"
        opened.run(left.split("remove it: ")[1])
        assert leftovers(server) == ()


def test_it_is_all_the_same_by_tdeltas_own_client(servers: tuple[Server, Server]) -> None:
    passwords = Passwords({"DB": PASSWORD})
    dsns = [parse_dsn(f"postgres://bench@127.0.0.1:{server.port}/app?password-env=DB") for server in servers]
    passwords.read([("--baseline", dsns[0]), ("--encrypted", dsns[1])])
    with contextlib.ExitStack() as stack:
        found = []
        for option, dsn in zip(("--baseline", "--encrypted"), dsns, strict=True):
            opened = stack.enter_context(contextlib.closing(connect(option, dsn, passwords, WorkerSession)))
            found.append(examine(option, dsn, opened))
        twins = pair(found[0], found[1], "tdelta_native", assumed=True)
        with own_schemas(twins, "tdelta_native", "native") as schemas:
            for schema in schemas:
                with contextlib.closing(WorkerSession(schema.options(passwords.of(schema.server.dsn)))) as load:
                    load.run("CREATE TABLE t (id INT PRIMARY KEY)")
                    assert load.text("SELECT current_schema()") == "tdelta_native"
            assert leftovers(twins.baseline) == ()
        assert not twins.baseline.kind.has_schema(twins.baseline.ask, "tdelta_native")


def test_tdeltas_own_client_is_refused_in_the_same_words(servers: tuple[Server, Server]) -> None:
    wrong = Passwords({}, lambda _prompt: "wr0ng")
    with pytest.raises(OwnServerFault, match=r"authentication failed.*password-env=NAME") as caught:
        connect("--baseline", dsn_of(servers[0]), wrong, WorkerSession)
    assert "wr0ng" not in str(caught.value)
    right = Passwords({}, lambda _prompt: PASSWORD)
    missing = parse_dsn(f"postgres://bench@127.0.0.1:{servers[0].port}/missing")
    with pytest.raises(OwnServerFault, match="name a database that exists in the DSN"):
        connect("--baseline", missing, right, WorkerSession)

"""Servers of users, by SQL alone: what holds on every engine, each with two private ones that stand for a user's.

One class of tests an engine. ``own`` is the engine's module of that name; the rest says in what its servers differ.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, cast

import pytest

from support.own_engines import OPTIONS, PASSWORD, OnTwoServers
from support.ports import free_port
from support.refused import refused
from tdelta import _native
from tdelta.engines.server.discovery import FoundServer, connect, examine
from tdelta.engines.server.dsn import Dsn, parse_dsn
from tdelta.engines.server.external_twins import ENCRYPTED_PLACE
from tdelta.engines.server.pairs import Pair, own_schemas, pair
from tdelta.engines.server.passwords import Passwords
from tdelta.engines.server.schemas import RunSchema, leftovers
from tdelta.engines.server.sessions import Session, literal
from tdelta.errors import ExternalServerFault

LookedAt = tuple[FoundServer, FoundServer]


class HostileGlobals(OnTwoServers):
    """Servers of MySQL's protocol whose global settings break sessions that do not set their own."""

    isolation_setting: ClassVar[str]
    user: ClassVar[str] = "bench"
    password: ClassVar[str | None] = PASSWORD
    harmful: ClassVar[Mapping[str, str]] = {
        "autocommit": "0",
        "sql_select_limit": "10",
        "sql_safe_updates": "1",
        "completion_type": "'CHAIN'",
        "default_storage_engine": "'MyISAM'",
        "time_zone": "'+05:00'",
        "sql_mode": "'ANSI'",
    }

    @pytest.fixture
    def spoilt(self, servers: tuple[Any, Any]) -> Iterator[RunSchema]:
        """A schema of tdelta's on the encrypted one of two servers with such settings."""
        harmful = {**self.harmful, self.isolation_setting: "'SERIALIZABLE'"}
        with contextlib.ExitStack() as stack:
            found = []
            for option, server in zip(OPTIONS, servers, strict=True):
                asked = stack.enter_context(contextlib.closing(self.own.root(server)))
                for name, value in harmful.items():
                    before = asked.text(f"SELECT @@GLOBAL.{name}")
                    asked.run(f"SET GLOBAL {name} = {value}")
                    stack.callback(asked.run, f"SET GLOBAL {name} = {before if before.isdigit() else literal(before)}")
                dsn = parse_dsn(self.own.address(server.port, self.user))
                opened = stack.enter_context(contextlib.closing(Session(dsn.options(self.password))))
                found.append(examine(option, dsn, opened))
            schemas = stack.enter_context(own_schemas(pair(found[0], found[1], "tdelta_r8"), "tdelta_r8", "r8"))
            yield schemas[ENCRYPTED_PLACE]

    def test_sessions_set_otherwise_what_would_break_them(self, spoilt: RunSchema) -> None:
        options = json.dumps(spoilt.options(self.password))
        with contextlib.closing(_native.ServerTwin(options, 1)) as load:
            load.run("CREATE TABLE t (id INT PRIMARY KEY, a INT)")
            load.run(f"INSERT INTO t VALUES {', '.join(f'({row}, {row})' for row in range(100))}")
            load.run("UPDATE t SET a = a + 1")
            with contextlib.closing(_native.ServerTwin(options, 1)) as other:
                assert len(other.rows("SELECT * FROM t")[1]) == 100
                other.run("CREATE INDEX by_a ON t (a)")  # waits for nobody
                assert other.text("SELECT @@time_zone") == "+00:00"
        spoilt.require_tables()

    def test_a_session_that_does_not_keep_what_was_set_is_refused(self, spoilt: RunSchema) -> None:
        options = spoilt.options(self.password)
        undone = {**options, "setup": [*cast("list[str]", options["setup"]), "SET SESSION sql_select_limit = 10"]}
        with pytest.raises(_native.NativeError) as caught:
            _native.ServerTwin(json.dumps(undone), 2)
        assert caught.value.args == ("settings", "sql_select_limit = '10', expected '18446744073709551615'")


class ExternalServers(OnTwoServers):
    engine: ClassVar[str]
    assumed: ClassVar[bool] = False
    """Whether the user has to vouch for the encryption, which the server knows nothing of."""

    encryption: ClassVar[tuple[bool | None, bool | None]]
    """The state of the tables of tdelta's schemas on the two servers; None where they cannot tell."""

    marks: ClassVar[tuple[str, ...]] = ()
    differences: ClassVar[tuple[str, ...]]
    refusal: ClassVar[str]
    schema_sql: ClassVar[str]
    grants: ClassVar[tuple[str, ...]]
    """The statements that give ``nobody`` the rights that are needed."""

    cascade: ClassVar[str] = ""
    unmarking: ClassVar[tuple[str, ...]]
    """Takes the mark of run r4 from the schema tdelta_r4, and puts something of somebody else's there."""

    precious: ClassVar[tuple[str, str]]
    half_made: ClassVar[tuple[str, ...]] = ()
    """The traces of a run that is killed as it makes schema tdelta_r6, where that is not all or nothing."""

    left_half_made: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def dsn_of(cls, server: Any, user: str = "bench") -> Dsn:
        return parse_dsn(cls.own.address(server.port, user))

    @classmethod
    def session(cls, option: str, dsn: Dsn, password: str = PASSWORD) -> Session:
        return connect(option, dsn, Passwords({}, lambda _prompt: password), Session)

    @classmethod
    def paired(cls, looked_at: LookedAt, schema: str) -> Pair:
        return pair(*looked_at, schema, assumed=cls.assumed)

    @contextlib.contextmanager
    def examined(self, servers: tuple[Any, Any], user: str = "bench", password: str = PASSWORD) -> Iterator[LookedAt]:
        """Both servers as a user finds them, while the sessions last."""
        with contextlib.ExitStack() as stack:
            found = []
            for option, server in zip(OPTIONS, servers, strict=True):
                dsn = self.dsn_of(server, user)
                opened = stack.enter_context(contextlib.closing(self.session(option, dsn, password)))
                found.append(examine(option, dsn, opened))
            yield found[0], found[1]

    @pytest.fixture
    def looked_at(self, servers: tuple[Any, Any]) -> Iterator[LookedAt]:
        with self.examined(servers) as both:
            yield both

    def test_two_servers_are_twins_in_a_schema_of_tdeltas_and_nothing_else_is_touched(
        self, servers: tuple[Any, Any], looked_at: LookedAt
    ) -> None:
        before = self.objects(servers)
        found = self.paired(looked_at, "tdelta_r1")
        with own_schemas(found, "tdelta_r1", "r1") as made:
            schemas = [*made.values()]
            for schema in schemas:
                with contextlib.closing(Session(schema.options(PASSWORD))) as load:
                    assert load.text(self.schema_sql) == "tdelta_r1"
                    load.run("CREATE TABLE t (id INT PRIMARY KEY, x TEXT)")
                    load.run("INSERT INTO t VALUES (1, 'a')")
                schema.require_tables()
            states = [schema.server.kind.tables(schema.server.ask, "tdelta_r1") for schema in schemas]
            assert states == [dict.fromkeys(("t", *self.marks), state) for state in self.encryption]
            assert leftovers(found.baseline) == ()  # this run lives
        assert self.objects(servers) == before

    def test_differences_that_are_not_encryption_are_named_the_important_ones_first(self, looked_at: LookedAt) -> None:
        found = self.paired(looked_at, "tdelta_r1").differences
        assert tuple(map(str, found)) == self.differences

    def test_one_server_twice_is_refused_however_it_is_reached(self, servers: tuple[Any, Any]) -> None:
        plain, _ = servers
        dsn, other_way = self.dsn_of(plain), parse_dsn(self.own.root_address(plain))
        with (
            contextlib.closing(self.session("--baseline", dsn)) as one,
            contextlib.closing(self.session("--encrypted", other_way, self.own.ROOT_PASSWORD)) as other,
            refused(ExternalServerFault, "one-server-twice"),
        ):
            pair(examine("--baseline", dsn, one), examine("--encrypted", other_way, other), "tdelta_r1")

    def test_a_wrong_password_is_told_with_the_ways_to_give_it_and_without_it(self, servers: tuple[Any, Any]) -> None:
        told = rf"--baseline \(bench@127.*{self.refusal}.*password-env=NAME"
        with pytest.raises(ExternalServerFault, match=told) as caught:
            self.session("--baseline", self.dsn_of(servers[0]), "wr0ng")
        assert "wr0ng" not in str(caught.value)

    def test_a_closed_port_is_told_with_what_to_look_at(self) -> None:
        dsn = parse_dsn(self.own.address(free_port()))
        with refused(ExternalServerFault, "server-not-reached"):
            self.session("--encrypted", dsn)

    def test_rights_that_are_missing_are_named_as_the_statements_that_give_them(self, servers: tuple[Any, Any]) -> None:
        with self.examined(servers, "nobody", "x") as both, pytest.raises(ExternalServerFault) as caught:
            self.paired(both, "tdelta_r1")
        assert {refusal.code for refusal in caught.value.refusals} == {"right-missing"}
        assert len(caught.value.refusals) == len(OPTIONS) * len(self.grants)
        for option in OPTIONS:
            said = [one.parameters for one in caught.value.refusals if option in str(one.parameters["where"])]
            assert tuple(one["grant"] for one in said) == self.grants

    def test_a_schema_that_exists_is_left_as_it_is(self, looked_at: LookedAt, servers: tuple[Any, Any]) -> None:
        with contextlib.closing(self.own.root(servers[1])) as asked:
            asked.run("CREATE SCHEMA tdelta_taken")
            asked.run("CREATE TABLE tdelta_taken.precious (id INT)")
            try:
                with refused(ExternalServerFault, "schema-taken", schema="tdelta_taken"):
                    self.paired(looked_at, "tdelta_taken")
                with pytest.raises(ExternalServerFault, match="--schema"):
                    RunSchema(looked_at[1], "tdelta_taken", "r1", is_encrypted=self.encryption[1]).make()
                assert asked.text("SELECT COUNT(*) FROM tdelta_taken.precious") == "0"
            finally:
                asked.run(f"DROP SCHEMA tdelta_taken{self.cascade}")

    def test_a_schema_without_the_mark_of_the_run_is_not_dropped(
        self, looked_at: LookedAt, servers: tuple[Any, Any]
    ) -> None:
        schema = RunSchema(looked_at[0], "tdelta_r4", "r4", is_encrypted=self.encryption[0])
        schema.make()
        with contextlib.closing(self.own.root(servers[0])) as asked:
            for statement in self.unmarking:
                asked.run(statement)
            with refused(ExternalServerFault, "schema-unmarked", run="r4"):
                schema.drop()
            query, answer = self.precious
            assert asked.text(query) == answer
            asked.run("DROP SCHEMA tdelta_r4")

    def test_what_a_killed_run_left_is_found_and_what_removes_it_does(self, servers: tuple[Any, Any]) -> None:
        dsn = self.dsn_of(servers[0])
        with contextlib.closing(self.session("--baseline", dsn)) as killed:
            found = examine("--baseline", dsn, killed)
            RunSchema(found, "tdelta_r5", "r5", is_encrypted=self.encryption[0]).make()
            for statement in self.half_made:
                killed.run(statement)
        with contextlib.closing(self.session("--baseline", dsn)) as opened:
            server = examine("--baseline", dsn, opened)
            left = leftovers(server)
            assert {said.code for said in left} == {"schema-left"}
            assert [said.parameters["schema"] for said in left] == ["tdelta_r5", *self.left_half_made]
            assert "r5" in str(left[0].parameters["whose"])
            for caution in left:
                opened.run(str(caution.parameters["drop"]))
            assert leftovers(server) == ()

"""Conversions beside a load on servers of the user's: what is suspended is resumed, and what cannot be is refused."""

import contextlib
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tdelta.design.actions import parse_action
from tdelta.engines.server.base import Conversion, ConvertsSchemas, Identity
from tdelta.engines.server.schema_actions import Change, SchemaSite
from tdelta.errors import EnvironmentFault, ExternalServerFault
from tdelta.processes.actions import Halt
from tdelta.processes.workers import Refused


class Server:
    """Notes what is run; its conversion stands as the test has it."""

    name, ask = "S", None
    identity = SimpleNamespace(described="product 14.0")
    translated_errors = staticmethod(contextlib.nullcontext)

    def __init__(self, *, stands: bool | None = True, refuses: str = "") -> None:
        self.ran: list[str] = []
        self.refuses = refuses
        self.stands = Conversion(stands, "", 41.6)
        self.connection = self

    def now(self) -> Conversion:
        return self.stands

    def run(self, sql: str) -> None:
        self.ran.append(sql)
        if sql == self.refuses:
            raise Refused("sql", "no scan goes on")


def nobody() -> Any:
    raise AssertionError("a session that nobody asked for")


def change(
    server: Server, level: str, halt: Halt, suspend: str = "suspend", opens: Any = nobody, **more: Any
) -> Change:
    methods: dict[str, Any] = dict(
        key_sql=lambda _schema: "key",
        convert_sql=lambda _schema, *, is_encrypted: f"encrypted {is_encrypted}",
        suspend_sql=lambda _schema: suspend,
        resume_sql=lambda _schema: "resume",
        rekey_sql=lambda _schema: "rekey",
        unkey_sql=lambda _schema: ("unkey",),
        data_bytes_sql=lambda _schema: "",
        conversion=lambda _ask, _schema: server.now(),
        **more,
    )
    kind = ConvertsSchemas(Identity("any", "product", "14.0", "me"))
    vars(kind).update(methods)
    schema: Any = SimpleNamespace(
        name="x", server=SimpleNamespace(**vars(server), translated_errors=server.translated_errors, ask=lambda _: [])
    )
    schema.server.name, schema.server.identity = server.name, server.identity
    schema.server.kind = kind
    worker, elsewhere = cast(Any, None), cast(Any, nobody)
    return Change(SchemaSite(schema, worker, (), parse_action(level), halt, elsewhere, unlimited=opens))


def test_a_pause_is_refused_where_conversions_cannot_be_suspended_and_nothing_is_done() -> None:
    server = Server()
    with pytest.raises(ExternalServerFault) as fault:
        change(server, "encrypt:pause=1", Halt(), suspend="").prepare()
    assert [(one.code, one.parameters["by"]) for one in fault.value.refusals] == [("unsupported", "product 14.0")]
    assert server.ran == []


def test_what_is_over_before_it_can_be_suspended_was_not_suspended() -> None:
    server = Server(refuses="suspend")
    counted = change(server, "encrypt:pause=1", Halt()).perform().counters
    assert counted == {"file_bytes": 0, "suspended_ns": 0}
    assert server.ran == ["encrypted True", "suspend"]


def test_a_server_that_refuses_while_the_conversion_goes_on_is_heard() -> None:
    with pytest.raises(Refused):
        change(Server(stands=None, refuses="suspend"), "encrypt:pause=1", Halt()).perform()


def test_a_run_that_ends_during_a_pause_has_the_conversion_resumed() -> None:
    server, halt = Server(stands=None), Halt()
    halt.ask()
    with pytest.raises(EnvironmentFault) as fault:
        change(server, "encrypt:pause=100", halt).perform()
    assert [one.code for one in fault.value.refusals] == ["action-stopped"]
    assert server.ran == ["encrypted True", "suspend", "resume"]


def test_a_change_of_keys_is_over_when_there_is_another_key_though_the_state_is_the_same_at_first() -> None:
    server = Server()
    looks = iter("aab")
    server.now = lambda: Conversion(True, "", key=next(looks))  # type: ignore[method-assign]
    change(server, "rekey", Halt()).perform()
    assert (server.ran, [*looks]) == (["rekey"], [])


@pytest.mark.parametrize(("stands", "ran"), [(False, ["unkey"]), (None, ["encrypted False"])])
def test_what_is_plain_only_loses_its_key(stands: bool | None, ran: list[str]) -> None:
    server, halt = Server(stands=stands), Halt()
    halt.ask()
    with contextlib.suppress(EnvironmentFault):
        change(server, "decrypt", halt).undo()
    assert server.ran == ran


class Unlimited:
    def __init__(self) -> None:
        self.said: list[str] = []

    def run(self, sql: str) -> None:
        self.said.append(sql)

    def close(self) -> None:
        self.said.append("closed")


def test_a_conversion_that_is_its_statement_has_a_session_without_a_limit() -> None:
    server, session = Server(), Unlimited()
    asked = change(server, "encrypt", Halt(), opens=lambda: session, converts_in_statement=True)
    asked.prepare()
    asked.perform()
    server.stands = Conversion(is_encrypted=False, said="")
    asked.undo()
    assert session.said == ["encrypted True", "closed"]
    assert server.ran == ["key", "unkey"]


@pytest.mark.parametrize("refuses", ["", "offline True"])
def test_an_offline_conversion_brings_the_rows_back_whatever_comes_of_it(refuses: str) -> None:
    server = Server(refuses=refuses)
    offline: Any = {
        "offline_sql": lambda _schema: "take offline",
        "convert_offline_sql": lambda _schema, *, is_encrypted: f"offline {is_encrypted}",
        "online_sql": lambda _schema: "bring back",
    }
    with contextlib.nullcontext() if not refuses else pytest.raises(Refused):
        change(server, "encrypt:mode=offline", Halt(), **offline).perform()
    assert server.ran == ["take offline", "offline True", "bring back"]

"""Restores on servers of the user's: what is there already is not touched, and rows that differ are a fault."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

from tdelta.design.actions import parse_action
from tdelta.engines.server import schema_actions as acts
from tdelta.engines.server.schema_actions import SchemaRestore, SchemaSite
from tdelta.errors import ExternalServerFault
from tdelta.processes.actions import Halt, prepared

TABLES = (("orders", ("order_id",)),)


class Worker:
    def __init__(self, checksum: str = "a") -> None:
        self.checksum = checksum
        self.asked: list[Any] = []

    def ask(self, do: str, **order: Any) -> dict[str, Any]:
        self.asked.append(order.get("statements", do))
        return {}

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Restore(SchemaRestore):
    restored = "x_restored"

    def backup(self) -> tuple[str, ...]:
        return ("backup x",)

    def statements(self) -> tuple[str, ...]:
        return "restore x", "count x_restored.orders"

    def remove(self) -> tuple[str, ...]:
        return ("remove of x",)

    def counted_sql(self) -> str:
        return ""


def restore(there: Worker, *, is_taken: bool = False) -> tuple[Restore, Worker, list[str]]:
    removed: list[str] = []
    kind = SimpleNamespace(has_schema=lambda _ask, _name: is_taken)
    connection = SimpleNamespace(run=removed.append)
    server = SimpleNamespace(
        kind=kind, ask=None, connection=connection, name="S", translated_errors=contextlib.nullcontext
    )
    here = Worker()
    schema: Any = SimpleNamespace(name="x", server=server)
    worker: Any = here
    elsewhere: Any = lambda _database: there  # noqa: E731 - one answer
    site = SchemaSite(schema, worker, TABLES, parse_action("restore"), Halt(), elsewhere, unlimited=elsewhere)
    return Restore(site), here, removed


def carried_out(act: Restore) -> None:
    with prepared(act, Halt()):
        act.perform()
        act.inspect()


def test_a_schema_that_has_the_name_already_is_not_touched() -> None:
    act, here, removed = restore(Worker(), is_taken=True)
    with pytest.raises(ExternalServerFault) as fault:
        carried_out(act)
    assert [(one.code, one.parameters["schema"]) for one in fault.value.refusals] == [("schema-taken", "x_restored")]
    assert (here.asked, removed) == ([], [])


def test_restored_rows_that_differ_are_a_fault_and_what_was_restored_is_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(acts, "checksums", lambda worker, _tables: {"orders": worker.checksum})
    act, here, removed = restore(Worker("b"))
    with pytest.raises(ExternalServerFault) as fault:
        carried_out(act)
    assert [(one.code, one.parameters["tables"]) for one in fault.value.refusals] == [("restored-differs", "orders")]
    assert here.asked == [["backup x"], ["restore x", "count x_restored.orders"]]
    assert removed == ["remove of x"]

"""Restores on servers of the user's: what is there already is not touched, and rows that differ are a fault."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

from tdelta.engines.server import external_actions as acts
from tdelta.engines.server.base import SqlAction, SqlRestore
from tdelta.engines.server.external_actions import ActionTarget, acted
from tdelta.errors import ExternalServerFault

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


def place(there: Worker, *, is_taken: bool = False) -> tuple[ActionTarget, Worker, list[str]]:
    removed: list[str] = []
    restore = SqlRestore(
        name=lambda schema: f"{schema}_restored",
        backup=lambda schema, _asked: (f"backup {schema}",),
        answer=lambda restored, table: f"count {restored}.{table}",
        remove=lambda schema: (f"remove of {schema}",),
    )
    action = SqlAction(
        knobs={},
        numbers={},
        sql=lambda schema, _asked: (f"restore {schema}",),
        counted=lambda _schema: "",
        restore=restore,
    )
    kind = SimpleNamespace(sql_actions={"restore": action}, has_schema=lambda _ask, _name: is_taken)
    connection = SimpleNamespace(run=removed.append)
    server = SimpleNamespace(
        kind=kind, ask=None, connection=connection, name="S", translated_errors=contextlib.nullcontext
    )
    here = Worker()
    schema: Any = SimpleNamespace(name="x", server=server)
    opened: Any = lambda _database: there  # noqa: E731 - one answer
    worker: Any = here
    return ActionTarget(schema, worker, TABLES, opened), here, removed


def test_a_schema_that_has_the_name_already_is_not_touched() -> None:
    where, here, removed = place(Worker(), is_taken=True)
    with pytest.raises(ExternalServerFault) as fault:
        acted(where, "restore", None)
    assert [(one.code, one.parameters["schema"]) for one in fault.value.refusals] == [("schema-taken", "x_restored")]
    assert (here.asked, removed) == ([], [])


def test_restored_rows_that_differ_are_a_fault_and_what_was_restored_is_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(acts, "checksums", lambda worker, _tables: {"orders": worker.checksum})
    where, here, removed = place(Worker("b"))
    with pytest.raises(ExternalServerFault) as fault:
        acted(where, "restore", None)
    assert [(one.code, one.parameters["tables"]) for one in fault.value.refusals] == [("restored-differs", "orders")]
    assert here.asked == [
        ["backup x"],
        "begin_external_load",
        ["restore x", "count x_restored.orders"],
        "end_external_load",
    ]
    assert removed == ["remove of x"]

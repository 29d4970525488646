"""Actions done to a private server that runs already, without a run around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from tdelta.design.actions import parse_action
from tdelta.driver.acting import Halt, Outcome, prepared
from tdelta.driver.servers import Server
from tdelta.engines.servers import ServerSettings
from tdelta.engines.shared.private.actions import Acts, MakeRecipe, Site

RESTARTS = ("restart", "recovery:mb=1", "storm:connections=5")


@contextmanager
def performed(
    engine: object,
    server: Server,
    settings: ServerSettings,
    level: str,
    table: str,
    beside: MakeRecipe = lambda _: pytest.fail("no other server was to be made"),
    halt: Halt | None = None,
) -> Iterator[Outcome]:
    """Within the block an action has been done and is not undone yet."""
    assert isinstance(engine, Acts)
    asked, halt = parse_action(level), halt or Halt()
    site = Site(server, server.recipe, settings, halt, lambda: None, (table,), beside, asked.knobs)
    act = engine.actions[asked.name].make(site)
    with prepared(act, halt):
        yield act.perform()


def check_restarts(engine: object, server: Server, settings: ServerSettings, table: str) -> None:
    """Started anew, started after a crash with a log that was filled, connected to by several."""
    found: dict[str, Mapping[str, int]] = {}
    for level in RESTARTS:
        before = server.usage()
        with performed(engine, server, settings, level, table) as outcome:
            after = server.usage()
            assert after.cpu_user_seconds + after.cpu_system_seconds > before.cpu_user_seconds
            assert after.asked_read_bytes >= before.asked_read_bytes
            assert after.asked_written_bytes >= before.asked_written_bytes
        found[level.partition(":")[0]] = outcome.counters
    assert found["restart"]["start_ns"] > 0 < found["restart"]["stop_ns"]
    assert found["recovery"]["log_behind_bytes"] >= 900_000
    assert found["storm"]["connections"] == 6

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from tdelta.design.actions import parse_action
from tdelta.engines.server.actions import MakeRecipe, Site, TwinRows
from tdelta.engines.server.base import ServerEngine, ServerSettings
from tdelta.processes.actions import COUNTED, Act, Halt, Outcome, alone, prepared
from tdelta.processes.servers.server import Server
from tdelta.records.trials import BACKUP, SEARCHED

RESTARTS = ("restart", "recovery:mb=1", "storm:connections=5")


BACKUPS = ("backup:compress=zstd", "backup:tool=dump:compress=zstd", "restore:compress=zstd", "restore:tool=dump")
_MARKERS = f"{COUNTED}{BACKUP}{SEARCHED}"


def _act(
    engine: ServerEngine,
    server: Server,
    settings: ServerSettings,
    level: str,
    rows: TwinRows,
    beside: MakeRecipe,
    halt: Halt,
) -> Act:
    asked = parse_action(level)
    site = Site(server, server.recipe, settings, halt, lambda: None, beside, asked, engine, rows)
    return engine.actions[asked.name].make(site)


@contextmanager
def performed(
    engine: ServerEngine,
    server: Server,
    settings: ServerSettings,
    level: str,
    table: str,
    beside: MakeRecipe = lambda _: pytest.fail("no other server was to be made"),
    halt: Halt | None = None,
) -> Iterator[Outcome]:
    halt = halt or Halt()
    act = _act(engine, server, settings, level, TwinRows(((table, ()),), ()), beside, halt)
    with prepared(act, halt):
        yield act.perform()


def check_backups(
    engine: ServerEngine, server: Server, settings: ServerSettings, rows: TwinRows, beside: MakeRecipe, shown: set[str]
) -> None:
    """Backed up by both tools and searched, restored into another server (made by ``beside``) and compared."""
    found: dict[str, Mapping[str, int]] = {}
    for level in BACKUPS:
        halt = Halt()
        act = _act(engine, server, settings, level, rows, beside, halt)
        measured = alone(act, level, server.usage, halt, None)
        assert measured.cpu_seconds > 0
        found[level] = measured.engine_counters
    in_clear = {
        level: {name.removeprefix(_MARKERS) for name, markers in of.items() if name.startswith(_MARKERS) and markers}
        for level, of in found.items()
    }
    physical, dump, restored, undumped = BACKUPS
    assert in_clear[physical] == shown
    assert in_clear[dump] == {"dump"}
    assert found[physical]["action_backup_raw_bytes"] > found[physical]["action_backup_bytes"] > 10_000
    assert found[restored]["action_rows_compared"] == found[undumped]["action_rows_compared"] > 1000


def check_restarts(engine: ServerEngine, server: Server, settings: ServerSettings, table: str) -> None:
    """Started anew, started after a crash with a log that was filled, connected to by several."""
    found: dict[str, Mapping[str, int]] = {}
    for level in RESTARTS:
        before = server.usage()
        with performed(engine, server, settings, level, table) as outcome:
            after = server.usage()
            assert after.cpu_user_seconds + after.cpu_system_seconds > before.cpu_user_seconds
            assert after.syscall_read_bytes >= before.syscall_read_bytes
            assert after.syscall_written_bytes >= before.syscall_written_bytes
        found[level.partition(":")[0]] = outcome.counters
    assert found["restart"]["start_ns"] > 0 < found["restart"]["stop_ns"]
    assert found["recovery"]["log_behind_bytes"] >= 900_000
    assert found["storm"]["connections"] == 6

"""The cases of `hostile` on servers that stand for a user's: what a DBA may do meanwhile, and signals.

After each the servers have to be as they were, but for what the case itself made; a schema that could not be dropped
has to be named with the statement that drops it, which is then run.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "live"))

from hostile_kit import ANSWERED, BRIEF, LONG, Case, Here, ended, many_signals
from mariadb.test_external_runs import TestMariadbExternalRuns as OnMariadb
from mysql.test_external_runs import TestMysqlExternalRuns as OnMysql
from postgres.test_external_runs import TestPostgresExternalRuns as OnPostgres

from support.external_runs import VARIABLE
from support.own_engines import PASSWORD
from support.running import Ran, read_until
from tdelta.processes.workers import Refused

SERVERS = contextlib.ExitStack()
"""Servers and folders, closed at the campaign's end."""

ENGINES: dict[str, Any] = {"mariadb": OnMariadb, "mysql": OnMysql, "postgres": OnPostgres}
STOPPED_REPLICA = {
    "mariadb": (
        "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USER='x'",
        "RESET SLAVE ALL",
        "GRANT SLAVE MONITOR ON *.* TO bench@'127.0.0.1'",
        "REVOKE SLAVE MONITOR ON *.* FROM bench@'127.0.0.1'",
    ),
    "mysql": (
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=1, SOURCE_USER='x'",
        "RESET REPLICA ALL",
        "SELECT 1",
        "SELECT 1",
    ),
}
"""Statements that make a server a stopped replica and undo it, and the right to see it."""

_LEFT = re.compile(r"remove it with: (DROP SCHEMA \S+(?: CASCADE)?)")
Act = Callable[[Any, tuple[Any, Any], "subprocess.Popen[str]"], None]


def cases() -> Iterator[Case]:
    """Of every engine that is here."""
    for engine, on in ENGINES.items():
        if not on.own.programs():
            continue
        during: dict[str, tuple[Act, tuple[int, ...], str]] = {
            "KILL of all sessions": (_kill_sessions, ANSWERED, ""),
            "read only": (_make_read_only, (2,), "default_transaction_read_only"),
            "a stranger's table in its schema": (_add_table, ANSWERED, ""),
            "SIGTERM five times": (_signals([signal.SIGTERM] * 5), (130,), "interrupted"),
            "SIGINT 40 times": (_signals([signal.SIGINT] * 40), (130,), "interrupted"),
            "HUP, TERM, INT": (_signals([signal.SIGHUP, signal.SIGTERM, signal.SIGINT] * 5), (130,), "interrupted"),
            "kill -9": (_signals([signal.SIGKILL]), (-9,), ""),
        }
        for name, (act, codes, said) in during.items():
            yield Case(f"{engine}: {name}", partial(_during, on, engine, act), codes, said)
        if engine in STOPPED_REPLICA:
            replica = partial(_stopped_replica, on, engine)
            yield Case(f"{engine}: a replica that is stopped", replica, (2,), "replica whose replication may resume")


@cache
def _servers(engine: str) -> tuple[Any, Any]:
    os.environ[VARIABLE] = PASSWORD
    folder = Path(SERVERS.enter_context(tempfile.TemporaryDirectory(prefix="hostile-servers-")))
    folder.chmod(0o755)
    found: tuple[Any, Any] = SERVERS.enter_context(ENGINES[engine].own.two(folder))
    return found


def _options(on: Any, servers: tuple[Any, Any]) -> tuple[str, ...]:
    baseline, encrypted = (on.dsn(server.port) for server in servers)
    return (*on.vouching, "--baseline", baseline, "--encrypted", encrypted)


def _during(on: Any, engine: str, act: Act, here: Here) -> Ran:
    """Something happens once trials have begun."""
    servers = _servers(engine)
    before = on.objects(servers)
    rounds = BRIEF if act in (_kill_sessions, _add_table) else LONG
    process = here.start("run", *rounds, "--blocks", "20", *_options(on, servers))
    read_until(process, "round 1:")
    act(on, servers, process)
    try:
        ran = ended(process)
    finally:
        _make_writable(on, servers)
    for statement in _LEFT.findall(ran.err):
        for server in servers:
            with contextlib.closing(on.own.root(server)) as asked, contextlib.suppress(Refused):
                asked.run(statement)
    here.settle()
    assert on.objects(servers) == before, f"the servers are not as they were: {ran.err[-500:]!r}"
    return ran


def _kill_sessions(on: Any, servers: tuple[Any, Any], _process: object) -> None:
    for server in servers:
        with contextlib.closing(on.own.root(server)) as asked:
            for (session,) in asked.rows(on.sessions_sql)[1]:
                with contextlib.suppress(Refused):
                    asked.run(on.kill_sql.format(session))


def _make_read_only(on: Any, servers: tuple[Any, Any], _process: object) -> None:
    with contextlib.closing(on.own.root(servers[1])) as asked:
        for statement in on.read_only_sql:
            asked.run(statement)


def _make_writable(on: Any, servers: tuple[Any, Any]) -> None:
    with contextlib.closing(on.own.root(servers[1])) as asked:
        for statement in on.writable_sql:
            asked.run(statement)


def _add_table(on: Any, servers: tuple[Any, Any], _process: object) -> None:
    with contextlib.closing(on.own.root(servers[0])) as asked:
        names = asked.rows("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA")[1]
        (schema,) = [str(name) for (name,) in names if str(name).startswith("tdelta_")]
        asked.run(f"CREATE TABLE {schema}.strangers (id INT)")


def _signals(numbers: list[signal.Signals]) -> Act:
    return lambda _on, _servers, process: many_signals(process, numbers)


def _stopped_replica(on: Any, engine: str, here: Here) -> Ran:
    servers = _servers(engine)
    begin, end, grant, revoke = STOPPED_REPLICA[engine]
    with contextlib.closing(on.own.root(servers[1])) as asked:
        for statement in (grant, begin):
            asked.run(statement)
        try:
            return ended(here.start("run", "--dry-run", *BRIEF, *_options(on, servers)))
        finally:
            for statement in (end, revoke):
                asked.run(statement)

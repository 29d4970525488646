import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from support.loads import Load, run
from support.own_engines import Session
from support.processes import eventually
from support.running import require
from tdelta import _native
from tdelta.processes.load_generator.command import Work, parse_load
from tdelta.processes.load_generator.connections import Connection

from .own import INSTALL, install, programs, root, running

WORK = Work(threads=2, operations=300, seconds=1.0, seed=7)


@dataclass(frozen=True)
class Server:
    connection: Connection
    session: Session

    def ask(self, sql: str) -> str:
        return self.session.text(sql)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    require(programs(), INSTALL)
    require(shutil.which("sysbench"), "install the package sysbench")
    base = tmp_path_factory.mktemp("pg")
    installed = install(base)
    rules = installed / "pg_hba.conf"
    rules.write_text(f"local all tdelta trust\n{rules.read_text()}")
    with running(installed, base / "p") as started, contextlib.closing(root(started, "postgres")) as session:
        session.run("CREATE USER tdelta SUPERUSER")
        socket = started.sockets / f".s.PGSQL.{started.port}"
        connection = Connection("postgres", "tdelta", "postgres", socket=socket)
        load_tables(connection)
        yield Server(connection, session)


def load_tables(connection: Connection) -> None:
    whom = os.environ | connection.environment()
    made = [f"{programs()}/pgbench", "-i", "-q", "--init-steps=dtgp"]
    subprocess.run(made, env=whom, capture_output=True, check=True)
    options = [
        "--db-driver=pgsql",
        f"--pgsql-host={connection.host}",
        f"--pgsql-port={connection.port}",
        "--pgsql-user=tdelta",
    ]
    subprocess.run(
        ["sysbench", "oltp_point_select", *options, "--pgsql-db=postgres", "--table-size=500", "prepare"],
        env=whom,
        capture_output=True,
        check=True,
    )


def test_pgbench_runs_the_work_that_was_asked_for_and_its_log_is_read(server: Server, tmp_path: Path) -> None:
    command = parse_load("pgbench -n -M prepared -b tpcb-like -b select-only@3", "postgres")
    measured = run(command, server.connection, WORK, parent=tmp_path, deadline_seconds=60.0)
    rows = int(server.ask("SELECT count(*) FROM pgbench_history"))
    assert measured.operations == 300
    assert measured.transactions["TPC-B (sort of)"].count == rows > 0
    assert measured.transactions["select only"].count == 300 - rows
    counts = [_native.histogram_summary([payload], [0.5])[0] for payload in measured.histograms.values()]
    assert sorted(counts) == sorted([rows, 300 - rows])
    assert 0 < measured.response_ns * 300 < 2 * measured.elapsed_ns * 1.01, "two connections share the time"
    assert measured.client_cpu_seconds > 0.0
    assert list(tmp_path.iterdir()) == []


def history_after(server: Server, parent: Path, seed: int) -> str:
    server.session.run("TRUNCATE pgbench_history")
    work = replace(WORK, operations=20, seed=seed)
    run(parse_load("pgbench -n", "postgres"), server.connection, work, parent=parent, deadline_seconds=60.0)
    return server.ask("SELECT string_agg(aid || ':' || delta, ' ' ORDER BY aid, delta) FROM pgbench_history")


def test_the_same_seed_is_the_same_work_on_all_connections(server: Server, tmp_path: Path) -> None:
    first = history_after(server, tmp_path, 7)
    assert len(first.split()) == 20
    assert first == history_after(server, tmp_path, 7)
    assert first != history_after(server, tmp_path, 8)


def test_sysbench_is_a_load_of_postgresql_too(server: Server, tmp_path: Path) -> None:
    command = parse_load("sysbench oltp_point_select --table-size=500 run", "postgres")
    measured = run(command, server.connection, WORK, parent=tmp_path, deadline_seconds=60.0)
    assert (measured.operations, measured.transactions["event"].count) == (300, 300)


def test_any_client_connects_with_no_option_at_all(server: Server, tmp_path: Path) -> None:
    text = f"{programs()}/psql -Xc \"SELECT 'rows: ' || count(*) FROM pgbench_branches, generate_series(1, 7)\""
    command = parse_load(text, "postgres", operations=r"rows: (\d+)")
    assert run(command, server.connection, WORK, parent=tmp_path, deadline_seconds=60.0).operations == 7


def load_that_goes_on(server: Server, parent: Path) -> Load:
    load = Load(parse_load("pgbench -n -S -T 300", "postgres"), server.connection, parent)
    load.begin(WORK, 300.0)
    assert eventually(lambda: connections(server, "AND query LIKE 'SELECT abalance%'") == WORK.threads)
    return load


def connections(server: Server, which: str = "") -> int:
    return int(server.ask(f"SELECT count(*) FROM pg_stat_activity WHERE usename = 'tdelta' {which}"))


def test_a_stop_closes_the_connections_and_leaves_no_log(server: Server, tmp_path: Path) -> None:
    with load_that_goes_on(server, tmp_path) as load:
        load.stop()
        assert load.answer().stopped_by == "signal"
        assert not list(tmp_path.rglob("load-log*"))
    assert eventually(lambda: connections(server) == 0)

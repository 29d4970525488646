import ctypes
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from support.loads import Load, run
from support.processes import eventually
from support.running import require
from tdelta import _native
from tdelta.measure.starting import die_with_parent
from tdelta.processes.load_generator.command import Work, parse_load
from tdelta.processes.load_generator.connections import Connection

from .programs import folder_of_programs

PORT = 5499
WORK = Work(threads=2, operations=300, seconds=1.0, seed=7)
PATIENCE_SECONDS = 60.0
CLONE_NEWUSER = 0x10000000


@dataclass(frozen=True)
class Server:
    connection: Connection
    psql: str

    def ask(self, sql: str) -> str:
        told = subprocess.run(
            [self.psql, "-XAtc", sql],
            env=os.environ | self.connection.environment() | {"PGUSER": "owner"},
            capture_output=True,
            text=True,
            check=True,
        )
        return told.stdout.strip()


def not_as_root() -> None:
    """PostgreSQL refuses to run as root: in a user namespace of its own it is somebody else."""
    if os.geteuid() != 0:
        return
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER) != 0:
        os._exit(1)
    Path("/proc/self/setgroups").write_text("deny")
    for name in ("uid_map", "gid_map"):
        Path(f"/proc/self/{name}").write_text("1000 0 1")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    programs = folder_of_programs()
    require(programs, "install the package postgresql")
    require(shutil.which("sysbench"), "install the package sysbench")
    assert programs is not None
    folder = tmp_path_factory.mktemp("pg")
    data, log = folder / "data", folder / "log"
    made = [f"{programs}/initdb", "-D", str(data), "-U", "owner", "-A", "trust", "-N", "--no-locale"]
    subprocess.run([*made, "-E", "UTF8"], capture_output=True, check=True, preexec_fn=not_as_root)
    settings = {"unix_socket_directories": folder, "listen_addresses": "", "fsync": "off", "port": PORT}
    parent = os.getpid()

    def first() -> None:
        not_as_root()
        die_with_parent(parent)

    with log.open("wb") as said:
        process = subprocess.Popen(
            [f"{programs}/postgres", "-D", str(data), *(f"--{name}={value}" for name, value in settings.items())],
            stdout=said,
            stderr=said,
            preexec_fn=first,
        )
    try:
        socket = folder / f".s.PGSQL.{PORT}"
        connection = Connection("postgres", "tdelta", "postgres", socket=socket)
        found = Server(connection, f"{programs}/psql")
        assert eventually(lambda: "ready to accept connections" in log.read_text()), log.read_text()
        found.ask("CREATE USER tdelta SUPERUSER")
        load_tables(connection, f"{programs}/pgbench")
        yield found
    finally:
        process.send_signal(signal.SIGQUIT)  # its children end with it, which they do not when it is killed
        try:
            process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def load_tables(connection: Connection, pgbench: str) -> None:
    whom = os.environ | connection.environment()
    subprocess.run([pgbench, "-i", "-q", "--init-steps=dtgp"], env=whom, capture_output=True, check=True)
    options = [
        "--db-driver=pgsql",
        f"--pgsql-host={connection.host}",
        f"--pgsql-port={PORT}",
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
    server.ask("TRUNCATE pgbench_history")
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
    text = f"{server.psql} -Xc \"SELECT 'rows: ' || count(*) FROM pgbench_branches, generate_series(1, 7)\""
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

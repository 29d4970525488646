import contextlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.loads import Load, run
from support.own_engines import Session
from support.processes import eventually
from support.refused import Part, refused
from support.running import require
from tdelta import _native
from tdelta.errors import Defect, LoadFault
from tdelta.processes import Worker
from tdelta.processes.load_generator.command import Work, parse_load
from tdelta.processes.load_generator.connections import Connection
from tdelta.processes.load_generator.trial import with_server

from .own import INSTALL, install, programs, root, running

TABLES = "--tables=2 --table-size=500"
WORK = Work(threads=2, operations=300, seconds=1.0, seed=7)


@dataclass(frozen=True)
class Server:
    connection: Connection
    pid: int
    session: Session

    def ask(self, sql: str) -> list[str]:
        """The last column of the rows."""
        return [str(row[-1]) for row in self.session.rows(sql)[1]]

    def status(self, name: str) -> int:
        return int(self.ask(f"SHOW GLOBAL STATUS LIKE '{name}'")[0])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    require(programs(), INSTALL)
    require(shutil.which("sysbench"), "install the package sysbench")
    base = tmp_path_factory.mktemp("maria")
    with (
        running(install(base), base / "p", "--innodb-buffer-pool-size=32M") as started,
        contextlib.closing(root(started)) as session,
    ):
        session.run("CREATE DATABASE tdelta")
        session.run("CREATE USER tdelta@localhost")
        session.run("GRANT ALL ON tdelta.* TO tdelta@localhost")
        whom = (f"--mysql-socket={started.socket}", "--mysql-user=tdelta", "--mysql-db=tdelta")
        subprocess.run(
            ["sysbench", "oltp_read_only", *whom, *TABLES.split(), "prepare"],
            capture_output=True,
            check=True,
        )
        connection = Connection("mysql", "tdelta", "tdelta", socket=started.socket)
        yield Server(connection, started.process.pid, session)


def test_sysbench_runs_the_work_that_was_asked_for_and_its_results_are_read(server: Server, tmp_path: Path) -> None:
    command = parse_load(f"sysbench oltp_point_select {TABLES} run", "mysql")
    before = server.status("Com_stmt_execute")
    measured = run(command, server.connection, WORK, parent=tmp_path, deadline_seconds=60.0)
    assert server.status("Com_stmt_execute") - before == 300 == measured.operations
    assert _native.histogram_summary([measured.histograms["tx:event"]], [0.5])[0] == 300
    assert 0 < measured.response_ns * 300 < 2 * measured.elapsed_ns * 1.01, "two connections share the time"
    assert measured.client_cpu_seconds > 0.0
    assert list(tmp_path.iterdir()) == []


def test_what_the_server_used_meanwhile_is_added(server: Server, tmp_path: Path) -> None:
    command = parse_load(f"sysbench oltp_read_write {TABLES} run", "mysql")
    connection = server.connection
    options = {"protocol": "mysql", "socket": str(connection.socket), "user": "tdelta"}
    counted = (
        "SELECT 'inserted', variable_value FROM information_schema.global_status WHERE variable_name = 'HANDLER_WRITE'"
    )
    with Worker() as worker, Load(command, connection, tmp_path) as load:
        worker.ask("connect", options={**options, "database": "tdelta"}, connections=1)
        worker.ask("observe", observed={"watch": [server.pid], "counters": [counted]})
        worker.ask("begin_external_load")
        own = load.trial(WORK, 60.0)
        measured = with_server(own, worker.ask("end_external_load"))
        with pytest.raises(Defect):
            worker.ask("end_external_load")
    assert measured.cpu_seconds > 0.0
    assert measured.client_cpu_seconds == own.client_cpu_seconds > 0.0
    assert measured.engine_counters["inserted"] >= 300
    assert measured.usage.syscall_written_bytes > 0


@pytest.mark.parametrize(
    "text",
    [
        "mariadb --defaults-extra-file={option_file} --socket={socket} --user={user} {database} -e 'DO SLEEP(0.01)'",
        "mariadb --defaults-extra-file={option_file} {database} -e 'DO SLEEP(0.01)'",
        "mariadb --no-defaults --user={user} {database} -e 'DO SLEEP(0.01)'",
    ],
)
def test_any_client_connects_by_file_or_by_environment(server: Server, tmp_path: Path, text: str) -> None:
    measured = run(parse_load(text, "mysql"), server.connection, WORK, parent=tmp_path, deadline_seconds=60.0)
    assert (measured.operations, list(measured.transactions)) == (1, ["mariadb"])
    assert measured.elapsed_ns > 10_000_000


def load_that_goes_on(server: Server, parent: Path) -> Load:
    command = parse_load(f"sysbench oltp_point_select {TABLES} --time=300 run", "mysql")
    load = Load(command, server.connection, parent)
    load.begin(WORK, 300.0)
    assert eventually(lambda: is_connected(server))
    return load


def is_connected(server: Server) -> bool:
    return server.ask("SELECT COUNT(*) FROM information_schema.processlist WHERE user='tdelta'") != ["0"]


def words_of_children(pid: int) -> bytes:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    assert children
    return b"".join(Path(f"/proc/{child}/cmdline").read_bytes() for child in children)


def test_a_stop_closes_the_connections_of_a_running_load(server: Server, tmp_path: Path) -> None:
    with load_that_goes_on(server, tmp_path) as load:
        assert b"--mysql-socket" in words_of_children(load.pid)
        load.stop()
        assert load.answer().stopped_by == "signal"
    assert eventually(lambda: not is_connected(server))


def test_connections_that_the_server_ends_are_a_fault_in_its_words(server: Server, tmp_path: Path) -> None:
    with load_that_goes_on(server, tmp_path) as load:
        server.session.run("KILL USER tdelta")
        with refused(LoadFault, "load-failed", how=Part("1")) as fault:
            load.answer()
    assert re.search("gone away|Lost connection", str(fault.value)), "the words of the client's library"

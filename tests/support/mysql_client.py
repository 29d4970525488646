"""The native client of the MySQL protocol against real servers: what holds for all of them.

One class of tests an engine. Each has a private server of its own, in a folder of its own, which ends with its parent.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from support.certificates import certify
from support.data import text_of
from support.ports import free_port
from support.processes import until
from support.running import server_of
from support.serving import ENGINES
from support.temporaries import temporary_files_in
from tdelta import _native
from tdelta.engines.server.base import ServerBinary
from tdelta.measure.starting import die_with_parent

DATABASE = "tdelta"
START_SECONDS = 120.0
STOP_SECONDS = 20.0
SEED = 7
RIGHT, WRONG = "correct-horse", "battery-staple"
EVERY_DISTRIBUTION = json.loads(text_of("every-distribution.json"))
SCHEMA = [
    "CREATE TABLE parents (id INTEGER PRIMARY KEY, least BIGINT, most BIGINT)",
    "CREATE TABLE `every distribution` (id BIGINT PRIMARY KEY, parent INTEGER, flat SMALLINT, price DOUBLE,"
    " tiny DOUBLE, noise VARCHAR(60), odd TEXT, at BIGINT)",
    "CREATE TABLE bytes (id INTEGER PRIMARY KEY, b BLOB)",
]
INDEXES = ["CREATE INDEX by_parent ON `every distribution` (parent)"]
COLUMNS = [(table["name"], [column["name"] for column in table["columns"]]) for table in EVERY_DISTRIBUTION["tables"]]  # type: ignore[index,attr-defined]


@dataclass
class Server:
    process: subprocess.Popen[bytes]
    socket: Path
    port: int

    @property
    def pid(self) -> int:
        return self.process.pid

    def options(self, **changes: Any) -> str:
        options = {"protocol": "mysql", "socket": str(self.socket), "user": "root", "database": DATABASE} | changes
        return json.dumps({name: value for name, value in options.items() if value is not None})

    def tcp(self, **changes: Any) -> str:
        return self.options(**({"socket": None, "host": "127.0.0.1", "port": self.port} | changes))

    @contextlib.contextmanager
    def twin(self, connections: int = 1, **changes: Any) -> Iterator[_native.ServerTwin]:
        twin = _native.ServerTwin(self.options(**changes), connections)
        try:
            yield twin
        finally:
            twin.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(STOP_SECONDS)


@dataclass(frozen=True)
class Program:
    binary: ServerBinary

    def command(self, data: Path) -> list[str]:
        """The server on a data directory; one that was unpacked is told where its files are."""
        command = [*self.binary.launcher, str(self.binary.path), "--no-defaults", f"--datadir={data}", "--user=root"]
        if self.binary.root is not None:
            base = self.binary.root / "usr"
            command += [f"--basedir={base}", f"--plugin-dir={base}/lib/mysql/plugin"]
            command += [f"--lc-messages-dir={base}/share/mysql", f"--character-sets-dir={base}/share/mysql/charsets"]
        return command

    def install(self, data: Path) -> None:
        if self.binary.kind == "mysql":
            command = [*self.command(data), "--initialize-insecure"]
        else:
            command = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root", "--skip-test-db"]
            command.append("--auth-root-authentication-method=normal")
        command.append(temporary_files_in(data.parent))
        subprocess.run(command, check=True, capture_output=True, timeout=START_SECONDS)


@contextlib.contextmanager
def running(program: Program, template: Path, folder: Path, *arguments: str) -> Iterator[Server]:
    data, path, parent, port = folder / "data", folder / "s", os.getpid(), free_port()
    shutil.copytree(template, data)
    command = [*program.command(data), f"--socket={path}", "--bind-address=127.0.0.1", f"--port={port}"]
    command += [
        temporary_files_in(folder),
        "--local-infile=1",
        "--max-connections=600",
        "--innodb-buffer-pool-size=64M",
    ]
    command += [
        "--innodb-flush-log-at-trx-commit=2",
        *(["--mysqlx=OFF", "--secure-file-priv=NULL"] if program.binary.kind == "mysql" else []),
        *arguments,
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, preexec_fn=lambda: die_with_parent(parent)
        )
    server = Server(process, path, port)
    try:
        wait_until_it_answers(server, folder / "log")
        yield server
    finally:
        process.kill()
        process.wait(STOP_SECONDS)
        shutil.rmtree(data)


def wait_until_it_answers(server: Server, log: Path) -> None:
    """Make its database once it can be connected to."""
    until = time.monotonic() + START_SECONDS
    while True:
        assert server.process.poll() is None, log.read_text(errors="replace")[-2000:]
        try:
            with server.twin(database=None) as twin:
                twin.run(f"CREATE DATABASE IF NOT EXISTS {DATABASE} CHARACTER SET utf8mb4")
                return
        except _native.NativeError:
            assert time.monotonic() < until, log.read_text(errors="replace")[-2000:]
            time.sleep(0.05)


def user(twin: _native.ServerTwin, name: str, password: str) -> None:
    twin.run(f"DROP USER IF EXISTS {name}")
    twin.run(f"CREATE USER {name} IDENTIFIED BY '{password}'")


def renewed(twin: _native.ServerTwin, *schema: str) -> None:
    for statement in (f"DROP DATABASE {DATABASE}", f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4", *schema):
        twin.run(statement)
        if statement.startswith("CREATE DATABASE"):
            twin.run(f"USE {DATABASE}")


def script(text: str, name: str = "t") -> str:
    return json.dumps([{"name": name, "weight": 1.0, "text": text}])


def orders(operations: int, **changes: Any) -> str:
    base = {"seed": SEED, "stream": 1, "operations": operations, "first_op": 1, "deadline_ns": 60_000_000_000}
    return json.dumps(base | changes)


def run(twin: _native.ServerTwin, text: str, operations: int, **changes: Any) -> dict[str, Any]:
    twin.prepare(script(text), "{}")
    return twin.trial(orders(operations, **changes))


def refusal(options: str) -> tuple[str, str]:
    with pytest.raises(_native.NativeError) as caught:
        _native.ServerTwin(options, 1)
    kind, message = caught.value.args
    return kind, message


def tls_cipher(options: str) -> str:
    twin = _native.ServerTwin(options, 1)
    try:
        return str(twin.rows("SHOW SESSION STATUS LIKE 'Ssl_cipher'")[1][0][1])
    finally:
        twin.close()


FAR = {"user": "far", "password": "p"}


class MysqlClient:
    kind: ClassVar[str]

    @pytest.fixture(scope="class")
    @classmethod
    def program(cls) -> Program:
        return Program(server_of(cls.kind))

    @pytest.fixture(scope="class")
    @classmethod
    def template(cls, program: Program, tmp_path_factory: pytest.TempPathFactory) -> Path:
        folder = tmp_path_factory.mktemp("template") / "data"
        program.install(folder)
        return folder

    @pytest.fixture(scope="class")
    @classmethod
    def certificate(cls, tmp_path_factory: pytest.TempPathFactory) -> Path:
        return certify(tmp_path_factory.mktemp("certificate"))

    @pytest.fixture(scope="class")
    @classmethod
    def server(
        cls, program: Program, template: Path, certificate: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> Iterator[Server]:
        tls = [f"--ssl-{name}={certificate / file}" for name, file in (("cert", "cert.pem"), ("key", "key.pem"))]
        with running(program, template, tmp_path_factory.mktemp("server"), *tls) as server:
            yield server

    @pytest.fixture
    @classmethod
    def twin(cls, server: Server) -> Iterator[_native.ServerTwin]:
        """A connection to a database without tables."""
        with server.twin() as twin:
            renewed(twin)
            yield twin

    @pytest.mark.parametrize("threads", [1, 4])
    def test_rows_load_with_the_checksums_that_generation_gives(self, twin: _native.ServerTwin, threads: int) -> None:
        twin.load(json.dumps(EVERY_DISTRIBUTION), SEED, threads, SCHEMA, INDEXES)
        assert twin.checksums(COLUMNS) == _native.plan_checksums(json.dumps(EVERY_DISTRIBUTION), SEED, 2)
        assert "by_parent" in twin.rows("SHOW CREATE TABLE `every distribution`")[1][0][1]  # type: ignore[operator]

    def test_a_server_that_takes_no_files_is_loaded_by_statements(self, twin: _native.ServerTwin) -> None:
        twin.run("SET GLOBAL local_infile=0")
        try:
            twin.load(json.dumps(EVERY_DISTRIBUTION), SEED, 2, SCHEMA, INDEXES)
        finally:
            twin.run("SET GLOBAL local_infile=1")
        assert twin.checksums(COLUMNS) == _native.plan_checksums(json.dumps(EVERY_DISTRIBUTION), SEED, 2)

    def test_a_row_that_the_server_would_change_is_a_fault_of_the_load(self, twin: _native.ServerTwin) -> None:
        narrow = SCHEMA[1].replace("noise VARCHAR(60)", "noise VARCHAR(3)")
        with pytest.raises(_native.NativeError, match="noise") as caught:
            twin.load(json.dumps(EVERY_DISTRIBUTION), SEED, 1, [SCHEMA[0], narrow, SCHEMA[2]], [])
        assert caught.value.args[0] == "load"

    def test_answers_come_with_names_and_nulls(self, twin: _native.ServerTwin) -> None:
        names, rows = twin.rows("SELECT 1 AS a, NULL AS b, 'ü🔑' AS c, 1.50 AS d UNION ALL SELECT -2, '', 'x', 0")
        assert names == ["a", "b", "c", "d"]
        assert rows == [["1", None, "ü🔑", "1.50"], ["-2", "", "x", "0.00"]]
        assert twin.text("SELECT NULL") == twin.text("SELECT 1 FROM DUAL WHERE 0") == twin.text("DO 1") == ""
        assert twin.text("SELECT 40 + 2") == "42"

    def test_a_long_row_and_many_rows_are_read_whole(self, twin: _native.ServerTwin) -> None:
        assert twin.text("SELECT REPEAT('x', 1000000)") == "x" * 1_000_000
        twin.run("CREATE TABLE digits (n INT)")
        twin.run("INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7)")
        assert (
            len(twin.rows("SELECT a.n FROM digits a, digits b, digits c, digits d, digits e LIMIT 30000")[1]) == 30_000
        )

    @pytest.mark.parametrize("connections", [1, 4])
    def test_a_trial_does_its_work_and_tells_of_it(self, server: Server, connections: int) -> None:
        text = (
            "\\set id random(1, 100)\n"
            "BEGIN;\n"
            "SELECT n, c FROM t WHERE id BETWEEN :id AND :id + 9;\n"
            "UPDATE t SET n = n + 1 WHERE id = :id;\n"
            "COMMIT;\n"
        )
        with server.twin(connections) as twin:
            renewed(twin, "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, c TEXT)")
            twin.run("INSERT INTO t VALUES " + ", ".join(f"({n}, 0, 'row {n}')" for n in range(1, 121)))
            twin.observe(json.dumps({"watch": [server.pid]}))
            report = run(twin, text, 400)
            outcome = report["outcome"]
            assert (outcome["operations"], outcome["errors"], outcome["stopped_by"]) == (400, {}, "count")
            assert outcome["rows"] == 4000
            assert [count for count, _ in report["spans"].values()] == [400] * 5
            assert twin.text("SELECT SUM(n) FROM t") == "400"

    def test_the_same_trial_binds_the_same_values_whatever_the_number_of_connections(self, server: Server) -> None:
        text = (
            "\\set a random(1, 1000000)\n\\set s random_string(3, 9)\nINSERT INTO log VALUES (:op, :a, :a / 8.0, :s);\n"
        )
        column = [("log", ["op", "a", "r", "s"])]
        sums = []
        for connections in (1, 3):
            with server.twin(connections) as twin:
                renewed(twin, "CREATE TABLE log (op BIGINT, a BIGINT, r DOUBLE, s TEXT)")
                assert run(twin, text, 200)["outcome"]["errors"] == {}
                sums.append(twin.checksums(column))
        assert sums[0] == sums[1]
        assert sums[0]["log"][0] == 200

    def test_gset_puts_the_first_row_into_variables_by_name_and_type(self, twin: _native.ServerTwin) -> None:
        text = (
            "SELECT 40 AS i, 2.5e0 AS r, 'té' AS t, X'00ff' AS b, NULL AS n, -7 AS neg \\gset x_\n"
            "INSERT INTO got VALUES (:x_i, :x_r, :x_t, :x_b, :x_n, :x_neg + :x_i);\n"
        )
        twin.run("CREATE TABLE got (i BIGINT, r DOUBLE, t TEXT, b BLOB, n TEXT, s BIGINT)")
        assert run(twin, text, 2)["outcome"]["errors"] == {}
        _, rows = twin.rows("SELECT i, r, t, HEX(b), n, s FROM got")
        assert rows == [["40", "2.5", "té", "00FF", None, "33"]] * 2

    def test_gset_without_a_row_is_an_error(self, twin: _native.ServerTwin) -> None:
        outcome = run(twin, "SELECT 1 AS x FROM DUAL WHERE 0 \\gset\nSELECT :x;\n", 1)["outcome"]
        assert outcome["errors"] == {"no_row": 1}

    def test_a_parameter_used_twice_or_in_another_order_is_bound_to_each_mark(self, twin: _native.ServerTwin) -> None:
        text = "\\set a 3\n\\set b 5\nINSERT INTO got VALUES (:b, :a, :b, '?1', :a);\n"
        twin.run("CREATE TABLE got (a INT, b INT, c INT, d TEXT, e INT)")
        run(twin, text, 1)
        assert twin.rows("SELECT * FROM got")[1] == [["5", "3", "5", "?1", "3"]]

    def test_a_parameters_type_may_change_from_run_to_run(self, twin: _native.ServerTwin) -> None:
        text = (
            "\\if :op % 3 = 0\n\\set v 7\n\\elif :op % 3 = 1\n\\set v 2.25\n"
            "\\else\n\\set v random_string(4, 4)\n\\endif\n"
            "INSERT INTO got VALUES (:op, :v);\n"
        )
        twin.run("CREATE TABLE got (op INT, v TEXT)")
        assert run(twin, text, 9)["outcome"]["errors"] == {}
        values = [row[1] for row in twin.rows("SELECT op, v FROM got ORDER BY op")[1]]
        assert [v for at, v in enumerate(values, 1) if at % 3 == 0] == ["7"] * 3
        assert [v for at, v in enumerate(values, 1) if at % 3 == 1] == ["2.25"] * 3

    def test_a_deadlock_is_tried_again_and_loses_nothing(self, server: Server) -> None:
        # Both rows are locked, in one order by even operations and in the other by odd ones.
        text = (
            "\\set a 1 + :op % 2\n\\set b 3 - :a\n"
            "BEGIN;\nUPDATE t SET n = n + 1 WHERE id = :a;\nDO SLEEP(0.002);\n"
            "UPDATE t SET n = n + 1 WHERE id = :b;\nCOMMIT;\n"
        )
        with server.twin(4) as twin:
            renewed(twin, "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)", "INSERT INTO t VALUES (1, 0), (2, 0)")
            outcome = run(twin, text, 200, max_tries=1000)["outcome"]
            assert outcome["errors"] == {}
            assert outcome["retries"].get("deadlock", 0) > 0
            assert twin.rows("SELECT n FROM t ORDER BY id")[1] == [["200"], ["200"]]

    def test_an_error_leaves_no_transaction_open(self, twin: _native.ServerTwin) -> None:
        text = "BEGIN;\nINSERT INTO t VALUES (1);\nINSERT INTO t VALUES (1);\nCOMMIT;\n"
        twin.run("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        outcome = run(twin, text, 3, stop_on_error=False)["outcome"]
        assert outcome["errors"] == {"constraint": 3}
        assert "1062" in outcome["first_error"]
        assert twin.text("SELECT COUNT(*) FROM t") == "0"
        # The server runs short internal transactions; one that was left open would stay.
        until(lambda: twin.text("SELECT COUNT(*) FROM information_schema.innodb_trx") == "0")

    def test_connect_opens_a_new_session_and_runs_its_setup(self, server: Server) -> None:
        text = "\\connect\nINSERT INTO seen VALUES (CONNECTION_ID(), @mine);\n"
        with server.twin(setup=["SET @mine = 5"]) as twin:
            renewed(twin, "CREATE TABLE seen (id BIGINT, mine INT)")
            assert run(twin, text, 4)["outcome"]["errors"] == {}
            assert twin.text("SELECT COUNT(DISTINCT id) FROM seen") == "4"
            assert twin.text("SELECT SUM(mine) FROM seen") == "20"

    def test_a_statement_that_the_server_does_not_take_is_told_with_its_line(self, server: Server) -> None:
        with server.twin() as twin, pytest.raises(_native.NativeError) as caught:
            twin.prepare(script("SELECT 1;\nSELECT nonesuch;\n", "named"), "{}")
        kind, message = caught.value.args
        assert kind == "sql"
        assert message.startswith("named, line 2: ")
        assert "nonesuch" in message
        assert "1054" in message

    def test_a_wrong_password_is_told_without_it(self, server: Server) -> None:
        with server.twin() as twin:
            user(twin, "guest@localhost", "correct-horse")
            twin.run("GRANT ALL ON tdelta.* TO guest@localhost")
        with server.twin(user="guest", password=RIGHT) as twin:
            assert twin.text("SELECT CURRENT_USER()") == "guest@localhost"
        kind, message = refusal(server.options(user="guest", password=WRONG))
        assert kind == "auth"
        assert "1045" in message
        assert WRONG not in message

    def test_an_unknown_database_and_missing_rights_are_told_apart(self, server: Server) -> None:
        assert refusal(server.options(database="nonesuch"))[0] == "unknown_database"
        with server.twin() as twin:
            user(twin, "poor@localhost", "")
        assert refusal(server.options(user="poor", database="mysql"))[0] == "denied"

    def test_nobody_there_is_a_matter_of_the_connection(self, server: Server, tmp_path: Path) -> None:
        kind, message = refusal(server.options(socket=str(tmp_path / "none")))
        assert kind == "connection"
        assert str(tmp_path / "none") in message
        assert refusal(server.tcp(port=free_port()))[0] == "connection"

    def test_a_password_in_options_that_cannot_be_read_is_not_repeated(self) -> None:
        with pytest.raises(ValueError, match="options") as caught:
            _native.ServerTwin('{"protocol": "mysql", "user": "u", "password": "battery-staple", "sockte": 1}', 1)
        assert "battery-staple" not in str(caught.value)

    @pytest.fixture(scope="class")
    @classmethod
    def by_tcp(cls, server: Server) -> Server:
        with server.twin() as twin:
            user(twin, "far@'127.0.0.1'", "p")
            twin.run("GRANT ALL ON tdelta.* TO far@'127.0.0.1'")
        return server

    def test_tcp_is_plain_unless_tls_is_asked_for(self, by_tcp: Server, certificate: Path) -> None:
        assert tls_cipher(by_tcp.tcp(**FAR)) == ""
        assert tls_cipher(by_tcp.tcp(**FAR, tls="require"))
        for tls in ("verify-ca", "verify-full"):
            assert tls_cipher(by_tcp.tcp(**FAR, tls=tls, tls_ca=str(certificate / "ca.pem")))

    def test_an_authority_that_did_not_sign_is_refused(self, by_tcp: Server, certificate: Path) -> None:
        # cert.pem signed nothing, and is no authority.
        for tls in ("verify-ca", "verify-full"):
            assert refusal(by_tcp.tcp(**FAR, tls=tls, tls_ca=str(certificate / "cert.pem")))[0] == "tls"

    def test_only_verify_full_minds_the_hosts_name(self, by_tcp: Server, certificate: Path) -> None:
        with by_tcp.twin() as twin:
            user(twin, "far@'localhost'", "p")
            twin.run("GRANT ALL ON tdelta.* TO far@'localhost'")
        elsewhere = {"host": "localhost", "tls_ca": str(certificate / "ca.pem"), **FAR}
        assert tls_cipher(by_tcp.tcp(**elsewhere, tls="verify-ca"))
        assert refusal(by_tcp.tcp(**elsewhere, tls="verify-full"))[0] == "tls"

    def test_trials_run_over_tls(self, by_tcp: Server) -> None:
        with by_tcp.twin() as twin:
            renewed(twin)
        twin = _native.ServerTwin(by_tcp.tcp(**FAR, tls="require"), 2)
        try:
            assert run(twin, "SELECT REPEAT('x', 50000), :op;\n", 20)["outcome"]["rows"] == 20
        finally:
            twin.close()

    def test_two_hundred_connections_run_at_once(self, server: Server) -> None:
        with server.twin(200) as twin:
            outcome = run(twin, "SELECT :op, SLEEP(0.01);\n", 1000)["outcome"]
            assert (outcome["operations"], outcome["errors"]) == (1000, {})
            # One after the other they would take 10 s in sleep alone.
            assert int(twin.rows("SHOW GLOBAL STATUS LIKE 'Max_used_connections'")[1][0][1] or 0) >= 200

    def test_counters_are_what_they_grew_by_over_the_trial(self, twin: _native.ServerTwin) -> None:
        twin.run("CREATE TABLE t (id INTEGER PRIMARY KEY AUTO_INCREMENT, n INTEGER)")
        counters = ["SHOW GLOBAL STATUS LIKE 'Com_insert'", "SHOW GLOBAL STATUS LIKE 'Uptime'"]
        twin.observe(json.dumps({"counters": counters}))
        extra = run(twin, "INSERT INTO t (n) VALUES (:op);\n", 25)["extra"]
        assert extra["counters"]["Com_insert"] == 25
        assert extra["counters"]["Uptime"] < 60
        assert extra["files"] == {}

    def test_what_counts_a_loads_statements_counts_those_and_nothing_else(
        self, program: Program, twin: _native.ServerTwin
    ) -> None:
        query = ENGINES[self.kind](program.binary).work_sql

        def executed() -> int:
            return int(str(twin.rows(query)[1][0][-1]))

        twin.run("CREATE TABLE t (id INT PRIMARY KEY)")
        before = executed()
        twin.run("INSERT INTO t VALUES (1), (2)")
        assert executed() == before
        run(twin, "SELECT id FROM t WHERE id = 1;\nUPDATE t SET id = 2 WHERE id = 2;", 25)
        assert executed() == before + 50

    def test_the_servers_cpu_is_counted_and_the_clients_beside_it(self, server: Server) -> None:
        with server.twin() as twin:
            twin.observe(json.dumps({"watch": [server.pid]}))
            report = run(twin, "SELECT BENCHMARK(1000000, SHA2('x', 256)), :op;\n", 3)
            outcome, extra = report["outcome"], report["extra"]
            served = outcome["cpu_user_seconds"] + outcome["cpu_system_seconds"]
            asked = extra["client_cpu_user_seconds"] + extra["client_cpu_system_seconds"]
            assert served > 0.05
            assert 0 < asked < served / 2
            assert extra["usage"]["cpu_user_seconds"] > 0.05

    def test_settling_belongs_to_the_trial_before_it(self, server: Server) -> None:
        settle = {"settle": ["DO BENCHMARK(1000000, SHA2('x', 256))"], "settle_query": "SELECT 3", "settle_at_most": 3}
        with server.twin() as twin:
            twin.observe(json.dumps({"watch": [server.pid], **settle}))
            twin.prepare(script("SELECT :op;\n"), "{}")
            with_it = twin.trial(orders(2))
            without = twin.trial(orders(2), False)
        assert with_it["outcome"]["cpu_user_seconds"] > 0.05 > without["outcome"]["cpu_user_seconds"]
        assert with_it["extra"]["checkpoint_ns"] > 0 == without["extra"]["checkpoint_ns"]

    def test_a_server_that_never_rests_is_waited_for_no_longer_than_told(self, twin: _native.ServerTwin) -> None:
        twin.observe(json.dumps({"settle_query": "SELECT 9", "settle_at_most": 3, "settle_seconds": 0.2}))
        extra = run(twin, "SELECT :op;\n", 1)["extra"]
        assert extra["checkpoint_ns"] >= 200_000_000

    def test_a_server_killed_in_a_trial_is_told_by_the_trial(
        self, program: Program, template: Path, tmp_path: Path
    ) -> None:
        with running(program, template, tmp_path) as doomed, doomed.twin(3) as twin:
            twin.observe(json.dumps({"watch": [doomed.pid], "counters": ["SHOW GLOBAL STATUS LIKE 'Com_select'"]}))
            twin.prepare(script("SELECT :op, SLEEP(0.01);\n"), "{}")
            killer = threading.Timer(0.5, doomed.kill)
            killer.start()
            try:
                report = twin.trial(orders(1_000_000))
            finally:
                killer.join()
            outcome = report["outcome"]
            assert outcome["stopped_by"] == "error"
            assert set(outcome["errors"]) == {"connection"}
            assert outcome["operations"] > 0
            with pytest.raises(_native.NativeError) as caught:
                twin.text("SELECT 1")
            assert caught.value.args[0] == "connection"

    def test_a_frozen_server_cannot_be_connected_to_for_longer_than_told(
        self, program: Program, template: Path, tmp_path: Path
    ) -> None:
        with running(program, template, tmp_path) as server:
            server.process.send_signal(signal.SIGSTOP)
            began = time.monotonic()
            kind, _ = refusal(server.options(connect_seconds=0.5))
            assert kind == "connection"
            assert time.monotonic() - began > 0.4  # the kernel counts the time of a socket in ticks
            server.process.send_signal(signal.SIGCONT)

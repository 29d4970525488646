"""Drivers against faulty peers on the wire (refusals, cut connections, no TLS), and servers' numbers."""

import gc
import re
import socket
import struct
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from support.wire import (
    HEADER_BYTES,
    answers,
    done,
    error,
    knows_no_tls,
    message,
    peer,
    refuses_login,
    rows,
    talks_no_tls,
)
from tdelta.engines.oracle.worker import DRIVER as ORACLE
from tdelta.engines.server.dbapi_worker import DrivenHost
from tdelta.engines.sqlserver.worker import DRIVER as SQLSERVER
from tdelta.engines.sqlserver.worker import bare, named
from tdelta.processes import TrialJob

_REFUSE = 4


def refuses(number: int) -> Callable[[socket.socket], None]:
    """A listener of Oracle's that refuses: one TNS packet with the error's number, in its words."""

    def does(taken: socket.socket) -> None:
        taken.recv(8192)
        words = f"(DESCRIPTION=(TMP=)(VSNNUM=0)(ERR={number})(ERROR_STACK=(ERROR=(CODE={number})(EMFI=4))))".encode()
        body = bytes([34, 0]) + struct.pack(">H", len(words)) + words
        taken.sendall(struct.pack(">HHBBH", HEADER_BYTES + len(body), 0, _REFUSE, 0, 0) + body)

    return does


def oracle(port: int, tls: str = "disable", *, has_password: bool = True) -> tuple[str, str, bool]:
    module = pytest.importorskip("oracledb")
    options = {"user": "a", "password": "s3cret", "host": "127.0.0.1", "port": port, "database": "x", "tls": tls}
    if not has_password:
        del options["password"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the driver leaves sockets to the collector
        try:
            ORACLE.connect(module, {**options, "answer_seconds": 5.0})
        except module.Error as error:
            found = ORACLE.explained(error)
        else:
            pytest.fail("a peer that is no server let somebody in")
        gc.collect()
    return found


def test_a_service_that_the_listener_does_not_know_is_an_unknown_database() -> None:
    with peer(refuses(12514)) as port:
        kind, words, _ = oracle(port)
    assert kind == "unknown_database"
    assert "s3cret" not in words


@pytest.mark.parametrize("does", [lambda taken: taken.recv(10), lambda taken: taken.close()])
def test_a_connection_that_is_cut_is_lost(does: Callable[[socket.socket], object]) -> None:
    with peer(does) as port:
        kind, words, _ = oracle(port)
    assert kind == "connection", words


def test_without_a_password_one_is_wanted_before_anything_is_connected_to() -> None:
    assert oracle(1, has_password=False)[0] == "auth"


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (
            "DPY-3001: Native Network Encryption is only supported in python-oracledb thick mode",
            "client",
        ),
        ("DPY-3010: connections to this database server version are not supported by python-oracledb", "client"),
        ("DPY-3015: password verifier type 0x939 is not supported by python-oracledb in thin mode", "client"),
        ("DPY-6005: cannot connect to database. ORA-12660: Encryption or crypto-checksumming parameters", "client"),
        ("DPY-4024: call timeout of 60000 ms exceeded", "endless"),
    ],
)
def test_what_the_driver_cannot_do_alone_is_told_from_what_takes_too_long(words: str, kind: str) -> None:
    module = pytest.importorskip("oracledb")
    assert ORACLE.explained(module.DatabaseError(words))[0] == kind


def test_letters_that_are_drawn_for_a_connection_say_nothing_of_tls() -> None:
    module = pytest.importorskip("oracledb")
    words = "DPY-6005: cannot connect to database (CONNECTION_ID=SSLAf3zIoVzBQ8gs34rmA==).\nDPY-4011: network closed"
    assert ORACLE.explained(module.OperationalError(words))[0] == "connection"


def test_a_peer_that_knows_no_tls_is_told_as_that() -> None:
    with peer(lambda taken: taken.sendall(b"HTTP/1.0 400 no TLS here\r\n\r\n")) as port:
        assert oracle(port, "require")[0] == "tls"


def test_nobody_who_listens_is_no_connection() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    assert oracle(port)[0] == "connection"


@pytest.mark.parametrize(
    ("number", "kind", "is_retried"),
    [
        (1017, "auth", False),
        (28000, "auth", False),
        (1013, "endless", False),
        (3113, "connection", False),
        (60, "conflict", True),
        (1, "constraint", False),
        (942, "sql", False),
        (1653, "full", False),
        (257, "full", False),
        (30036, "full", False),
        (65114, "full", False),
        (28365, "keystore", False),
        (28374, "keystore", False),
    ],
)
def test_what_oracle_says_is_told_apart_by_its_number(number: int, kind: str, is_retried: bool) -> None:
    class Error(Exception):
        pass

    module: Any = SimpleNamespace(Error=Error)
    found = ORACLE.said(module, Error(f"ORA-{number:05}: words"))
    assert found is not None
    assert (found[0], found[2]) == (kind, is_retried)
    assert ORACLE.said(module, KeyError("x")) is None


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Driver Error: Invalid authorization; DDBC Error: [Microsoft]Login failed for user 'sa'.", "auth"),
        ("Client unable to establish connection; DDBC Error: [Microsoft]TCP Provider: 0x2749", "connection"),
        ("[Microsoft][ODBC Driver 18 for SQL Server]SSL Provider: certificate verify failed", "tls"),
        ("Driver Error: Communication link failure", "connection"),
        ("Driver Error: Invalid authorization specification; DDBC Error: Fehler bei der Anmeldung", "auth"),
        ("CREATE DATABASE permission denied in database 'master'.", "denied"),
        ("There is insufficient system memory in resource pool 'default' to run this query.", "out_of_memory"),
        ("Transaction (Process ID 5) was deadlocked on lock resources", "conflict"),
        ("Violation of PRIMARY KEY constraint 'x'. Cannot insert duplicate key", "constraint"),
        ("Driver Error: Operation canceled", "endless"),
        ("Invalid object name 'x'", "sql"),
    ],
)
def test_what_sql_server_says_is_told_apart_by_its_words(words: str, kind: str) -> None:
    class Error(Exception):
        pass

    module: Any = SimpleNamespace(Error=Error, ConnectionStringParseError=Error)
    found = SQLSERVER.said(module, Error(words))
    assert found is not None
    assert found[:2] == (kind, words)


DEADLOCK = "Transaction (Process ID 55) was deadlocked on lock resources with another process"


def sqlserver(port: int, tls: str = "disable") -> Any:
    """A connection by Microsoft's driver, which is the one in Rust here (mssql-python-rs): its terms are MIT's."""
    module = SQLSERVER.load()
    options = {"user": "a", "password": "s3cret", "host": "127.0.0.1", "port": port, "tls": tls}
    return SQLSERVER.connect(module, {**options, "answer_seconds": 20})


@pytest.fixture
def _in_rust(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSSQL_PYTHON_NATIVE_PROVIDER", "mssql-odbc")


@pytest.mark.usefixtures("_in_rust")
@pytest.mark.parametrize(
    ("does", "tls", "kind"),
    [
        (refuses_login, "disable", "auth"),
        (knows_no_tls, "require", "tls"),
        (talks_no_tls, "require", "tls"),
        (lambda taken: taken.recv(10), "disable", "connection"),
        (lambda taken: taken.close(), "disable", "connection"),
    ],
)
def test_what_microsofts_driver_makes_of_a_peer(does: Callable[[socket.socket], object], tls: str, kind: str) -> None:
    with peer(does) as port, pytest.raises(SQLSERVER.load().Error) as caught:
        sqlserver(port, tls)
    found = SQLSERVER.explained(caught.value)
    assert found[0] == kind, found[1]
    assert "s3cret" not in found[1]


@pytest.mark.usefixtures("_in_rust")
@pytest.mark.parametrize(
    ("said", "kind", "is_retried"),
    [
        (error(1205, DEADLOCK), "conflict", True),
        (error(1222, "Lock request time out period exceeded."), "locked", True),
        (error(208, "Invalid object name 't'."), "sql", False),
        (error(2627, "Violation of PRIMARY KEY constraint 'p'. Cannot insert duplicate key."), "constraint", False),
        (error(596, "Cannot continue the execution because the session is in the kill state."), "connection", False),
        (None, "connection", False),
        (b"", "endless", False),
    ],
)
def test_what_microsofts_driver_makes_of_an_answer(said: bytes | None, kind: str, is_retried: bool) -> None:
    with peer(answers(lambda sql: said if "wanted" in sql else done())) as port:
        connection = sqlserver(port)
        try:
            connection.cursor().execute("SELECT 'first'")
            connection.timeout = 1 if said == b"" else 20  # the driver's own limit of a statement, s
            cursor = connection.cursor()
            with pytest.raises(SQLSERVER.load().Error) as caught:
                cursor.execute("SELECT 'wanted'")
        finally:
            connection.close()
    found = SQLSERVER.explained(caught.value)
    assert (found[0], found[2]) == (kind, is_retried), found[1]


@pytest.mark.usefixtures("_in_rust")
def test_what_a_server_says_after_a_message_is_taken_and_what_it_refuses_then_is_heard() -> None:
    refused = error(3013, "BACKUP DATABASE is terminating abnormally.")
    said = {
        "SELECT": message("Warning: Null value is eliminated.") + rows(["a"], [["1"]]),
        "BACKUP": message("Processed 8 pages.") + refused,
    }
    host = DrivenHost(SQLSERVER)
    with peer(answers(lambda sql: said.get(sql.split()[0], done()))) as port:
        options = {"user": "a", "password": "s3cret", "host": "127.0.0.1", "port": port, "tls": "disable"}
        host.do_connect({"options": options, "connections": 1})
        try:
            assert host.do_rows({"sql": "SELECT a"})["rows"] == [["1"]]
            with pytest.raises(SQLSERVER.load().Error, match="terminating abnormally"):
                host.do_run({"statements": ["BACKUP DATABASE x"]})
        finally:
            host.do_close({})


@pytest.mark.usefixtures("_in_rust")
def test_transactions_run_through_microsofts_driver_as_the_server_remembers_them() -> None:
    """Parameters become ``@P1``, by which plans are found; transactions are statements, and none begins by itself."""
    script = "BEGIN;\nSELECT name, value FROM t WHERE id = :number + 1;\nCOMMIT;"
    said: list[str] = []

    def answer(sql: str) -> bytes:
        said.append(sql)
        return rows(["name", "value"], [["a", "1"], ["b", None]]) if "SELECT name" in sql else done()

    host = DrivenHost(SQLSERVER)
    with peer(answers(answer)) as port:
        options = {"user": "a", "password": "s3cret", "host": "127.0.0.1", "port": port, "tls": "disable"}
        host.do_connect({"options": {**options, "setup": ["SET LOCK_TIMEOUT 5"]}, "connections": 1})
        try:
            found = host.do_rows({"sql": "SELECT name, value FROM u"})
            assert found == {"columns": ["name", "value"], "rows": [["a", "1"], ["b", None]]}
            text = f"\\set number 4\n{script}"
            transactions = [{"name": "one", "text": text, "weight": 1}]
            host.do_prepare({"transactions": transactions, "constants": {}})
            said.clear()
            job = TrialJob(seed=1, stream=0, operations=2, first_op=0, deadline_seconds=60.0)
            outcome = host.do_trial({"trial": job.as_json()})["outcome"]
        finally:
            host.do_close({})
    assert (outcome["operations"], outcome["errors"]) == (2, {})
    calls = [sql for sql in said if "SELECT name" in sql]
    assert len(calls) == 2
    assert [sql for sql in said if sql in ("BEGIN", "BEGIN TRANSACTION", "COMMIT", "ROLLBACK")] == [
        "BEGIN TRANSACTION",
        "COMMIT",
    ] * 2
    ((_, remembered),) = named({"one": "SELECT name, value FROM t WHERE id = :number + 1;"})
    sent = re.search(r"SELECT name.*@P\d+ \+ 1", calls[0])
    assert sent is not None, calls
    assert bare(sent[0]) == remembered

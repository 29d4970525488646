"""What drivers make of peers on the wire that are no servers: refused, cut off, no TLS; and of servers' numbers."""

from __future__ import annotations

import contextlib
import gc
import socket
import struct
import threading
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tdelta.engines.oracle.worker import DRIVER as ORACLE
from tdelta.engines.sqlserver.worker import DRIVER as SQLSERVER

_REFUSE, _HEADER_BYTES = 4, 8


@contextlib.contextmanager
def peer(does: Callable[[socket.socket], object]) -> Iterator[int]:
    """A peer on 127.0.0.1 that does something with each of a few connections; its port."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(8)
        listening.settimeout(20)

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    taken, _ = listening.accept()
                    with taken:
                        taken.settimeout(5)
                        with contextlib.suppress(OSError):
                            does(taken)

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]


def refuses(number: int) -> Callable[[socket.socket], None]:
    """A listener of Oracle's that refuses: one TNS packet with the error's number, in its words."""

    def does(taken: socket.socket) -> None:
        taken.recv(8192)
        words = f"(DESCRIPTION=(TMP=)(VSNNUM=0)(ERR={number})(ERROR_STACK=(ERROR=(CODE={number})(EMFI=4))))".encode()
        body = bytes([34, 0]) + struct.pack(">H", len(words)) + words
        taken.sendall(struct.pack(">HHBBH", _HEADER_BYTES + len(body), 0, _REFUSE, 0, 0) + body)

    return does


def oracle(port: int, tls: str = "disable") -> tuple[str, str, bool]:
    module = pytest.importorskip("oracledb")
    options = {"user": "a", "password": "s3cret", "host": "127.0.0.1", "port": port, "database": "x", "tls": tls}
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
        assert oracle(port)[0] == "connection"


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
    ],
)
def test_what_oracle_says_is_told_apart_by_its_number(number: int, kind: str, is_retried: bool) -> None:
    class Error(Exception):
        """As the driver raises."""

    module: Any = SimpleNamespace(Error=Error)
    found = ORACLE.said(module, Error(SimpleNamespace(code=number)))
    assert found is not None
    assert (found[0], found[2]) == (kind, is_retried)
    assert ORACLE.said(module, KeyError("x")) is None


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Driver Error: Invalid authorization; DDBC Error: [Microsoft]Login failed for user 'sa'.", "auth"),
        (
            "Client unable to establish connection; DDBC Error: [Microsoft]TCP Provider: 0x2749",
            "connection",
        ),
        ("[Microsoft][ODBC Driver 18 for SQL Server]SSL Provider: certificate verify failed", "tls"),
        ("Driver Error: Communication link failure", "connection"),
        ("Transaction (Process ID 5) was deadlocked on lock resources", "conflict"),
        ("Violation of PRIMARY KEY constraint 'x'. Cannot insert duplicate key", "constraint"),
        ("Driver Error: Operation canceled", "endless"),
        ("Invalid object name 'x'", "sql"),
    ],
)
def test_what_sql_server_says_is_told_apart_by_its_words(words: str, kind: str) -> None:
    class Error(Exception):
        """As the driver raises."""

    module: Any = SimpleNamespace(Error=Error)
    found = SQLSERVER.said(module, Error(words))
    assert found is not None
    assert found[:2] == (kind, words)


def read_packet(taken: socket.socket) -> tuple[int, bytes]:
    """One packet of TDS: its status and what is in it ([MS-TDS] 2.2.3.1)."""
    head = taken.recv(_HEADER_BYTES, socket.MSG_WAITALL)
    status, size = head[1], struct.unpack(">H", head[2:4])[0]
    return status, taken.recv(size - _HEADER_BYTES, socket.MSG_WAITALL)


def packet(body: bytes) -> bytes:
    """A server's answer."""
    return struct.pack(">BBHHBB", 4, 1, _HEADER_BYTES + len(body), 0, 1, 0) + body


def prelogin(encryption: int) -> bytes:
    """A server's version, and whether it encrypts: 2 is that it cannot ([MS-TDS] 2.2.6.5)."""
    options = struct.pack(">BHH", 0, 11, 6) + struct.pack(">BHH", 1, 17, 1) + b"\xff"
    return packet(options + bytes([16, 0, 16, 39, 0, 0, encryption]))


def refuses_login(taken: socket.socket) -> None:
    """A server that takes a log-in and answers it with error 18456 ([MS-TDS] 2.2.7.10)."""
    read_packet(taken)
    taken.sendall(prelogin(2))
    while not read_packet(taken)[0] & 1:
        pass
    words, name = "Login failed for user 'a'.", "peer"
    said = struct.pack("<H", len(words)) + words.encode("utf-16le") + bytes([len(name)]) + name.encode("utf-16le")
    body = struct.pack("<iBB", 18456, 1, 14) + said + b"\0" + struct.pack("<i", 1)
    taken.sendall(packet(b"\xaa" + struct.pack("<H", len(body)) + body + b"\xfd" + struct.pack("<HHQ", 2, 0, 0)))
    taken.recv(1)  # until it hangs up


def knows_no_tls(taken: socket.socket) -> None:
    """A server that cannot encrypt."""
    read_packet(taken)
    taken.sendall(prelogin(2))
    taken.recv(1)


@pytest.mark.parametrize(
    ("does", "tls", "kind"),
    [
        (refuses_login, "disable", "auth"),
        (knows_no_tls, "require", "tls"),
        (lambda taken: taken.recv(10), "disable", "connection"),
        (lambda taken: taken.close(), "disable", "connection"),
    ],
)
def test_what_microsofts_driver_makes_of_a_peer(does: Callable[[socket.socket], object], tls: str, kind: str) -> None:
    module = pytest.importorskip("mssql_python", reason="its ODBC library has a licence that no list here admits")
    with peer(does) as port:
        options = {"user": "a", "password": "s3cret", "host": "127.0.0.1", "port": port, "tls": tls}
        with pytest.raises(module.Error) as caught:
            SQLSERVER.connect(module, {**options, "answer_seconds": 5})
    found = SQLSERVER.explained(caught.value)
    assert found[0] == kind
    assert "s3cret" not in found[1]

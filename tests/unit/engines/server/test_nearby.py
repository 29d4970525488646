"""Which process a server on this machine is: here programs that only listen, some called as servers are."""

import contextlib
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tdelta.engines.server.discovery import server_process
from tdelta.engines.server.dsn import parse_dsn

LISTEN = """
import pathlib, socket, sys
pathlib.Path('/proc/self/comm').write_text(sys.argv[2])
family = socket.AF_UNIX if sys.argv[1].startswith('/') else socket.AF_INET
with socket.socket(family) as listening:
    listening.bind(sys.argv[1] if family == socket.AF_UNIX else ('127.0.0.1', 0))
    listening.listen()
    print(listening.getsockname() if family == socket.AF_UNIX else listening.getsockname()[1], flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def listening(called: str, where: str = "tcp") -> Iterator[tuple[int, str]]:
    """A process of that name that listens: its id, and its port or path."""
    command = [sys.executable, "-c", LISTEN, where, called]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.pid, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tdelta-") as made:
        yield Path(made)


def test_a_server_on_a_port_of_this_machine_is_found() -> None:
    with listening("mariadbd") as (process, port):
        assert server_process(parse_dsn(f"mysql://a@127.0.0.1:{port}/")) == process
        assert server_process(parse_dsn(f"mysql://a@localhost:{port}/")) == process


def test_a_server_behind_a_unix_socket_is_found(folder: Path) -> None:
    path = folder / ".s.PGSQL.5432"
    with listening("postgres", str(path)) as (process, _):
        assert server_process(parse_dsn(f"postgres://a@/?socket={folder}")) == process


def test_what_is_not_called_as_such_a_server_is_taken_for_none(folder: Path) -> None:
    with listening("docker-proxy") as (_, port):
        assert server_process(parse_dsn(f"mysql://a@127.0.0.1:{port}/")) is None
    with listening("ssh") as (_, port):
        assert server_process(parse_dsn(f"mysql://a@127.0.0.1:{port}/")) is None
    with listening("mysqld") as (_, port):
        assert server_process(parse_dsn(f"postgres://a@127.0.0.1:{port}/")) is None
    assert server_process(parse_dsn(f"mysql://a@/?socket={folder}/none")) is None


def test_a_server_elsewhere_has_no_process_here() -> None:
    assert server_process(parse_dsn("mysql://a@192.0.2.1/")) is None


def test_this_process_is_no_server() -> None:
    with socket.socket() as mine:
        mine.bind(("127.0.0.1", 0))
        mine.listen()
        assert server_process(parse_dsn(f"mysql://a@127.0.0.1:{mine.getsockname()[1]}/")) is None

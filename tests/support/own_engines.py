"""Private servers that stand for a user's own: what is the same on every engine. The rest is in its module ``own``."""

import contextlib
import os
import socket
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pytest

from support.running import require
from tdelta.engines.server.sessions import Session

PATIENCE_SECONDS = 60.0
PASSWORD = "sécret ' \" % \\ #1"  # noqa: S105 - a test server's
"""Of the user ``bench``, who may make schemas of tdelta's."""

OPTIONS = ("--baseline", "--encrypted")


class ClientSession(Session, ABC):
    """A session by a command-line client, which stays connected. ``secret`` names the variable with the password."""

    def __init__(self, command: Sequence[str], secret: Mapping[str, str], setup: Iterable[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **secret},
        )
        self._guard = threading.Timer(PATIENCE_SECONDS, self._process.kill)
        self._guard.daemon = True
        self._guard.start()
        self._asked = 0
        try:
            for statement in setup:
                self.run(statement)
            self.text("SELECT 1")
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def echo(self, word: str) -> str:
        """What has the client write a word on a line of its own."""

    @abstractmethod
    def rows(self, sql: str) -> tuple[list[str], list[list[str | None]]]:
        """The columns' names and the rows of one query, as text; None for NULL."""

    def run(self, sql: str) -> None:
        self.rows(sql)

    def said(self, sql: str) -> tuple[str, bool]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._asked += 1
        end = f"answered-{self._asked}"
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{sql};\n{self.echo(end)}\n")
            self._process.stdin.flush()
        text = ""
        for line in self._process.stdout:
            if line == f"{end}\n":
                return text, True
            text += line
        return text, False

    def close(self) -> None:
        self._guard.cancel()
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


class OwnEngine(Protocol):
    """What the module ``own`` of an engine has.

    On every server a user ``bench`` may make schemas and a user ``nobody``, whose password is ``x``, may nothing; and
    there are tables that are not tdelta's.
    """

    INSTALL: str
    ROOT_PASSWORD: str
    SCHEMES: tuple[str, str]
    OBJECTS: tuple[str, ...]
    Session: type[ClientSession]

    def programs(self) -> object:
        """False where they are not installed."""

    def two(self, base: Path) -> AbstractContextManager[tuple[Any, Any]]:
        """A server for the baseline and one for the encrypted twin; they differ in their caches as well."""

    def root(self, server: Any) -> ClientSession:
        """A session of who may do everything."""

    def address(self, port: int, user: str = "bench", *, scheme: str = "", query: str = "") -> str:
        """The DSN of a server on 127.0.0.1, its scheme the first of `SCHEMES` where none is given."""

    def root_address(self, server: Any) -> str:
        """The DSN of the same server for who may do everything, by its socket."""


class OnTwoServers:
    own: ClassVar[OwnEngine]

    @pytest.fixture(scope="class")
    @classmethod
    def servers(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
        require(cls.own.programs(), cls.own.INSTALL)
        with cls.own.two(tmp_path_factory.mktemp("own")) as both:
            yield both

    @classmethod
    def objects(cls, servers: Iterable[Any]) -> list[list[object]]:
        """All that can be seen of these servers and that a run must leave as it was."""
        found = []
        for server in servers:
            with contextlib.closing(cls.own.root(server)) as asked:
                found.append([asked.rows(query) for query in cls.own.OBJECTS])
        return found


def await_server(process: subprocess.Popen[bytes], port: int, log: Path, ready: str = "") -> None:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < give_up and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            if ready in log.read_text():
                return
        time.sleep(0.05)
    raise AssertionError(log.read_text()[-2000:])

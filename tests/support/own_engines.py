"""Private servers that stand for a user's own: what is the same on every engine. The rest is in its module ``own``."""

import contextlib
import json
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from support.running import require
from tdelta import _native
from tdelta.processes.workers import Refused

PATIENCE_SECONDS = 60.0
PASSWORD = "sécret ' \" % \\ #1"  # noqa: S105 - a test server's
"""Of the user ``bench``, who may make schemas of tdelta's."""

OPTIONS = ("--baseline", "--encrypted")


class Session:
    """A session of who looks after a server, in this process, by tdelta's own client."""

    def __init__(self, options: Mapping[str, object]) -> None:
        self._twin = _native.ServerTwin(json.dumps(options), 1)

    def run(self, sql: str) -> None:
        self.rows(sql)

    def text(self, sql: str) -> str:
        return self._twin.text(sql)

    def rows(self, sql: str) -> tuple[list[str], list[list[str | None]]]:
        """The columns' names and the rows of one query, as text; None for NULL."""
        try:
            return self._twin.rows(sql)
        except _native.NativeError as error:
            raise Refused(*error.args) from error

    def close(self) -> None:
        self._twin.close()


class OnTwoServers:
    own: ClassVar[Any]
    """The module ``own`` of the engine.

    `two` gives a server for the baseline and one for the encrypted twin, which differ in their caches as well. On both
    a user ``bench`` may make schemas and a user ``nobody``, whose password is ``x``, may nothing, and there are tables
    that are not tdelta's: `OBJECTS` asks for them. `root` is a session of who may do everything; `address` and
    `root_address` are DSNs.
    """

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

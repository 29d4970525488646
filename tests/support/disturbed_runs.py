"""Runs on servers of users that are disturbed: sessions killed, writes forbidden, no answer any more.

One class of tests an engine; `own` is the engine's module of that name.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from support.codes import cautions, check_refused
from support.external_runs import RunsOnTwoServers
from support.running import PROGRAM, Place, read_until, waited_for, workers_left
from tdelta.processes.workers import Refused

PATIENCE_SECONDS = 180.0
IMPATIENT = f"""
from tdelta.engines.server import base as kind
kind.ANSWER_SECONDS = 2.0
{PROGRAM}"""


class DisturbedRuns(RunsOnTwoServers):
    sessions_sql: ClassVar[str]
    kill_sql: ClassVar[str]
    read_only_sql: ClassVar[tuple[str, ...]]
    writable_sql: ClassVar[tuple[str, ...]]

    def test_sessions_that_a_dba_kills_void_a_trial_and_leave_nothing(
        self, servers: tuple[Any, Any], left_as_they_were: list[list[object]], place: Place
    ) -> None:
        process = place.start("run", "--json", "--no-aa", *self.on(servers), "--blocks", "8")
        read_until(process, "round 1:")
        for server in servers:
            with contextlib.closing(self.own.root(server)) as asked:
                for (session,) in asked.rows(self.sessions_sql)[1]:
                    with contextlib.suppress(Refused):  # one that has gone by itself
                        asked.run(self.kill_sql.format(session))
        ran = waited_for(process, PATIENCE_SECONDS)
        assert ran.code in (0, 3), ran.err
        assert cautions(ran.document, "server-lost")
        assert self.objects(servers) == left_as_they_were

    def test_a_server_that_becomes_read_only_is_named_as_such_and_every_schema_that_stays(
        self, servers: tuple[Any, Any], left_as_they_were: list[list[object]], place: Place
    ) -> None:
        options = ("--json", "--no-aa", *self.on(servers), "--workload", "order-entry", "--blocks", "8")
        process = place.start("run", *options)
        read_until(process, "round 1:")
        with contextlib.closing(self.own.root(servers[1])) as asked:
            for statement in self.read_only_sql:
                asked.run(statement)
            try:
                ran = waited_for(process, PATIENCE_SECONDS)
            finally:
                for statement in self.writable_sql:
                    asked.run(statement)
        check_refused(ran, "server-stopped", fix="set read_only (default_transaction_read_only) off")
        assert "--dir" not in ran.err
        (left,) = re.findall(r"remove it with: (DROP SCHEMA \S+(?: CASCADE)?)", ran.err)
        with contextlib.closing(self.own.root(servers[1])) as asked:
            asked.run(left)
        assert self.objects(servers) == left_as_they_were


class SilencedRuns(RunsOnTwoServers):
    """The same of a server that is reached by TCP; one engine is enough, since all have that stream."""

    def test_a_server_that_falls_silent_ends_the_run_with_its_time_and_every_schema_that_stays_is_named(
        self, servers: tuple[Any, Any], left_as_they_were: list[list[object]], place: Place
    ) -> None:
        plain, other = servers
        with Between.to(other.port) as between:
            options = self.on((plain, Reached(between.port)))
            words = ("run", "--no-aa", *options, "--blocks", "50", "--max-time", "60s")
            process = place.start(*words, program=IMPATIENT)
            read_until(process, "round 1:")
            between.is_silent.set()
            ran = waited_for(process, PATIENCE_SECONDS)
        assert ran.code == 2, ran.err
        assert "Traceback" not in ran.err
        assert workers_left(process.pid) == []
        (left,) = re.findall(r"remove it with: (DROP SCHEMA \S+(?: CASCADE)?)", ran.err)
        with contextlib.closing(self.own.root(other)) as asked:
            asked.run(left)
        assert self.objects(servers) == left_as_they_were


@dataclass(frozen=True)
class Reached:
    port: int


@dataclass
class Between:
    """Stands between tdelta and a server, and passes on what each says until it is to be silent; connections stay."""

    listener: socket.socket
    server_port: int
    is_silent: threading.Event = field(default_factory=threading.Event)

    @classmethod
    @contextlib.contextmanager
    def to(cls, server_port: int) -> Iterator[Between]:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            between = cls(listener, server_port)
            threading.Thread(target=between.accept, daemon=True).start()
            yield between
            listener.shutdown(socket.SHUT_RDWR)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self.server_port)) as server:
            answering = threading.Thread(target=self.pass_on, args=(server, client), daemon=True)
            answering.start()
            self.pass_on(client, server)
            answering.join()

    def pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while said := source.recv(1 << 16):
                if not self.is_silent.is_set():
                    target.sendall(said)
            # Also to a server that hears no more: whoever has gone does not keep it waiting, nor this thread.
            target.shutdown(socket.SHUT_RDWR)

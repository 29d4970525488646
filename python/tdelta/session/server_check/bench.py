"""What the steps of a server check work on, and how one says that it failed."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Protocol, TypeAlias

from tdelta.engines.server.base import ANSWER_SECONDS
from tdelta.engines.server.discovery import FoundServer
from tdelta.engines.server.dsn import Dsn
from tdelta.engines.server.external_twins import ExternalSettings, ExternalTwins
from tdelta.engines.server.pairs import ReachedServers, reached
from tdelta.engines.server.schemas import RunSchema
from tdelta.engines.server.sessions import Session
from tdelta.errors import Defect, TdeltaError
from tdelta.messages import Refusal
from tdelta.processes.jobs import PopulateJob, TrialJob
from tdelta.processes.protocol import Checksums
from tdelta.processes.workers import Refused
from tdelta.records import Measurement
from tdelta.session.planning import plan
from tdelta.session.request import RunRequest

Found: TypeAlias = Mapping[str, "str | int | float"]
"""What a step saw, for the report: counts, and the server's own words about encryption."""


class AbilityFails(TdeltaError):
    """An adapter that does not do what it is to do."""

    def __init__(self, said: Refusal, server: str = "") -> None:
        super().__init__(said.at(server) if server else said)


class NotOffered(Exception):
    """An ability that this adapter, or this client, does not have."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


class AnyTwin(Protocol):
    """A condition's connections, as far as steps use them; see `tdelta.engines.server.external_twins.ExternalTwin`."""

    def trial(self, job: TrialJob) -> Measurement:
        """Run one trial."""

    def plans(self, scripts: Mapping[str, str]) -> Mapping[str, Any]:
        """How the server runs each statement."""

    def checksums(self, tables: Any) -> Checksums:
        """Rows and checksum of each table."""

    def cipher_facts(self) -> dict[str, str]:
        """What the server says of its encryption, and of its tables."""

    def client(self) -> str:
        """By which client the server is reached."""

    def end(self) -> None:
        """Close the connections."""


class Bench:
    """Two servers, what was made on them, and what has become of it so far. A context: at its end nothing is left.

    Args:
        request: ``--baseline`` and ``--encrypted`` with what goes with them, and the work.

    Attributes:
        servers: the two, once they are reached.
        twins: makes and loads twins, once there are schemas.
        settings: of the two twins.
        job: the rows.
        scripts: the transactions by name.
        running: the twins, once they are started.
        measured: what their trials measured.
        client: by which client the servers are reached.
    """

    trial = TrialJob(seed=24, stream=0, operations=200, first_op=0, deadline_seconds=60.0)
    """The work of both."""

    def __init__(self, request: RunRequest, dsns: tuple[Dsn, Dsn], run_id: str) -> None:
        self.client = ""
        self.servers: ReachedServers | None = None
        self.running: list[AnyTwin] = []
        self.measured: list[Measurement] = []
        self.twins: ExternalTwins
        self.settings: Sequence[ExternalSettings]
        self.job: PopulateJob
        self.scripts: Mapping[str, str]
        self._request = request
        self._dsns = dsns
        self._run_id = run_id
        self._sessions: dict[str, Session] = {}
        self._reached = ExitStack()
        self._made = ExitStack()

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_raised: object) -> None:
        with self._reached, self._made:
            self.end_twins()
            self.end_sessions()

    @property
    def both(self) -> tuple[FoundServer, FoundServer]:
        return self._found.both

    @property
    def schemas(self) -> Sequence[RunSchema]:
        return tuple(self._found.schemas.values())

    def reach(self) -> int:
        """Reach and compare both servers. Returns in how many settings they differ that are not encryption."""
        self.servers = self._reached.enter_context(reached(self._request.values, self._dsns, self._run_id))
        return len(self.servers.pair.differences)

    def make(self) -> None:
        servers = self._found
        self._made.enter_context(servers.made())
        made = plan(self._request, self._run_id, None, servers)
        job, mix = made.populate_job(), made.workload_spec()
        if not isinstance(job, PopulateJob):
            raise Defect("the check's rows are generated")
        self.job, self.scripts = job, {str(one["name"]): str(one["text"]) for one in mix.transactions}
        self.twins = ExternalTwins(servers.schemas, servers.access, job, mix)
        self.settings = tuple(made.twin_settings(condition, 0) for condition in made.conditions)

    def remove(self) -> None:
        self.end_twins()
        self.end_sessions()
        self._made.close()

    def session(self, schema: RunSchema) -> Session:
        """A session that works in a schema and is not the one that made it; opened once."""
        if schema.name + schema.server.option not in self._sessions:
            options = {**self._found.access.options(schema), "answer_seconds": ANSWER_SECONDS}
            opened = Session(options, schema.server.dsn.program, Refused)
            self._sessions[schema.name + schema.server.option] = opened
        return self._sessions[schema.name + schema.server.option]

    def expected(self, server: FoundServer) -> bool | None:
        """What the tables of a server are to be, True for encrypted; None where it cannot tell."""
        return self._found.pair.expected(server)

    def end_twins(self) -> None:
        while self.running:
            self.running.pop().end()

    def end_sessions(self) -> None:
        """Close those that `session` opened."""
        while self._sessions:
            self._sessions.popitem()[1].close()

    @property
    def secrets(self) -> Mapping[str, str]:
        """All that a report must not have, and what stands in its place."""
        hidden = {socket.gethostname(): "HOST"}
        for dsn in self._dsns:
            hidden |= {dsn.user: "USER", dsn.host: "HOST", dsn.socket or "": "SOCKET", dsn.database or "": "DATABASE"}
            hidden |= {dsn.place or "": "PLACE"}
            hidden |= {dsn.password_env or "": "VARIABLE", dsn.password_file or "": "FILE", dsn.tls_ca or "": "FILE"}
        for server in self.both if self.servers is not None else ():
            hidden |= {self._found.access.password(server) or "": "PASSWORD", server.identity.user: "USER"}
            hidden |= {server.identity.machine: "HOST"}
        return hidden

    @property
    def _found(self) -> ReachedServers:
        if self.servers is None:
            raise Defect("the servers were not reached yet")
        return self.servers

"""The process that drops a run's schemas on users' servers when tdelta dies before it could.

See `tdelta.processes.rpc`: the end of the input is the death of tdelta, by whatever signal. A tdelta that dropped
its schemas ends this process first. Started as ``python -m tdelta.engines.server.schema_keeper``; what it knows of
the servers is in its memory alone.

A schema is dropped only if the run was about to make it and it bears that run's mark, or is empty where mark and schema
take two statements; and only once its lock could be taken: then the session that made it has gone, and whatever that
was at has ended. The sessions of the load go with their workers, but for those whose server is at a statement and does
not look: they are ended by their mark. A drop that has begun may take an hour; what could not be begun in time
is found by the next run (`schemas.leftovers`).
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tdelta.engines import registry
from tdelta.engines.server.base import LeftoverSchema, ServerEngine, lock_name
from tdelta.engines.server.sessions import Ask, LastingSession, Session, asking, is_true
from tdelta.errors import ServerLost, WorkerFault
from tdelta.processes.rpc import Request, serve
from tdelta.processes.supervisor import Supervisor
from tdelta.processes.workers import Refused

DROP_SECONDS = 30.0
"""How long a server may take to let the keeper in and to free a schema."""

_LONGEST_SECONDS = 3600.0
"""How long it may take to drop one: a server that hangs would keep this process alive."""

_LOCK_SECONDS = 2
_LOOK_AGAIN_SECONDS = 0.1
_FINAL = frozenset({"auth", "denied", "read_only", "tls", "unknown_database"})
"""Refusals that another try does not mend; and too many wrong passwords lock an account."""


@dataclass(slots=True)
class KeptServer:
    """A server, how it is reached, and the run's schemas there: by name the mark of their sessions."""

    engine: str
    program: str
    run_id: str
    options: Mapping[str, Any] = field(repr=False)
    schemas: dict[str, str] = field(default_factory=dict)
    give_up: float = 0.0
    """When to stop trying, by the monotonic clock; put off while a schema is dropped."""

    def session(self) -> Session:
        """A session with it.

        Raises:
            Refused: it does not answer, or does not let the user in.
        """
        limited = {**self.options, "answer_seconds": DROP_SECONDS}
        return Session(limited, self.program, Refused)


class SchemaKeeperHost(Supervisor):
    def __init__(self) -> None:
        super().__init__()
        self._servers: dict[str, KeptServer] = {}

    def do_keep(self, request: Request) -> None:
        """Learn of a server; there is no answer to it."""
        registry.server(request["engine"])  # imported while all is well
        self._servers[request["server"]] = KeptServer(
            request["engine"], request["program"], request["run_id"], request["options"]
        )

    def do_begin(self, request: Request) -> None:
        """Take charge of a schema, which need not be there yet; there is no answer to it."""
        self._servers[request["server"]].schemas[request["schema"]] = request["sessions"]

    def end(self) -> None:
        """Drop them, on all servers at once: one that is gone keeps the others from nothing."""
        threads = []
        for server in self._servers.values():
            server.give_up = time.monotonic() + DROP_SECONDS
            threads.append((server, threading.Thread(target=drop, args=(server, server.session), daemon=True)))
            threads[-1][1].start()
        for server, thread in threads:
            while thread.is_alive() and time.monotonic() < server.give_up:
                thread.join(_LOOK_AGAIN_SECONDS)


def drop(server: KeptServer, open_session: Callable[[], Session]) -> None:
    """Drop the schemas of a run whose tdelta is dead; what is done leaves ``server.schemas``."""
    session = None
    while server.schemas and time.monotonic() < server.give_up:
        try:
            session = session or _hurried(server, open_session)
            _drop_free(server, session)
        except Refused as refusal:
            if refusal.kind in _FINAL:
                break
        except (ServerLost, WorkerFault):
            pass  # there may be another session
        if server.schemas:
            time.sleep(_LOOK_AGAIN_SECONDS)
    if session is not None:
        session.close()


def _hurried(server: KeptServer, open_session: Callable[[], Session]) -> LastingSession:
    """A session that waits for others' locks a while only: in a server the waiting would outlive this process."""
    session = LastingSession(open_session)
    if hurry := _kind(server, asking(session)).hurry_sql(_LOCK_SECONDS):
        session.keep(hurry)
    return session


def _drop_free(server: KeptServer, session: LastingSession) -> None:
    """End the sessions of the run, and drop what no other session holds.

    Raises:
        Refused: the server refuses, or a lock was not available.
    """
    ask = asking(session)
    kind = _kind(server, ask)
    for name, mark in tuple(server.schemas.items()):
        for other in kind.marked_sessions(ask, mark):
            with contextlib.suppress(Refused):  # one that has gone by itself
                session.run(kind.end_session_sql(other))
        if is_true(ask(kind.probe(lock_name(name)).take)):
            own = (LeftoverSchema(name, server.run_id), LeftoverSchema(name, None))
            if not {*own}.isdisjoint(kind.own_schemas(ask, name)):
                give_up, server.give_up = server.give_up, time.monotonic() + _LONGEST_SECONDS
                try:
                    session.run(kind.drop_sql(name))
                    give_up = time.monotonic() + DROP_SECONDS
                finally:
                    server.give_up = give_up
                if kind.has_schema(ask, name):
                    continue
            del server.schemas[name]


def _kind(server: KeptServer, ask: Ask) -> ServerEngine:
    """The server, asked again: another may answer there now.

    Raises:
        Refused: it does.
    """
    kind: ServerEngine | None = registry.server(server.engine).answering(ask)
    if kind is None:
        raise Refused("unknown_database", "another server answers")
    return kind


if __name__ == "__main__":
    serve(SchemaKeeperHost())

"""The run's side of the process that drops its schemas on users' servers should it die."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from types import TracebackType

from tdelta.engines.shared.external.schemas import RunSchema
from tdelta.engines.shared.external.servers import FoundServer
from tdelta.errors import EnvironmentFault, WorkerFault
from tdelta.measure.children import Child

_PROGRAM = "tdelta.engines.shared.external.keeper"
_END_SECONDS = 5.0


class SchemaKeeper:
    """A keeper while a block lasts, by whose end the schemas are dropped, or were named as what is left.

    How the servers are reached goes through a pipe into its memory, and nowhere else. A run whose keeper is killed goes
    on without one.

    Args:
        servers: where the schemas are made.
        run_id: what they are marked with.
        password: finds a server's password.
    """

    def __init__(
        self, servers: Sequence[FoundServer], run_id: str, password: Callable[[FoundServer], str | None]
    ) -> None:
        self._child = Child(_PROGRAM, os.environ)
        for server in servers:
            self._tell(
                "keep",
                server=server.option,
                run_id=run_id,
                engine=server.identity.engine,
                program=server.dsn.program,
                options=server.dsn.options(password(server), setup=server.kind.session_sql),
            )

    def __enter__(self) -> SchemaKeeper:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._child.kill()
        self._child.close(_END_SECONDS)

    def begins(self, schema: RunSchema) -> None:
        """Have it drop a schema that is about to be made."""
        self._tell("begin", server=schema.server.option, schema=schema.name, sessions=schema.sessions)

    def _tell(self, do: str, **arguments: object) -> None:
        with contextlib.suppress(EnvironmentFault, WorkerFault):
            self._child.send(do, **arguments)

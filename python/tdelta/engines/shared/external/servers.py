"""A user's server as it was found: who answers, what it encrypts, its settings. Nothing is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tdelta.driver.database_answers import Refused
from tdelta.engines.registry import external, profile, profiles
from tdelta.engines.shared.external.connection import server_name
from tdelta.engines.shared.external.dsn import Dsn
from tdelta.engines.shared.external.kind import (
    PREFIX,
    SCHEMA_NAME,
    Encryption,
    ExternalServer,
    Identity,
)
from tdelta.engines.shared.sessions import Ask, Connection, Row, asking
from tdelta.errors import OwnServerFault, UsageError

BASELINE, ENCRYPTED = "--baseline", "--encrypted"
"""The options that the two servers are given by, and what they are called in messages."""


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A user's server as it was found, with the session by which it was asked."""

    option: str
    dsn: Dsn
    connection: Connection
    kind: ExternalServer
    encryption: Encryption
    settings: Mapping[str, str]

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return server_name(self.option, self.dsn)

    @property
    def identity(self) -> Identity:
        """Who answers there."""
        return self.kind.identity

    def ask(self, sql: str) -> Sequence[Row]:
        """Run one query."""
        return asking(self.connection)(sql)


def examine(option: str, dsn: Dsn, connection: Connection) -> FoundServer:
    """Ask a server who it is, what it encrypts, and for its settings.

    With MySQL's protocol the server says whether it is MySQL or MariaDB; the DSN need not know.

    Raises:
        OwnServerFault: it does not answer what every server of its engine answers.
    """
    ask = asking(connection)
    with refusals_of(server_name(option, dsn)):
        kind = _kind(dsn, ask)
        for statement in kind.session_sql:
            connection.run(statement)
        return FoundServer(option, dsn, connection, kind, kind.encryption(ask), dict(kind.settings(ask)))


def schema_name(run_id: str, given: str | None) -> str:
    """The schema's name: the user's, or one that names the run.

    Raises:
        UsageError: the user's is none that every engine takes as it is.
    """
    if given is None:
        return PREFIX + "".join(c if c.isascii() and c.isalnum() else "_" for c in run_id.lower())
    if not SCHEMA_NAME.match(given):
        raise UsageError(
            f"--schema {given!r}: expected up to 63 of a-z, 0-9 and _, a letter first, of a schema that does not exist"
        )
    return given


def _kind(dsn: Dsn, ask: Ask) -> ExternalServer:
    """Which engine answers, of those that speak the protocol of the DSN's."""
    protocol = profile(dsn.engine).protocol
    speaking = (one.name for one in profiles() if one.address is not None and one.protocol == protocol)
    kinds = (external(name).kind(ask) for name in speaking)
    found: ExternalServer = next(kind for kind in kinds if kind is not None)
    return found


@contextmanager
def refusals_of(name: str) -> Iterator[None]:
    """Within the block what a server refuses is a fault of that server."""
    try:
        yield
    except Refused as refusal:
        raise OwnServerFault(name, str(refusal)) from refusal

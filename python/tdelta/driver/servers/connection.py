"""An open session with a user's server, as what asks of it sees it, and how one is come by.

The session is `WorkerSession`, a worker's own `tdelta._native.ServerTwin`, or a stand-in of the tests. What a server
says against a statement or a log-in is `Refused`, with its kind (``auth``, ``denied``, ``connection``, …).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from tdelta.driver.database_answers import Refused, answered
from tdelta.driver.servers.secrets import Passwords
from tdelta.driver.workers import Worker
from tdelta.engines.dsn import THREE_WAYS, Dsn
from tdelta.errors import OwnServerFault

_WRONG_PASSWORD = ("auth",)
_REMEDIES: Mapping[str, str] = {
    "auth": "check user and password; the DSN says where the password is: " + THREE_WAYS,
    "connection": "is it running, does it listen there, and does a firewall let this machine through?",
    "unknown_database": "name a database that exists in the DSN: tdelta makes a schema of its own in it",
    "tls": "?tls=disable if the connection may go unencrypted, ?tls=require if the server wants it",
}


class Connection(Protocol):
    """One session: locks and settings that it takes are its own until it is closed."""

    def run(self, sql: str) -> None:
        """Run one statement; rows are dropped.

        Raises:
            Refused: the server refuses.
        """

    def rows(self, sql: str) -> tuple[list[str], list[list[str | None]]]:
        """The columns' names and the rows of one query, as text; None for NULL.

        Raises:
            Refused: the server refuses.
        """

    def text(self, sql: str) -> str:
        """The first value of the first row, empty for NULL and for no row.

        Raises:
            Refused: the server refuses.
        """

    def close(self) -> None:
        """Close the session."""


Open: TypeAlias = Callable[[Mapping[str, object]], Connection]
"""Opens a session, given the options of `tdelta.engines.dsn.Dsn.options`; raises `Refused`."""


_PATIENCE_SECONDS = 24 * 3600.0
"""A table of a terabyte may be counted; that a server is gone shows at once."""


class WorkerSession:
    """A session by tdelta's own client, in a worker that ends with it.

    Args:
        options: those of `tdelta._native.ServerTwin`; they go to the worker's standard input and nowhere else.

    Raises:
        Refused: the server does not answer, or does not let the user in.
    """

    def __init__(self, options: Mapping[str, object]) -> None:
        self._worker = Worker()
        try:
            answered(self._worker.ask("enter", options=options, connections=1))
        except BaseException:
            self._worker.kill()
            self._worker.end()
            raise

    def run(self, sql: str) -> None:
        """Run one statement; rows are dropped."""
        self.rows(sql)

    def rows(self, sql: str) -> tuple[list[str], list[list[str | None]]]:
        """The columns' names and the rows of one query, as text; None for NULL."""
        found = answered(self._worker.ask("put", seconds=_PATIENCE_SECONDS, sql=sql))
        return found["columns"], found["rows"]

    def text(self, sql: str) -> str:
        """The first value of the first row, empty for NULL and for no row."""
        _, rows = self.rows(sql)
        return rows[0][0] or "" if rows else ""

    def close(self) -> None:
        """Close the session and end the worker."""
        self._worker.end()


def server_name(option: str, dsn: Dsn) -> str:
    """What a server is called in messages."""
    return f"{option} ({dsn.where})"


def connect(option: str, dsn: Dsn, passwords: Passwords, open_session: Open) -> Connection:
    """Open a session with a user's server.

    Without a word in the DSN on where the password is, none is tried first, since a socket may need none; a person is
    asked only if the server wants one.

    Args:
        option: the option that the DSN was given to.
        dsn: the server.
        passwords: those of this sitting.
        open_session: opens a session.

    Raises:
        OwnServerFault: it does not answer, or does not let the user in.
    """
    try:
        return open_session(dsn.options(passwords.of(dsn)))
    except Refused as refusal:
        if refusal.kind not in _WRONG_PASSWORD or not passwords.can_ask(dsn):
            raise _fault(option, dsn, refusal) from refusal
    password = passwords.ask(option, dsn)
    try:
        return open_session(dsn.options(password))
    except Refused as refusal:
        raise _fault(option, dsn, refusal) from refusal


def _fault(option: str, dsn: Dsn, refusal: Refused) -> OwnServerFault:
    remedy = _REMEDIES.get(refusal.kind)
    return OwnServerFault(server_name(option, dsn), f"{refusal}{f'; {remedy}' if remedy else ''}")

"""How a session with a user's server is come by, and what is said where none is."""

from __future__ import annotations

from collections.abc import Mapping

from tdelta.driver.database_answers import Refused
from tdelta.engines.shared.external.dsn import THREE_WAYS, Dsn
from tdelta.engines.shared.external.secrets import Passwords
from tdelta.engines.shared.sessions import Connection, Open
from tdelta.errors import OwnServerFault

_WRONG_PASSWORD = ("auth",)
_REMEDIES: Mapping[str, str] = {
    "auth": "check user and password; the DSN says where the password is: " + THREE_WAYS,
    "connection": "is it running, does it listen there, and does a firewall let this machine through?",
    "unknown_database": "name a database that exists in the DSN: tdelta makes a schema of its own in it",
    "tls": "?tls=disable if the connection may go unencrypted, ?tls=require if the server wants it",
}


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

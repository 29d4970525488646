"""How a session with a user's server is come by, and what is said where none is."""

from __future__ import annotations

from tdelta.driver.database_answers import Refused
from tdelta.engines.shared.external.dsn import Dsn
from tdelta.engines.shared.external.secrets import Passwords
from tdelta.engines.shared.sessions import Connection, Open
from tdelta.errors import ExternalServerFault
from tdelta.messages import Refusal

_WRONG_PASSWORD = ("auth",)


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
        ExternalServerFault: it does not answer, or does not let the user in.
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


def _fault(option: str, dsn: Dsn, refused: Refused) -> ExternalServerFault:
    return ExternalServerFault(server_name(option, dsn), _said(refused))


def _said(refused: Refused) -> Refusal:
    """What a server says, with its remedy."""
    match refused.kind:
        case "auth":
            return Refusal.of("server-wants-password", said=refused)
        case "connection":
            return Refusal.of("server-not-reached", said=refused)
        case "unknown_database":
            return Refusal.of("server-without-database", said=refused)
        case "tls":
            return Refusal.of("server-tls", said=refused)
    return refused.refusal

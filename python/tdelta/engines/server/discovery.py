"""A user's server as it was found: who answers, what it encrypts, its settings. Nothing is made."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tdelta.engines.registry import profile, profiles, server
from tdelta.engines.server.base import LOCK_SECONDS, PREFIX, SCHEMA_NAME, Encryption, Identity, ServerEngine
from tdelta.engines.server.dsn import Dsn, address_of
from tdelta.engines.server.passwords import Passwords
from tdelta.engines.server.sessions import Ask, Open, Row, Session, asking, one
from tdelta.errors import ExternalServerFault, ServerLost, TdeltaError, UsageError
from tdelta.messages import Refusal
from tdelta.processes.dbapi import differing
from tdelta.processes.workers import Refused, failure


def server_name(option: str, dsn: Dsn) -> str:
    return f"{option} ({dsn.where})"


def connect(option: str, dsn: Dsn, passwords: Passwords, open_session: Open) -> Session:
    """Open a session with a user's server.

    Without a word in the DSN on where the password is, none is tried first, since a socket may need none; a person is
    asked only if the server wants one.

    Raises:
        ExternalServerFault: it does not answer, or does not let the user in.
    """
    try:
        return open_session(dsn.options(passwords.of(dsn)))
    except Refused as refusal:
        password = passwords.ask(option, dsn) if refusal.kind == "auth" else None
        if password is None:
            raise _unreached(option, dsn, refusal) from refusal
    try:
        return open_session(dsn.options(password))
    except Refused as refusal:
        passwords.reject(dsn)
        raise _unreached(option, dsn, refusal) from refusal


def _unreached(option: str, dsn: Dsn, refused: Refused) -> ExternalServerFault:
    return ExternalServerFault(server_name(option, dsn), _said(refused))


def _said(refused: Refused) -> Refusal:
    match refused.kind:
        case "auth":
            return Refusal.of("server-wants-password", said=refused)
        case "connection":
            return Refusal.of("server-not-reached", said=refused)
        case "unknown_database":
            return Refusal.of("database-answer", said=refused, fix="name an existing database in the DSN")
        case "tls":
            return Refusal.of(
                "database-answer",
                said=refused,
                fix="use ?tls=disable for an unencrypted connection, or ?tls=require if the server demands TLS",
            )
        case "client":
            fix = "install the vendor's client libraries and add ?client=thick to the DSN, if the server cannot change"
            return Refusal.of("database-answer", said=refused, fix=fix)
    return refused.refusal


BASELINE, ENCRYPTED, OTHER = "--baseline", "--encrypted", "--other"
"""The options that the two servers are given by, and what they are called in messages."""

_LOST = ("connection", "interrupted")
"""Kinds of refusals where a session or its statement was killed: the trial is void, and another session may do."""

_CONTROL = dict.fromkeys((*range(32), *range(127, 160)), " ")


@dataclass(frozen=True, slots=True)
class FoundServer:
    option: str
    dsn: Dsn
    connection: Session
    kind: ServerEngine
    encryption: Encryption
    settings: Mapping[str, str]

    @property
    def name(self) -> str:
        return server_name(self.option, self.dsn)

    @property
    def identity(self) -> Identity:
        return self.kind.identity

    def ask(self, sql: str) -> Sequence[Row]:
        return asking(self.connection, _shown)(sql)

    def translated_errors(self) -> AbstractContextManager[None]:
        return refusals_of(self.name)

    def failed(self, kind: str, message: str) -> TdeltaError:
        """A server's answer to a session of the load as an exception, with the remedy on the server."""
        if kind in _LOST:
            return ServerLost(Refusal.of("database-says", said=message).at(self.name))
        if (fault := _fault(kind, message)) is not None:
            return ExternalServerFault(self.name, fault)
        return failure(kind, message)


_STOPPED = {
    "read_only": "set read_only (default_transaction_read_only) off",
    "full": "free space on the server (disk, tablespace, undo or recovery area)",
    "keystore": "open the keystore",
    "auth": "grant the revoked privilege again",
    "denied": "grant the revoked privilege again",
    "unknown_database": "tdelta's schema was dropped: leave it alone,",
    "out_of_memory": "use fewer --threads, or give the server more memory",
}
_ANSWERED = {
    "io": "see the server's log about its disk",
    "tls": "the server's TLS changed, so adapt ?tls= in the DSN",
    "too_many_connections": "use fewer --threads, or raise the connection limits of the server and its user",
}
"""Remedies on the server for its refusals of sessions of the load, by kind."""


def _fault(kind: str, said: str) -> Refusal | None:
    """A server's refusal of a session of the load, with its remedy; None if the server is not the cause."""
    if kind in _STOPPED:
        return Refusal.of("server-stopped", said=said, fix=_STOPPED[kind])
    if kind in _ANSWERED:
        return Refusal.of("database-answer", said=said, fix=_ANSWERED[kind])
    match kind:
        case "busy" | "locked":
            return Refusal.of("server-lock-wait", said=said, seconds=LOCK_SECONDS)
        case "primary_key":
            return Refusal.of("server-primary-keys", said=said)
        case "settings":
            return Refusal.of("server-session-settings", settings=said)
    return None


def examine(option: str, dsn: Dsn, connection: Session) -> FoundServer:
    """Ask a server who it is, what it encrypts, and for its settings.

    With MySQL's protocol the server says whether it is MySQL or MariaDB; the DSN need not know.

    Raises:
        ExternalServerFault: it does not answer what every server of its engine answers.
    """
    ask = asking(connection, _shown)
    with refusals_of(server_name(option, dsn)):
        kind = _kind(dsn, ask)
        if dsn.place is not None:
            kind = kind.within(ask, dsn.place)
        for statement in (*kind.session_sql, *kind.waiting_sql):
            connection.keep(statement)
        if (wanted := kind.in_force) is not None:
            found = one(ask(wanted.sql))
            if said := differing(wanted.expected.items(), [*found.values()]):
                raise Refused("settings", Refusal.of("server-session-settings", settings=said))
        return FoundServer(option, dsn, connection, kind, kind.encryption(ask), dict(kind.settings(ask)))


def _shown(value: str) -> str:
    """A value of a user's server without control characters, as messages may show it."""
    return value.translate(_CONTROL)


_OWN_NAME = re.compile(r"[\w$-]{1,64}")


def schema_name(run_id: str, given: str | None, *, is_own: bool = False) -> str:
    """The schema's name: the user's, or one that names the run.

    Args:
        is_own: it is there already, and may be called whatever can be quoted.

    Raises:
        UsageError: the user's is none that every engine takes as it is.
    """
    if given is not None and is_own and _OWN_NAME.fullmatch(given):
        return given
    if given is None:
        return PREFIX + "".join(c if c.isascii() and c.isalnum() else "_" for c in run_id.lower())
    if not SCHEMA_NAME.match(given):
        raise UsageError(
            Refusal.of(
                "out-of-range",
                what="--schema",
                wanted="up to 63 of a-z, 0-9 and _, and begin with a letter",
                found=repr(given),
            )
        )
    return given


def checked_name(name: str) -> str:
    """The name of a further schema of a run.

    Raises:
        UsageError: it is longer than every engine takes.
    """
    if not SCHEMA_NAME.match(name):
        raise UsageError(Refusal.of("too-large", what=f"schema name {name!r}", most="63 characters; shorten --schema"))
    return name


def _kind(dsn: Dsn, ask: Ask) -> ServerEngine:
    protocol = profile(dsn.engine).protocol
    speaking = [one for one in profiles() if one.address is not None and one.protocol == protocol]
    kinds = (server(one.name).answering(ask) for one in speaking)
    found: ServerEngine | None = next((kind for kind in kinds if kind is not None), None)
    if found is None:
        products = " or ".join(one.product for one in speaking)
        raise Refused("protocol", Refusal.of("server-changes", products=products))
    return found


@contextmanager
def refusals_of(name: str) -> Iterator[None]:
    """Within the block what a server refuses is a fault of that server."""
    try:
        yield
    except Refused as refusal:
        raise ExternalServerFault(name, refusal.refusal) from refusal


if TYPE_CHECKING:
    import psutil

_PATIENCE_SECONDS = 5.0
_CREDENTIALS = struct.Struct("=3i")
"""``struct ucred``: process, user, group (socket(7), SO_PEERCRED)."""

_LOADERS = ("ld-linux", "ld.so")
"""By which a server is started that brings its own C library; its program is among the words that follow."""

_WORDS_READ = 8


def server_process(dsn: Dsn) -> int | None:
    """The first process of a server; None where it is not here, or cannot be told for certain.

    Found by the socket that it listens on, and taken only if it is called as such a server is: what listens there may
    be the mouth of a tunnel, or of a container, and its CPU time would say nothing. Nothing of it is touched.
    """
    import psutil

    with contextlib.suppress(psutil.Error):
        found = _behind(dsn.socket) if dsn.socket is not None else _listening(dsn) if dsn.is_here else None
        if found is not None and _is_server(psutil.Process(found), address_of(dsn.engine).processes):
            return found
    return None


def _behind(path: str) -> int | None:
    """Who listens on a Unix socket, as the kernel says; 0 is a process that this one cannot see."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(_PATIENCE_SECONDS)
            client.connect(path)
            credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    except OSError:
        return None
    process, _, _ = _CREDENTIALS.unpack(credentials)
    return int(process) or None


def _listening(dsn: Dsn) -> int | None:
    """Who listens on a port of this machine; of a family of processes that share the socket, the first."""
    import psutil

    hosts = ("127.0.0.1", "::1") if dsn.host in ("", "localhost") else (dsn.host,)
    wanted = {ipaddress.ip_address(host) for host in ("0.0.0.0", "::", *hosts)}  # noqa: S104 - compared, not bound
    listening = [one for one in psutil.net_connections("tcp") if one.status == psutil.CONN_LISTEN and one.pid]
    at_port = [one for one in listening if one.laddr.port == dsn.port and ipaddress.ip_address(one.laddr.ip) in wanted]
    firsts = {_first(psutil.Process(one.pid)) for one in at_port}
    return firsts.pop() if len(firsts) == 1 else None


def _first(process: psutil.Process) -> int:
    """The oldest ancestor of the same name: a server's workers share its socket."""
    while (parent := process.parent()) is not None and parent.name() == process.name():
        process = parent
    return int(process.pid)


def _is_server(process: psutil.Process, names: frozenset[str]) -> bool:
    """Whether a process is called as such a server, by itself or by the loader that it was started with."""
    name = process.name()
    words = process.cmdline()[:_WORDS_READ] if name.startswith(_LOADERS) else []
    return not names.isdisjoint({name, *(Path(word).name for word in words)})

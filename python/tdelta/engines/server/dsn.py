"""Where a server of the user's is and who connects: ``mysql://user@host:3306/?tls=verify-full&password-env=NAME``.

A DSN never holds a password: a command line is seen by every user of the machine and kept in the shell's history. It
says where the password is (``password-env``, ``password-file``), or nothing, and then a terminal is asked. What is
wrong is told without what was typed wherever that could be part of a password.

``localhost`` is TCP here, as everywhere but in MySQL's own clients; a Unix socket is named: ``?socket=/run/x.sock`` or,
as PostgreSQL's clients have it, as a host with its slashes encoded (``%2Frun%2Fpostgresql``). What goes to another
machine is encrypted (``tls=require``) unless the DSN says otherwise, or the usual port of the engine speaks no TLS.

`urllib.parse.urlsplit` is not used: it would stand in for one pattern (``_SHAPE``) and need more around it. Ahead of
all other faults it raises for a bracket in a password, for a name in brackets and for what NFKC changes (and that
message quotes the password); it strips spaces and control characters, and takes an empty fragment for none.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import PurePosixPath
from urllib.parse import quote, unquote

from tdelta.engines.profile import ServerAddress
from tdelta.engines.registry import profile, profiles
from tdelta.errors import DsnFault
from tdelta.messages import Refusal

TLS = ("disable", "require", "verify-ca", "verify-full")
"""How a connection is encrypted; ``require`` checks nobody's identity."""

_LARGEST_PORT = 65535
_LONGEST_SOCKET_BYTES = 107
_MOST_CHARACTERS = 4096
"""Of a DSN, parts of which messages repeat."""

_SHAPE = re.compile(
    r"(?P<scheme>[A-Za-z]+)://(?P<authority>[^/?#]*)(?P<path>/[^?#]*)?(?:\?(?P<query>[^#]*))?(?P<fragment>#.*)?\Z",
    re.DOTALL,
)
_HOST = re.compile(r"(?:\[(?P<six>[^\]]*)\]|(?P<host>[^:\[\]]*))(?::(?P<port>[^:]*))?\Z", re.DOTALL)
_PARAMETERS = ("socket", "tls", "tls-ca", "password-env", "password-file", "client")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BROKEN_CODE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_OTHER_WORDS = {
    "sslmode": "tls",
    "ssl-mode": "tls",
    "ssl_mode": "tls",
    "ssl": "tls",
    "sslrootcert": "tls-ca",
    "ssl-ca": "tls-ca",
    "ssl_ca": "tls-ca",
    "unix_socket": "socket",
    "host": "socket",
    "passfile": "password-file",
    "driver": "client",
}


def engines() -> dict[str, str]:
    """The engine by what a DSN begins with; which of those that speak one protocol answers, is asked of the server."""
    return {scheme: one.name for one in profiles() if one.address is not None for scheme in one.address.schemes}


def address_of(engine: str) -> ServerAddress:
    address = profile(engine).address
    assert address is not None  # noqa: S101 - a DSN names engines that can be reached
    return address


@dataclass(frozen=True, slots=True)
class Dsn:
    """A server of the user's, without the password.

    ``database`` is the database in which tdelta makes its schema, or the service that answers. ``socket`` is the
    socket's file, and host and port then say nothing. ``client`` is one of the engine's further clients, or None for
    its usual one. ``place`` is where within the server tables are to lie, for engines whose DSNs say so
    (`tdelta.engines.profile.ServerAddress`); several with commas between them are several encrypted conditions.
    """

    engine: str
    user: str
    host: str
    port: int
    socket: str | None = None
    database: str | None = None
    tls: str = "disable"
    tls_ca: str | None = None
    password_env: str | None = None
    password_file: str | None = None
    client: str | None = None
    place: str | None = None

    @property
    def program(self) -> str:
        address = address_of(self.engine)
        return address.worker if self.client is None else address.clients[self.client]

    @property
    def each(self) -> tuple[Dsn, ...]:
        """The same for each of its places."""
        places: Sequence[str | None] = (None,) if self.place is None else self.place.split(",")
        return tuple(replace(self, place=place) for place in places)

    @property
    def where(self) -> str:
        """User and server, for people, with the place where one is given."""
        place = "" if self.place is None else f", {address_of(self.engine).place} {self.place}"
        return f"{self.user}@{self.server}{place}"

    @property
    def server(self) -> str:
        if self.socket is not None:
            return self.socket
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def transport(self) -> str:
        """The kind of connection, for people: a difference between twins would be measured, too."""
        if self.socket is not None:
            return "Unix socket"
        return "TCP" if self.tls == "disable" else "TCP with TLS"

    @property
    def is_here(self) -> bool:
        return self.socket is not None or _is_here(self.host)

    def options(
        self,
        password: str | None,
        *,
        database: str | None = None,
        setup: Sequence[str] = (),
        in_force: Mapping[str, object] | None = None,
    ) -> dict[str, object]:
        """The options of `tdelta._native.ServerTwin`. They hold the password: never to be shown.

        Args:
            password: what was found where the DSN says; None for none.
            database: what to connect to in place of the DSN's own; with MySQL's protocol that is the schema.
            setup: what every session runs first.
            in_force: what it is to have set by that, see `InForce.as_json`.
        """
        found: dict[str, object] = {
            "protocol": profile(self.engine).protocol,
            "socket": self.socket,
            "host": None if self.socket is not None else self.host,
            "port": self.port,
            "user": self.user,
            "password": password,
            "database": database if database is not None else self.database,
            "tls": self.tls,
            "tls_ca": self.tls_ca,
            "client": self.client,
            "setup": list(setup),
            "in_force": in_force,
        }
        return {name: value for name, value in found.items() if value is not None}

    def __str__(self) -> str:
        authority = quote(self.user, safe="")
        if self.socket is None:
            authority += f"@[{self.host}]:{self.port}" if ":" in self.host else f"@{quote(self.host)}:{self.port}"
        else:
            authority += f"@:{self.port}" if address_of(self.engine).socket_name else "@"
        given = {
            "socket": self.socket,
            "tls": self.tls,
            "tls-ca": self.tls_ca,
            "password-env": self.password_env,
            "password-file": self.password_file,
            "client": self.client,
            address_of(self.engine).place: self.place,
        }
        query = "&".join(f"{name}={quote(value, safe='/')}" for name, value in given.items() if value is not None)
        return f"{self.engine}://{authority}/{quote(self.database or '', safe='')}?{query}"


def parse_dsn(text: str, option: str = "DSN") -> Dsn:
    """Read a DSN.

    Raises:
        DsnFault: everything that is wrong with it, at once.
    """
    if len(text) > _MOST_CHARACTERS:
        raise DsnFault(option, [Refusal.of("dsn-malformed", expected=f"at most {_MOST_CHARACTERS:,} characters")])
    parts = _SHAPE.match(text)
    engine = engines().get(parts["scheme"].lower()) if parts is not None else None
    if parts is None or engine is None:
        known = ", ".join(dict.fromkeys(engines().values()))
        raise DsnFault(option, [Refusal.of("dsn-malformed", expected=f"ENGINE://USER@HOST:PORT/ (ENGINE: {known})")])
    behind = (parts["path"] or "") + (parts["query"] or "") + (parts["fragment"] or "")
    if "@" in behind:  # what stands before it may be a password that has one of / ? # in it: say nothing of the rest
        raise DsnFault(option, [Refusal.of("dsn-at")])
    return _Reader(option, engine, parts["authority"], (parts["path"] or "/")[1:], parts["query"] or "").read(
        has_fragment=parts["fragment"] is not None
    )


class _Reader:
    """One reading of a DSN; ``faults`` gathers all that is wrong."""

    def __init__(self, option: str, engine: str, authority: str, path: str, query: str) -> None:
        self.option = option
        self.engine = engine
        self.known = address_of(engine)
        self.authority = authority
        self.path = path
        self.query = query
        self.faults: list[Refusal] = []

    def read(self, *, has_fragment: bool) -> Dsn:
        if has_fragment:
            self._wrong("%23 for '#'")
        given = self._parameters()
        userinfo, at, address = self.authority.rpartition("@")
        user = self._user(userinfo if at else "")
        host, port = self._address(address, has_tls=given.get("tls", "disable") != "disable" or "tls-ca" in given)
        socket = self._socket(host, given.get("socket"), port)
        database = self._database(user)
        tls = self._tls(host, socket, given)
        self._password(given)
        self._client(given.get("client"))
        if self.faults:
            raise DsnFault(self.option, self.faults)
        return Dsn(
            engine=self.engine,
            user=user,
            host=host if socket is None else "",
            port=port,
            socket=socket,
            database=database,
            tls=tls,
            tls_ca=given.get("tls-ca"),
            password_env=given.get("password-env"),
            password_file=given.get("password-file"),
            client=given.get("client"),
            place=given.get(self.known.place),
        )

    def _wrong(self, expected: str, at: str = "") -> None:
        fault = Refusal.of("dsn-malformed", expected=expected)
        self.faults.append(fault.at(at) if at else fault)

    def _decoded(self, what: str, text: str) -> str:
        if _BROKEN_CODE.search(text):
            self._wrong("%25 for '%'", what)
            return ""
        try:
            decoded = unquote(text, errors="strict")
        except UnicodeDecodeError:
            self._wrong("UTF-8 in percent-encoding", what)
            return ""
        if _CONTROL.search(decoded):
            self._wrong("no control characters", what)
        return decoded

    def _parameters(self) -> dict[str, str]:
        found: dict[str, str] = {}
        known = (*_PARAMETERS, *filter(None, (self.known.place,)))
        for pair in filter(None, self.query.split("&")):
            name, _, value = pair.partition("=")
            if name.lower() in ("password", "passwd", "pwd"):
                self.faults.append(Refusal.of("dsn-password"))
            elif name not in known:
                self.faults.append(_unknown(name, known))
            elif name in found:
                self.faults.append(Refusal.of("twice", what="it").at(name))
            elif not value:
                self._wrong("a value", name)
            else:
                found[name] = self._decoded(name, value)
        return found

    def _user(self, userinfo: str) -> str:
        name, colon, password = userinfo.partition(":")
        if password:
            self.faults.append(Refusal.of("dsn-password"))
        elif colon:
            self._wrong("no ':' after the user, even without a password")
        if not name:
            self._wrong("a user: ENGINE://USER@HOST/")
        return self._decoded("user", name)

    def _address(self, text: str, *, has_tls: bool) -> tuple[str, int]:
        default = (self.known.tls_port if has_tls else 0) or self.known.port
        parts = _HOST.match(text)
        if parts is None or "," in text:
            self._wrong("one host, or an IPv6 address as in [::1]:3306")
            return "", default
        return self._host(parts["six"], parts["host"]), self._port(parts["port"], default)

    def _host(self, six: str | None, name: str | None) -> str:
        if six is None:
            return self._decoded("host", name or "")
        address = self._decoded("host", six)
        try:
            ipaddress.IPv6Address(address)
        except ValueError:
            self._wrong("an IPv6 address within the brackets", "host")
        return address

    def _port(self, text: str | None, default: int) -> int:
        if not text:
            return default
        if not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= _LARGEST_PORT):
            self._wrong(f"a number from 1 to {_LARGEST_PORT}", "port")  # a password may stand there
            return default
        return int(text)

    def _socket(self, host: str, given: str | None, port: int) -> str | None:
        if given is not None and host not in ("", "localhost"):
            self.faults.append(Refusal.of("conflict", one="a host", other="?socket="))
        socket = given if given is not None else host if host.startswith("/") else None
        if socket is None:
            if not host and not self.faults:
                self._wrong("a host, or a Unix socket (?socket=PATH)")
            return None
        if not socket.startswith("/"):
            self._wrong("an absolute path", "socket")
        begins = self.known.socket_name.partition("{")[0]
        if begins and not PurePosixPath(socket).name.startswith(begins):
            socket = f"{socket.rstrip('/')}/{self.known.socket_name.format(port=port)}"
        if len(socket.encode()) > _LONGEST_SOCKET_BYTES:
            self._wrong(f"at most {_LONGEST_SOCKET_BYTES} bytes", "socket")
        return socket

    def _database(self, user: str) -> str | None:
        name = self._decoded("database", self.path)
        if self.known.has_databases:
            if "/" in self.path:
                self._wrong("%2F for '/' in its name", "database")
            if self.known.needs_service and not name:
                self._wrong("a service: ENGINE://USER@HOST/SERVICE", "database")
            return name or user  # as all clients of PostgreSQL have it
        if name:
            self._wrong("no database (--schema names tdelta's own)")
        return None

    def _tls(self, host: str, socket: str | None, given: Mapping[str, str]) -> str:
        asked, authority = given.get("tls"), given.get("tls-ca")
        tls = asked if asked is not None else self._usual_tls(host, socket, authority)
        if tls not in TLS:
            self._wrong(f"one of {', '.join(TLS)}", "tls")
        elif socket is not None and tls != "disable":
            self.faults.append(Refusal.of("conflict", one="?tls=", other="a Unix socket").at("tls"))
        elif not self.known.takes_authority:
            if authority is not None:
                self.faults.append(Refusal.of("unsupported", what="?tls-ca=", by=self.engine).at("tls-ca"))
        elif tls.startswith("verify") and authority is None:
            self.faults.append(Refusal.of("requires", what=f"tls={tls}", needs="tls-ca=PATH (certificates, PEM)"))
        elif not tls.startswith("verify") and authority is not None:
            self.faults.append(
                Refusal.of("conflict", one="?tls-ca=", other=f"tls={tls}, only verify-ca or verify-full").at("tls-ca")
            )
        return tls

    def _password(self, given: Mapping[str, str]) -> None:
        if "password-env" in given and "password-file" in given:
            self.faults.append(Refusal.of("conflict", one="password-env", other="password-file"))
        if not _NAME.match(given.get("password-env", "x")):
            self._wrong("an environment variable", "password-env")

    def _client(self, given: str | None) -> None:
        if given is not None and not self.known.clients:
            self.faults.append(Refusal.of("unsupported", what="?client=", by=self.engine).at("client"))
        elif given is not None and given not in self.known.clients:
            self._wrong(" or ".join(self.known.clients), "client")

    def _usual_tls(self, host: str, socket: str | None, authority: str | None) -> str:
        """None on this machine, where nobody listens; elsewhere as the usual port has it, verified if it can be."""
        if socket is not None or _is_here(host):
            return "disable"
        if authority is not None:
            return "verify-full"
        return "disable" if self.known.tls_port else "require"


def _is_here(host: str) -> bool:
    if host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _unknown(name: str, parameters: Sequence[str]) -> Refusal:
    meant = _OTHER_WORDS.get(name.lower()) or next(iter(get_close_matches(name, parameters, n=1)), None)
    hint = f" Did you mean {meant}?" if meant else f" Expected one of {', '.join(parameters)}."
    found = "(not shown)" if _CONTROL.search(name) else repr(name)
    return Refusal.of("unknown", kind="parameter", found=found, hint=hint)

"""The servers of a load generator, as its clients expect them: placeholders, environment, a password file.

A password is never in a word of the command, since every user of a machine can read the arguments of a process. It goes
into the environment of the command (which only its owner can read), and into a file that only its owner can read.

Commands that load into tdelta's servers have a home folder of its own, so that no file of the user's leads elsewhere.
Clients of MySQL believe an option file or a login path of the user's (`~/.my.cnf`, `~/.mylogin.cnf`) more than
variables, and the last file that they read more than the system's; clients of PostgreSQL read services and start-up
files. Here the last of these files is tdelta's: it names the socket, and has a client hang up where that is not the
socket of the server that it came to.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tdelta import own_folders
from tdelta.measure.aes import OPENSSL_VARIABLE
from tdelta.measure.private import private

MYSQL = "mysql"
POSTGRES = "postgres"

_HERE = "127.0.0.1"
_NO_TLS = "disable"
_PORTS = {MYSQL: 3306, POSTGRES: 5432}
_SOCKET_PORT = re.compile(r"\.s\.PGSQL\.(\d+)\Z")


_OTHERS = (
    "MYSQL_GROUP_SUFFIX MYSQL_HOME MYSQL_HOST MYSQL_PWD MYSQL_TCP_PORT MYSQL_UNIX_PORT PGDATABASE PGHOST PGHOSTADDR"
    " PGOPTIONS PGPASSFILE PGPASSWORD PGPORT PGREQUIREPEER PGREQUIRESSL PGSERVICE PGSERVICEFILE PGSSLMODE"
    " PGSSLROOTCERT PGSYSCONFDIR PGUSER"
)
"""Variables by which clients find a server: the user's own would send a command to another one."""

_HOME = re.compile(r"(?<![^\s<>|;&(=:'\"])~/")


@dataclass(frozen=True, slots=True)
class Connection:
    """One twin's server. ``protocol`` is ``mysql`` or ``postgres``, ``socket`` the socket's file (None: TCP).

    ``tls`` is ``disable``, ``require``, ``verify-ca`` or ``verify-full``.
    """

    protocol: str
    user: str
    database: str
    socket: Path | None = None
    host: str = _HERE
    port: int = 0
    password: str | None = field(default=None, repr=False)
    tls: str = _NO_TLS
    tls_ca: str | None = None

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Connection:
        socket = options.get("socket")
        return cls(
            protocol=options["protocol"],
            user=options["user"],
            database=options.get("database") or "",
            socket=Path(socket) if socket else None,
            host=options.get("host") or _HERE,
            port=options.get("port") or 0,
            password=options.get("password"),
            tls=options.get("tls") or _NO_TLS,
            tls_ca=options.get("tls_ca"),
        )

    @property
    def client_host(self) -> str:
        """What a client's option for the host takes: libpq has a socket's folder there, MySQL's clients a name."""
        if self.socket is None:
            return self.host
        return str(self.socket.parent) if self.protocol == POSTGRES else "localhost"

    @property
    def client_port(self) -> int:
        """What a client's option for the port takes; the name of PostgreSQL's sockets ends in it."""
        named = _SOCKET_PORT.search(self.socket.name) if self.socket is not None else None
        return int(named.group(1)) if named else self.port or _PORTS[self.protocol]

    @property
    def needs_tls(self) -> bool:
        return self.socket is None and self.tls != _NO_TLS

    def placeholders(self) -> dict[str, str]:
        """What ``{socket}`` and its like stand for. Without a socket ``{socket}`` stands for nothing."""
        return {
            "socket": "" if self.socket is None else str(self.socket),
            "host": self.client_host,
            "port": str(self.client_port),
            "user": self.user,
            "database": self.database,
        }

    def environment(self, passfile: Path) -> dict[str, str]:
        """The variables by which clients of this protocol connect. They hold the password.

        libpq's suffice; clients of MySQL may be told of another server by the system's option files.
        """
        found = self._postgres_environment(passfile) if self.protocol == POSTGRES else self._mysql_environment()
        return {name: value for name, value in found.items() if value}

    def _mysql_environment(self) -> dict[str, str]:
        socket = "" if self.socket is None else str(self.socket)
        return {
            "MYSQL_UNIX_PORT": socket,
            "MYSQL_TCP_PORT": "" if socket else str(self.client_port),
            "MYSQL_HOST": self.client_host,
            "MYSQL_PWD": self.password or "",
        }

    def _postgres_environment(self, passfile: Path) -> dict[str, str]:
        # A line break cannot be written in libpq's file of passwords.
        is_listable = self.password is not None and "\n" not in self.password
        return {
            "PGHOST": self.client_host,
            "PGPORT": str(self.client_port),
            "PGUSER": self.user,
            "PGDATABASE": self.database,
            "PGPASSFILE": str(passfile) if is_listable else "",
            "PGPASSWORD": "" if is_listable else self.password or "",
            "PGSSLMODE": self.tls if self.socket is None else "",
            "PGSSLROOTCERT": self.tls_ca or "",
        }

    def passfile_text(self) -> str:
        """What ``{passfile}`` holds: a line for libpq, or an option file for clients of MySQL.

        The latter says where the server is, too: a client believes a system's own option files (Debian's MariaDB names
        a socket in one) more than the environment.
        """
        password = self.password or ""
        if self.protocol == POSTGRES:
            return "*:*:*:*:" + password.replace("\\", r"\\").replace(":", r"\:") + "\n"
        wanted = {"user": self.user, "password": password, "host": self.client_host}
        if self.socket is None:
            wanted |= {"port": str(self.client_port)}
        else:
            wanted |= {"socket": str(self.socket), "protocol": "socket"}
        lines = [f'{name}="{_option_value(value)}"\n' for name, value in wanted.items() if value]
        return "".join(["[client]\n", *lines])

    def option_file(self) -> str:
        """What clients of MySQL read last of all option files; empty for others."""
        if self.protocol == POSTGRES:
            return ""
        return self.passfile_text() + ("" if self.socket is None else own_socket_only(self.socket))


def _option_value(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def write_passfile(connection: Connection, path: Path) -> None:
    """Write what `Connection.passfile_text` says, readable by its owner only from the first byte on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(connection.passfile_text())


def inherited_environment() -> dict[str, str]:
    """This process's environment, less what would connect a command elsewhere or hide AES instructions from it."""
    left_out = {*_OTHERS.split(), OPENSSL_VARIABLE}
    return {name: value for name, value in os.environ.items() if name not in left_out}


def make_home(folder: Path, option_file: str) -> Mapping[str, str]:
    """Make a home folder; returns the variables by which clients look there and nowhere else.

    Args:
        option_file: what clients of MySQL read last; empty for other servers.
    """
    os.close(own_folders.make(folder))
    if option_file:
        with private(folder / ".my.cnf") as file:
            file.write(option_file.encode())
    return {
        "HOME": str(folder),
        "MYSQL_TEST_LOGIN_FILE": str(folder / "no-login-paths"),
        "PGSERVICEFILE": str(folder / "no-services"),
        "PGSYSCONFDIR": str(folder),
        "PSQLRC": str(folder / "no-psqlrc"),
    }


def from_users_home(command: str) -> str:
    """A shell's command in which ``~/`` is the user's home still, which its programs no longer have as theirs."""
    home = os.environ.get("HOME", "")
    return command if shlex.quote(home) != home else _HOME.sub(lambda _: home.rstrip("/") + "/", command)


def own_socket_only(socket: Path) -> str:
    """Lines of an option file by which a client of MySQL hangs up where another server than that of a socket answers.

    A session's language of dates becomes what it is, or, elsewhere, one that there is not: an error of the first
    statement ends the connection, before the client has sent anything else.
    """
    own = f"@@socket=0x{os.fsencode(socket).hex()}"
    return f"[mysql]\ninit-command=\"SET lc_time_names=IF({own},@@lc_time_names,'not the server of this run')\"\n"

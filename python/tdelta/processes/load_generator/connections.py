"""The servers of a load generator, as its clients expect them: placeholders, environment, an option file.

tdelta starts these servers, without passwords. Commands that load into them get a separate home folder, so that no
file of the user redirects them. Clients of MySQL prefer an option file or a login path (`~/.my.cnf`, `~/.mylogin.cnf`)
to variables, and the file that they read last to the system's; clients of PostgreSQL read services and start-up files.
Here tdelta writes the last of these files: it names the socket, and a client disconnects if it reached another server.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tdelta import own_folders
from tdelta.measure.aes import OPENSSL_VARIABLE
from tdelta.measure.private import private

MYSQL = "mysql"
POSTGRES = "postgres"

OPTION_FILE = ".my.cnf"
"""The file in a home folder that clients of MySQL read last."""

_MYSQL_PORT = 3306
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
    """One twin's server: its protocol (``mysql`` or ``postgres``), and the file of its Unix socket."""

    protocol: str
    user: str
    database: str
    socket: Path

    @property
    def host(self) -> str:
        """The value of a client's option for the host: libpq has a socket's folder there, MySQL's clients a name."""
        return str(self.socket.parent) if self.protocol == POSTGRES else "localhost"

    @property
    def port(self) -> str:
        """The value of a client's option for the port; the name of PostgreSQL's sockets ends in it."""
        named = _SOCKET_PORT.search(self.socket.name)
        return named.group(1) if named else str(_MYSQL_PORT)

    def placeholders(self) -> dict[str, str]:
        names = ("socket", "host", "port", "user", "database")
        return {name: str(getattr(self, name)) for name in names}

    def environment(self) -> dict[str, str]:
        """The variables by which clients of this protocol connect; those of MySQL may need the option file as well."""
        if self.protocol == POSTGRES:
            return {"PGHOST": self.host, "PGPORT": self.port, "PGUSER": self.user, "PGDATABASE": self.database}
        return {"MYSQL_UNIX_PORT": str(self.socket), "MYSQL_HOST": self.host}

    def option_file(self) -> str:
        """The content of the option file that clients of MySQL read last; empty for others.

        It names the socket: a client believes a system's own option files (Debian's MariaDB names a socket in one) more
        than the environment.
        """
        if self.protocol == POSTGRES:
            return ""
        wanted = {"user": self.user, "host": self.host, "socket": str(self.socket), "protocol": "socket"}
        lines = [f'{name}="{_option_value(value)}"\n' for name, value in wanted.items()]
        return "".join(["[client]\n", *lines, own_socket_only(self.socket)])


def _option_value(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


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
        with private(folder / OPTION_FILE) as file:
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

"""A home folder of tdelta's own for commands that load into its servers, so that no file of the user's leads elsewhere.

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
from pathlib import Path

from tdelta import own_folders
from tdelta.measure.aes import OPENSSL_VARIABLE
from tdelta.measure.private import private

_OTHERS = (
    "MYSQL_GROUP_SUFFIX MYSQL_HOME MYSQL_HOST MYSQL_PWD MYSQL_TCP_PORT MYSQL_UNIX_PORT PGDATABASE PGHOST PGHOSTADDR"
    " PGOPTIONS PGPASSFILE PGPASSWORD PGPORT PGREQUIREPEER PGREQUIRESSL PGSERVICE PGSERVICEFILE PGSSLMODE"
    " PGSSLROOTCERT PGSYSCONFDIR PGUSER"
)
"""Variables by which clients find a server: the user's own would send a command to another one."""

_HOME = re.compile(r"(?<![^\s<>|;&(=:'\"])~/")


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

"""A private MariaDB server that stands for a user's own."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.own_engines import PASSWORD, PATIENCE_SECONDS, Session, await_server
from support.ports import free_port
from support.temporaries import temporary_files_in

INSTALL = "apt-get install mariadb-server"
ROOT_PASSWORD = "r00t's %pass"  # noqa: S105 - a test server's
_LITERAL = "'" + PASSWORD.replace("\\", "\\\\").replace("'", "''") + "'"
OBJECTS = (
    "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES ORDER BY 1, 2",
    "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA ORDER BY 1",
    "SELECT ROUTINE_SCHEMA, ROUTINE_NAME FROM information_schema.ROUTINES ORDER BY 1, 2",
    "SELECT User, Host, Priv FROM mysql.global_priv ORDER BY 1, 2",
    "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM information_schema.GLOBAL_VARIABLES"
    " WHERE VARIABLE_NAME NOT LIKE '%gtid%' ORDER BY 1",
    "SELECT id, word FROM app.orders ORDER BY id",
)
LOCAL = "127.0.0.1"
USERS = (
    rf"GRANT ALL PRIVILEGES ON `tdelta\_%`.* TO bench@'{{hosts}}' IDENTIFIED BY {_LITERAL}",
    "GRANT PROCESS ON *.* TO bench@'{hosts}'",
    "CREATE USER nobody@'{hosts}' IDENTIFIED BY 'x'",
    "CREATE SCHEMA app",
    "CREATE TABLE app.orders (id INT PRIMARY KEY, word VARCHAR(20))",
    "INSERT INTO app.orders VALUES (1, 'theirs'), (2, 'theirs, too')",
)


@dataclass(frozen=True)
class Server:
    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def socket(self) -> Path:
        return self.folder / "s"


def programs() -> object:
    return shutil.which("mariadbd") and shutil.which("mariadb-install-db")


def install(folder: Path) -> Path:
    data = folder / "installed"
    installing = ["mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]
    subprocess.run(
        [*installing, "--user=root", f"--datadir={data}", temporary_files_in(folder)],
        check=True,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
    )
    return data


@contextlib.contextmanager
def running(installed: Path, folder: Path, *options: str, addresses: str = LOCAL) -> Iterator[Server]:
    """A server on 127.0.0.1, or also on other addresses, and a socket, gone at the end; root has a password."""
    folder.mkdir()
    shutil.copytree(installed, folder / "data")
    (folder / "init.sql").write_text(
        f"ALTER USER root@localhost IDENTIFIED BY '{ROOT_PASSWORD.replace(chr(39), chr(39) * 2)}';\n"
    )
    port = free_port()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                *("mariadbd", "--no-defaults", "--user=root", f"--port={port}", f"--bind-address={addresses}"),
                *(f"--datadir={folder / 'data'}", f"--socket={folder / 's'}", f"--pid-file={folder / 'pid'}"),
                *(f"--init-file={folder / 'init.sql'}", "--innodb-flush-log-at-trx-commit=0", *options),
                temporary_files_in(folder),
            ],
            stdout=log,
            stderr=log,
            process_group=0,
        )
    try:
        await_server(process, port, folder / "log")
        yield Server(folder, port, process)
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def two(base: Path, hosts: str = LOCAL, addresses: str = LOCAL) -> Iterator[tuple[Server, Server]]:
    """A plain server and an encrypted one with a smaller cache; users ``bench`` and ``nobody``, a schema of theirs.

    ``hosts`` are those from which the users may come, ``addresses`` those on which the servers listen.
    """
    installed = install(base)
    keys = base / "keys"
    keys.write_text(f"1;{secrets.token_hex(32)}\n")
    encryption = (
        "--plugin-load-add=file_key_management",
        f"--file-key-management-filename={keys}",
        "--innodb-encrypt-tables=ON",
    )
    smaller = ("--innodb-buffer-pool-size=32M", "--sort-buffer-size=1M")
    with (
        running(installed, base / "p", "--innodb-buffer-pool-size=64M", addresses=addresses) as plain,
        running(installed, base / "e", *smaller, *encryption, addresses=addresses) as other,
    ):
        for server in (plain, other):
            with contextlib.closing(root(server)) as session:
                for statement in USERS:
                    session.run(statement.replace("{hosts}", hosts))
        yield plain, other


def root(server: Server, **more: object) -> Session:
    whom = {"protocol": "mysql", "user": "root", "socket": str(server.socket), "password": ROOT_PASSWORD}
    return Session({**whom, **more})


def address(port: int, user: str = "bench", *, scheme: str = "", query: str = "") -> str:
    return f"{scheme or 'mariadb'}://{user}@127.0.0.1:{port}/{query}"


def root_address(server: Server) -> str:
    return f"mariadb://root@/?socket={server.socket}"

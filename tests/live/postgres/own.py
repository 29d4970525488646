"""A private PostgreSQL server that stands for a user's own."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.own_engines import PASSWORD, PATIENCE_SECONDS, Session, await_server
from support.ports import free_port
from tdelta.engines.server.dsn import parse_dsn

from .programs import as_user, folder_of_programs

INSTALL = "apt-get install postgresql"
ROOT_PASSWORD = "p0stgres' %pass"  # noqa: S105 - a test server's
OBJECTS = (
    "SELECT nspname, relname, relkind FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"
    " WHERE nspname <> 'pg_toast' ORDER BY 1, 2",
    "SELECT nspname, nspacl, obj_description(oid, 'pg_namespace') FROM pg_namespace"
    " WHERE nspname !~ '^pg_(toast_)?temp' ORDER BY 1",
    "SELECT datname, datacl FROM pg_database ORDER BY 1",
    "SELECT rolname, rolconfig FROM pg_roles ORDER BY 1",
    "SELECT name, setting FROM pg_settings WHERE name NOT IN ('application_name', 'seed') ORDER BY 1",
    "SELECT * FROM public.orders ORDER BY id",
)
MADE = (
    "CREATE ROLE bench LOGIN PASSWORD '" + PASSWORD.replace("'", "''") + "'",
    "CREATE ROLE nobody LOGIN PASSWORD 'x'",
    "GRANT CREATE ON DATABASE app TO bench",
)


@dataclass(frozen=True)
class Server:
    folder: Path
    port: int
    sockets: Path
    process: subprocess.Popen[bytes]


programs = folder_of_programs


def install(folder: Path) -> Path:
    """A data directory that servers are copied from; all must log in by password."""
    data, secret = folder / "installed", folder / "secret"
    secret.write_text(ROOT_PASSWORD)
    initialize = [
        *(str(programs() / "initdb"), "--no-sync", "-A", "scram-sha-256", "-U", "postgres"),
        *(f"--pwfile={secret}", "--locale=C.UTF-8", "-E", "UTF8", "-D", str(data)),
    ]
    subprocess.run(as_user(initialize), check=True, capture_output=True, timeout=PATIENCE_SECONDS)
    return data


@contextlib.contextmanager
def running(installed: Path, folder: Path, *settings: str) -> Iterator[Server]:
    folder.mkdir()
    shutil.copytree(installed, folder / "data")
    port = free_port()
    given = (f"port={port}", "listen_addresses=127.0.0.1", "fsync=off", *settings)
    with tempfile.TemporaryDirectory(prefix="tdelta-") as sockets, (folder / "log").open("wb") as log:
        options = [word for setting in (*given, f"unix_socket_directories={sockets}") for word in ("-c", setting)]
        process = subprocess.Popen(
            as_user([str(programs() / "postgres"), "-D", str(folder / "data"), *options]),
            stdout=log,
            stderr=log,
            process_group=0,
        )
        try:
            await_server(process, port, folder / "log", "ready to accept connections")
            yield Server(folder, port, Path(sockets), process)
        finally:
            process.send_signal(signal.SIGQUIT)  # PostgreSQL ends at once, and takes its children along
            process.wait(PATIENCE_SECONDS)


@contextlib.contextmanager
def two(base: Path) -> Iterator[tuple[Server, Server]]:
    """Two servers that differ in their caches; users ``bench`` and ``nobody``, a database ``app``."""
    installed = install(base)
    with (
        running(installed, base / "p", "shared_buffers=32MB") as plain,
        running(installed, base / "e", "shared_buffers=16MB", "work_mem=8MB") as other,
    ):
        for server in (plain, other):
            with contextlib.closing(root(server, "postgres")) as session:
                session.run("CREATE DATABASE app")
                for statement in MADE:
                    session.run(statement)
            with contextlib.closing(root(server)) as session:
                session.run("CREATE TABLE public.orders (id INT PRIMARY KEY, word TEXT)")
                session.run("INSERT INTO public.orders VALUES (1, 'theirs'), (2, 'theirs, too')")
        yield plain, other


def root(server: Server, database: str = "app") -> Session:
    dsn = parse_dsn(f"postgres://postgres@:{server.port}/{database}?socket={server.sockets}")
    return Session(dsn.options(ROOT_PASSWORD))


def address(port: int, user: str = "bench", *, scheme: str = "", query: str = "") -> str:
    return f"{scheme or 'postgresql'}://{user}@127.0.0.1:{port}/app{query}"


def root_address(server: Server) -> str:
    return f"postgres://postgres@:{server.port}/postgres?socket={server.sockets}"

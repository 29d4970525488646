"""Private PostgreSQL servers for tests, and psql to ask them: no client of tdelta's own has a part in it."""

import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from support.running import require
from tdelta.engines.postgres.driver import gocryptfs_program
from tdelta.engines.postgres.server import Postgres
from tdelta.engines.postgres.storage import Gocryptfs
from tdelta.engines.server.base import ServerBinary, ServerSettings, recipe_of
from tdelta.measure.aes import environment_at
from tdelta.processes.servers.recipes import place_for
from tdelta.processes.servers.server import Server

from .programs import folder_of_programs

PLAIN = ServerSettings("none", connections=4)
ENCRYPTED = ServerSettings("aes-256", "all", connections=4)
INSTALL = "apt-get install postgresql gocryptfs"
KEY = secrets.token_hex(32)


def stock_engine() -> Postgres:
    """The newest PostgreSQL here, its encrypted twins on gocryptfs."""
    require(shutil.which("gocryptfs"), INSTALL)
    return Gocryptfs(stock_binary(), gocryptfs_program())


def stock_binary() -> ServerBinary:
    folder = folder_of_programs()
    require(folder, INSTALL)
    assert folder is not None
    path = folder / "postgres"
    text = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    version = re.search(r"\d+(\.\d+)*", text)
    assert version, text
    return ServerBinary("postgres", "PostgreSQL", path, version.group(), text)


@contextmanager
def running(engine: Postgres, folder: Path, settings: ServerSettings) -> Iterator[Server]:
    with made(engine, folder, settings) as server:
        server.start(initialize=True)
        for statement in engine.schema_sql(settings):
            psql(server, statement, database="postgres")
        yield server


def made(engine: Postgres, folder: Path, settings: ServerSettings) -> Server:
    """A server's folders and files; it is not started."""
    recipe = recipe_of(engine, place_for(folder, engine.socket_name), settings, KEY if settings.is_encrypted else None)
    hidden = environment_at(settings.aes_instructions, engine.crypto)
    return Server(recipe, hidden)


def psql(server: Server, *statements: str, database: str = "tdelta", seconds: float = 120.0) -> str:
    """Run statements, each on its own, in one session; the last one's rows, columns parted by a bar."""
    options = [part for statement in statements for part in ("-c", statement)]
    program = Path(server.recipe.serve.argv[0]).with_name("psql")
    address = ["-h", str(server.recipe.place.socket.parent), "-U", str(server.recipe.connect["user"])]
    done = subprocess.run(
        [program, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", *address, "-d", database, *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def answers(server: Server, queries: Mapping[str, str]) -> dict[str, str]:
    return {name: psql(server, query) for name, query in queries.items()}


def files_with(folder: Path, marker: bytes) -> list[str]:
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and marker in path.read_bytes()
    )

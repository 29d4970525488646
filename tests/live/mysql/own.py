"""Private MySQL servers that stand for a user's own, reached by their sockets."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.own_engines import Session
from support.serving import KEY, settings
from tdelta.engines.mysql.driver import MySql
from tdelta.engines.server.base import DATABASE, recipe_of
from tdelta.engines.server.installed import find_servers
from tdelta.errors import EngineUnavailable
from tdelta.processes.servers.recipes import place_for
from tdelta.processes.servers.server import Server as Private

INSTALL = "scripts/need-servers"
ROOT_PASSWORD = ""
OBJECTS = (
    "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES ORDER BY 1, 2",
    "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA ORDER BY 1",
    "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.global_variables"
    " WHERE VARIABLE_NAME NOT LIKE '%gtid%' ORDER BY 1",
)


@dataclass(frozen=True)
class Server:
    port: Path


def programs() -> object:
    try:
        return find_servers("mysql")
    except EngineUnavailable:
        return False


@contextlib.contextmanager
def two(base: Path) -> Iterator[tuple[Server, Server]]:
    """A plain server and an encrypted one; their user may do everything, without a password."""
    engine = MySql(find_servers("mysql")[0])
    with contextlib.ExitStack() as stack:
        found = []
        for name, scope in (("p", "none"), ("e", "data")):
            wanted = settings(scope)
            recipe = recipe_of(engine, place_for(base / name), wanted, KEY if wanted.is_encrypted else None)
            stack.enter_context(Private(recipe)).start(initialize=True)
            found.append(Server(recipe.place.socket))
        yield found[0], found[1]


def root(server: Server) -> Session:
    return Session({"protocol": "mysql", "socket": str(server.port), "user": DATABASE})


def address(port: Path, user: str = DATABASE, *, scheme: str = "", query: str = "") -> str:
    return f"{scheme or 'mysql'}://{user}@/?socket={port}"


def root_address(server: Server) -> str:
    return address(server.port)

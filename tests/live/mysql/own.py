"""Private MySQL servers that stand for a user's own, reached by their sockets; sessions by tdelta's own client."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from support.serving import KEY, settings
from tdelta import _native
from tdelta.engines.mysql.driver import MySql
from tdelta.engines.server.base import DATABASE, recipe_of
from tdelta.engines.server.installed import find_servers
from tdelta.errors import EngineUnavailable
from tdelta.processes.servers.recipes import place_for
from tdelta.processes.servers.server import Server as Private
from tdelta.processes.workers import Refused

INSTALL = "scripts/need-servers"
ROOT_PASSWORD = ""
SCHEMES = ("mysql", "mysql")
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
    return Session({"socket": str(server.port), "user": DATABASE})


def address(port: Path, user: str = DATABASE, *, scheme: str = "", query: str = "") -> str:
    return f"{scheme or SCHEMES[0]}://{user}@/?socket={port}"


def root_address(server: Server) -> str:
    return address(server.port)


class Session:
    def __init__(self, options: Mapping[str, object]) -> None:
        self._twin = _native.ServerTwin(json.dumps({"protocol": "mysql", **options}), 1)

    def run(self, sql: str) -> None:
        self.rows(sql)

    def text(self, sql: str) -> str:
        return self._twin.text(sql)

    def rows(self, sql: str) -> tuple[list[str], list[list[str | None]]]:
        try:
            return self._twin.rows(sql)
        except _native.NativeError as error:
            raise Refused(*error.args) from error

    def close(self) -> None:
        self._twin.close()

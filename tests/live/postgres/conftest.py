"""These need PostgreSQL's server programs; one private server serves a module."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.running import require
from support.runs import ServerPlace, occupied
from tdelta import _native

from .private import PASSWORD, PrivateServer, private_server
from .programs import folder_of_programs

Open = Callable[..., _native.ServerTwin]


@pytest.fixture(scope="session", autouse=True)
def programs() -> None:
    require(folder_of_programs(), "PostgreSQL's server programs (Debian: postgresql)")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[ServerPlace]:
    yield from occupied("postgres", tmp_path)


@pytest.fixture(scope="module")
def server(programs: None) -> Iterator[PrivateServer]:
    with private_server() as running:
        twin = _native.ServerTwin(json.dumps(running.options()), 1)
        secret = PASSWORD.replace("'", "''")
        twin.run(f"CREATE ROLE scrammed LOGIN SUPERUSER PASSWORD '{secret}'")
        twin.run(f"CREATE ROLE plain LOGIN PASSWORD '{secret}'")
        twin.run(f"SET password_encryption = md5; CREATE ROLE hashed LOGIN PASSWORD '{secret}'")
        twin.close()
        yield running


@pytest.fixture
def open_twin(server: PrivateServer) -> Iterator[Open]:
    opened = []

    def opening(connections: int = 1, options: dict[str, Any] | None = None) -> _native.ServerTwin:
        opened.append(_native.ServerTwin(json.dumps(options or server.options()), connections))
        return opened[-1]

    yield opening
    for twin in opened:
        twin.close()

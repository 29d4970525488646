"""From a server program to what drives it; for PostgreSQL that depends on what else is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tdelta.driver.servers.binaries import find_servers
from tdelta.driver.servers.protections import protection_for
from tdelta.engines.mariadb.private import MariadbEngine
from tdelta.engines.mysql.private import MysqlEngine
from tdelta.engines.postgres.private import PostgresEngine
from tdelta.engines.servers import ServerBinary, ServerEngine, Unusable
from tdelta.errors import TdeltaError


def server_engine(name: str, program: Path | None = None, encrypted_folder: Path | None = None) -> ServerEngine:
    """What drives the newest server of that name, or the program that is given.

    Args:
        name: of an engine that is a server.
        program: ``--server-binary``.
        encrypted_folder: ``--encrypted-dir``, PostgreSQL's only.

    Raises:
        EngineUnavailable: there is none, or nothing to encrypt its files with.
        UsageError: nothing is seen to encrypt that folder.
        EnvironmentFault: this machine cannot.
    """
    return _adapter(find_servers(name, program)[0], encrypted_folder)


def found_engines(name: str) -> Iterator[ServerEngine | Unusable]:
    """What drives each server of that name that is here, or why nothing can."""
    for binary in (one for one in find_servers() if one.kind == name):
        try:
            yield _adapter(binary)
        except TdeltaError as fault:
            yield Unusable(binary, str(fault))


def _adapter(binary: ServerBinary, encrypted_folder: Path | None = None) -> ServerEngine:
    match binary.kind:
        case "mariadb":
            return MariadbEngine(binary)
        case "mysql":
            return MysqlEngine(binary)
        case _:
            return PostgresEngine(binary, protection_for(binary, encrypted_folder))

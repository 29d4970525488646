"""Which family a request means, and which server program it is tested with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdelta.driver import find_library
from tdelta.driver.servers.adapters import server_engine
from tdelta.engines.catalogue import engine
from tdelta.engines.duckdb.engine import DuckdbEngine
from tdelta.engines.registry import servers as server_names
from tdelta.session.families.analytic import AnalyticFamily
from tdelta.session.families.embedded import EmbeddedFamily
from tdelta.session.families.own import OwnFamily
from tdelta.session.families.protocol import Family
from tdelta.session.families.served import ServedFamily
from tdelta.session.own_servers import OwnServers, own_dsns

if TYPE_CHECKING:
    from tdelta.session.request import RunRequest


def family(request: RunRequest, servers: OwnServers | None = None) -> Family:
    """The engine that a request asks for, ready to be planned with.

    Args:
        request: what was asked.
        servers: the user's own, where they were reached already.

    Raises:
        DsnFault: a DSN has faults.
        UnknownName: there is no such engine.
        UsageError: this version cannot drive it.
        EngineUnavailable: it is not installed, or ``--server-binary`` is not that server.
    """
    dsns = own_dsns(request)
    if dsns is not None:
        return OwnFamily(dsns, servers)
    if request.tested.engine in server_names():
        return ServedFamily(
            server_engine(request.tested.engine, request.tested.server_binary, request.twins.encrypted_dir)
        )
    if request.tested.engine == DuckdbEngine.name:
        duckdb = DuckdbEngine()
        duckdb.require()
        return AnalyticFamily(duckdb)
    return EmbeddedFamily(engine(request.tested.engine, find_library(request.tested.library)))

"""PostgreSQL by psycopg, where a DSN says ``client=dbapi``; see `tdelta.engines.server.mysql_dbapi` for why.

Started as ``python -m tdelta.engines.postgres.driven``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from types import ModuleType
from typing import Any

from tdelta.engines.server.dbapi import Driver, Said
from tdelta.engines.server.dbapi_worker import DrivenHost
from tdelta.processes.rpc import serve

_KINDS = {
    "23": "constraint",
    "25006": "read_only",
    "28": "auth",
    "3D000": "unknown_database",
    "40": "conflict",
    "42501": "denied",
    "53100": "full",
    "53200": "out_of_memory",
    "53300": "too_many_connections",
    "55P03": "locked",
    "57P": "connection",
    "58": "io",
    "08": "connection",
}
"""Kinds by what an SQLSTATE begins with."""

_RETRIED = frozenset({"conflict", "locked"})
_CONNECT_SECONDS = 60
_TLS = {"disable": "disable", "require": "require", "verify-ca": "verify-ca", "verify-full": "verify-full"}


def _connect(module: ModuleType, options: Mapping[str, Any]) -> Any:
    host = str(PurePosixPath(options["socket"]).parent) if options.get("socket") else options["host"]
    given = {
        "host": host,
        "port": options["port"],
        "user": options["user"],
        "password": options.get("password"),
        "dbname": options.get("database"),
        "sslmode": _TLS[options.get("tls", "disable")],
        "sslrootcert": options.get("tls_ca"),
        "connect_timeout": int(options.get("answer_seconds", _CONNECT_SECONDS)),
    }
    connection = module.connect(autocommit=True, **{name: value for name, value in given.items() if value is not None})
    from psycopg.types.string import TextLoader  # where the driver is

    class Trimming(TextLoader):
        """Of CHAR(n), without the blanks that the server pads it with."""

        def load(self, data: Any) -> Any:
            return super().load(bytes(data).rstrip(b" "))

    connection.adapters.register_loader("bpchar", Trimming)
    return connection


def _said(module: ModuleType, error: BaseException) -> Said | None:
    if not isinstance(error, module.Error):
        return None
    state, message = getattr(error, "sqlstate", None), str(error).strip()
    if state is None:
        return _unnumbered(message), message, False
    kind = next((kind for begins, kind in _KINDS.items() if state.startswith(begins)), "sql")
    return kind, f"{message} ({state})", kind in _RETRIED


def _unnumbered(message: str) -> str:
    """The kind of what libpq says as it connects, which has no SQLSTATE."""
    if "password" in message or "authentication" in message:
        return "auth"
    if "database" in message and "does not exist" in message:
        return "unknown_database"
    return "tls" if "SSL" in message and "refused" not in message else "connection"


DRIVER = Driver(
    module="psycopg",
    distribution="psycopg",
    style={"parameters": "format"},
    connect=_connect,
    said=_said,
    dialect="postgres",
)

if __name__ == "__main__":
    serve(DrivenHost(DRIVER))

"""MariaDB and MySQL by PyMySQL, where a DSN says ``client=dbapi``.

tdelta's own client is native; this one is the DB-API client that other engines have to make do with, so that all of it
but their SQL can be tried on servers that are here. Started as ``python -m tdelta.engines.server.mysql_dbapi``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from tdelta.engines.server.dbapi import Driver, Said, tls_context
from tdelta.engines.server.dbapi_worker import DrivenHost
from tdelta.processes.rpc import serve

_NUMBERS = {
    "too_many_connections": (1040, 1203),
    "denied": (1044, 1142, 1143, 1227, 1370),
    "auth": (1045, 1698),
    "unknown_database": (1049,),
    "locked": (1205,),
    "conflict": (1213,),
    "primary_key": (1173, 3750),
    "read_only": (1290, 1792, 1836),
    "full": (1021, 1114),
    "out_of_memory": (1037, 1041),
    "constraint": (1022, 1048, 1062, 1451, 1452),
    "connection": (1053, 1927, 2002, 2003, 2006, 2013, 2014),
    "tls": (2026, 3159),
}
_KINDS = {number: kind for kind, numbers in _NUMBERS.items() for number in numbers}
"""Kinds by the number of the server's error, or of the client's own from 2000 on."""

_RETRIED = frozenset({"conflict", "locked"})
_DAY_SECONDS = 24 * 3600


def _connect(module: ModuleType, options: Mapping[str, Any]) -> Any:
    seconds = options.get("answer_seconds")
    where = {"unix_socket": options["socket"]} if options.get("socket") else {"host": options["host"]}
    return module.connect(
        **where,
        port=options["port"],
        user=options["user"],
        password=(options.get("password") or "").encode(),  # of a text it would take Latin-1 only
        database=options.get("database"),
        charset="utf8mb4",
        autocommit=True,
        read_timeout=seconds or _DAY_SECONDS,
        write_timeout=seconds or _DAY_SECONDS,
        **_tls(options),
    )


def _limited(cursor: Any, seconds: float) -> Any:
    """PyMySQL has no other way to change the limit of a connection that is open."""
    cursor.connection._read_timeout = seconds or _DAY_SECONDS
    return cursor


def _tls(options: Mapping[str, Any]) -> dict[str, Any]:
    if options.get("tls", "disable") == "disable":
        return {"ssl_disabled": True}
    return {"ssl": tls_context(options)}


def _named(sql: str) -> str:
    """A load's or a checksum's statement, whose names are in double quotes and which has no text in it."""
    return sql.replace('"', "`") if sql.startswith(('INSERT INTO "', 'SELECT "')) else sql


def _said(module: ModuleType, error: BaseException) -> Said | None:
    if not isinstance(error, module.Error):
        return None
    match error.args:
        case (int() as number, message, *_):
            kind = _KINDS.get(number, "sql")
            return kind, f"ERROR {number}: {message}", kind in _RETRIED
    return "connection", str(error), False  # it says no number where it has no connection any more


DRIVER = Driver(
    module="pymysql",
    distribution="PyMySQL",
    style={"parameters": "format"},
    connect=_connect,
    said=_said,
    dialect="mysql",
    named=_named,
    limited=_limited,
)

if __name__ == "__main__":
    serve(DrivenHost(DRIVER))

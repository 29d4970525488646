"""Oracle Database by python-oracledb: in thin mode, which needs no client libraries of the vendor's, or with these.

Started as ``python -m tdelta.engines.oracle.worker``.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from tdelta.engines.oracle import loader
from tdelta.engines.server.dbapi import Driver, Loaded, LoadsAside, Said, tls_context
from tdelta.engines.server.dbapi_worker import DrivenHost
from tdelta.processes.rpc import serve

_LIMIT = re.compile(r"\bLIMIT\s+(\d+)", re.IGNORECASE)
_TABLE_ALIAS = re.compile(r"\b((?:FROM|JOIN)\s+\w+)\s+AS\s+(?=\w)", re.IGNORECASE)
_DERIVED = re.compile(r"\b(?:FROM|JOIN)\s*\(", re.IGNORECASE)
_ALIAS = re.compile(r"\s+AS\s+(?=\w)", re.IGNORECASE)


def written(text: str) -> str:
    """A transaction's script: ``LIMIT`` in Oracle's words, and tables named without ``AS``, which it does not take."""
    text = _TABLE_ALIAS.sub(r"\1 ", _LIMIT.sub(r"FETCH FIRST \1 ROWS ONLY", text))
    for found in reversed([*_DERIVED.finditer(text)]):
        end = _closing(text, found.end())
        if (alias := _ALIAS.match(text, end)) is not None:
            text = f"{text[:end]} {text[alias.end() :]}"
    return text


def _closing(text: str, start: int) -> int:
    depth = 1
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return len(text)


def current_schema(cursor: Any) -> str:
    cursor.execute("SELECT SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA') FROM dual")
    return str(cursor.fetchall()[0][0])


class DirectPath(LoadsAside):
    rows_at_once = 200_000
    """Each piece is a separate load, with a commit, into new extents above all blocks that there are. The driver
    takes a list, so that three or four pieces are in memory."""

    def load(self, table: str, columns: Sequence[str], pieces: Iterator[list[tuple[Any, ...]]]) -> None:
        """Rows as sequences, names as the catalog has them."""
        schema = current_schema(self._cursor)
        named = [name.upper() for name in columns]
        for rows in pieces:
            self._cursor.connection.direct_path_load(schema, table.upper(), named, rows)


def fetching(cursor: Any, rows: int) -> None:
    """Have a cursor fetch so many rows in every round trip, the first one included."""
    cursor.arraysize = rows
    cursor.prefetchrows = rows


_NUMBERS = {
    "constraint": (1, 1400, 2290, 2291, 2292),
    "too_many_connections": (18, 20, 12516, 12519),
    "connection": (28, 1012, 3113, 3114, 3135),
    "locked": (54, 30006),
    "conflict": (60, 8177),
    "offline": (372, 376, 1542),
    "endless": (1013,),
    "auth": (1005, 1017, 28000, 28001),
    "denied": (1031, 1045),
    "full": (257, 1536, 1555, 1652, 1653, 1654, 1658, 1688, 19804, 19809, 30036, 65114),
    "keystore": (28365, 28374),
    "client": (12660,),
    "out_of_memory": (4030, 4031),
    "read_only": (16000,),
}
_KINDS = {number: kind for kind, numbers in _NUMBERS.items() for number in numbers}
"""Kinds by the number after ``ORA-``, anywhere in a message: https://docs.oracle.com/error-help/db/."""

_NUMBER = re.compile(r"\bORA-(\d+)")

_THIN = {
    "DPY-3001": "client",
    "DPY-3010": "client",
    "DPY-3015": "client",
    "DPY-4001": "auth",
    "DPY-4024": "endless",
    "DPY-6001": "unknown_database",
    "DPY-6003": "unknown_database",
    "DPY-1001": "connection",
    "DPY-4011": "connection",
    "DPY-6000": "connection",
    "DPY-6005": "connection",
}
"""Kinds by the driver's own codes, the particular ones first: DPY-6005 says that it could not connect, and then why."""

_RANDOM = re.compile(r"\(CONNECTION_ID=[^)]*\)")
"""Random letters in the driver's messages: among them may be "SSL"."""

_RETRIED = frozenset({"conflict", "locked", "offline"})
_OFFLINE_SECONDS = 0.02
"""How long a client waits before it tries again where a tablespace is offline: it would ask thousands of times else."""

_MILLISECONDS = 1000
_STATEMENTS_KEPT = 100
"""More than the statements of any workload: none is parsed anew because another took its place."""

_KEEPALIVE_MINUTES = 1
"""Firewalls forget a connection that says nothing while a load or a conversion lasts."""


def _connect(module: ModuleType, options: Mapping[str, Any]) -> Any:
    if options.get("client") == "thick":
        module.init_oracle_client()
    is_open = options.get("tls", "disable") == "disable"
    connection = module.connect(
        user=options["user"],
        password=options.get("password"),
        host=options["host"],
        port=options["port"],
        service_name=options["database"],
        protocol="tcp" if is_open else "tcps",
        ssl_server_dn_match=options.get("tls") == "verify-full",
        ssl_context=None if is_open else tls_context(options),
        tcp_connect_timeout=float(options.get("answer_seconds", 60.0)),
        stmtcachesize=_STATEMENTS_KEPT,
        expire_time=_KEEPALIVE_MINUTES,
    )
    connection.call_timeout = round(options.get("answer_seconds", 0.0) * _MILLISECONDS)
    connection.autocommit = True
    return connection


def _limited(cursor: Any, seconds: float) -> Any:
    cursor.connection.call_timeout = round(seconds * _MILLISECONDS)
    return cursor


def _said(module: ModuleType, error: BaseException) -> Said | None:
    if not isinstance(error, module.Error):
        return None
    words = str(error).strip()
    known = _RANDOM.sub("", words)
    kind = next((_KINDS[number] for number in map(int, _NUMBER.findall(known)) if number in _KINDS), None)
    kind = kind or ("tls" if "SSL" in known else None)
    kind = kind or next((kind for code, kind in _THIN.items() if code in known), "sql")
    if kind == "offline":
        time.sleep(_OFFLINE_SECONDS)
    return kind, words, kind in _RETRIED


def _named(sql: str) -> str:
    """A load's or a checksum's statement, with names as they were made: without quotes, which would keep their case."""
    return sql.replace('"', "") if sql.startswith(('INSERT INTO "', 'SELECT "')) else sql


def _by_program(cursor: Any, options: Mapping[str, Any], table: str, columns: Sequence[str], rows: Path) -> Loaded:
    return loader.load(options, f"{current_schema(cursor)}.{table}", columns, rows)


DRIVER = Driver(
    module="oracledb",
    distribution="oracledb",
    style={"parameters": "named", "ends_by_methods": True},
    connect=_connect,
    said=_said,
    dialect="oracle",
    script=written,
    named=_named,
    needs_password=True,
    limited=_limited,
    fetch=fetching,
    direct=DirectPath,
    program=_by_program,
)

if __name__ == "__main__":
    serve(DrivenHost(DRIVER))

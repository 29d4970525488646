"""SQL Server by mssql-python, the vendor's driver. Started as ``python -m tdelta.engines.sqlserver.worker``.

Every session commits each statement by itself, and transactions are statements: with the driver's own, DDL would be
part of one that nobody ends, and a session would sit in an open one between two of the load's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from types import ModuleType
from typing import Any

from tdelta.engines.server.dbapi import CursorProxy, Driver, LoadsAside, Said
from tdelta.engines.server.dbapi_worker import DrivenHost
from tdelta.processes.rpc import serve
from tdelta.workloads.scan import cut

_LIMIT = re.compile(r"\bLIMIT\s+(\d+)", re.IGNORECASE)
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_VARIABLE = re.compile(r"(?<!:):[A-Za-z_]\w*|@P\d+|\?")
_SPACE = re.compile(r"\s+")


def as_written(text: str) -> str:
    """``LIMIT`` in Transact-SQL's words; it follows an ``ORDER BY``."""
    return _LIMIT.sub(r"OFFSET 0 ROWS FETCH NEXT \1 ROWS ONLY", text)


def bare(statement: str) -> str:
    """A statement without its comments, spaces and the names of its parameters, which drivers and servers change."""
    text = _VARIABLE.sub("?", _COMMENT.sub(" ", as_written(statement)))
    return _SPACE.sub(" ", text).strip(" ;").casefold()


def named(scripts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The statements of transactions: the transaction's name with the statement's number from 1, and it `bare`."""
    for name, text in scripts.items():
        for number, piece in enumerate((piece for piece in cut(text)[0] if piece.is_counted), start=1):
            yield f"{name}/{number}", bare(piece.text)


class BulkCopy(LoadsAside):
    """A cursor that loads by bulk copy, which has a connection of its own.

    The table is locked as a whole, which a minimally logged load takes, and there is no limit of time.
    """

    def load(self, table: str, columns: Sequence[str], pieces: Iterator[list[tuple[Any, ...]]]) -> None:
        """One bulk copy of all rows, committed by batches: the log of one transaction would keep all of them."""
        rows, into = chain.from_iterable(pieces), list(columns)
        self._cursor.bulkcopy(table, rows, _BATCH_ROWS, timeout=0, column_mappings=into, table_lock=True)


_BATCH_ROWS = 100_000
_MOST_CHARACTERS = 4000
_MOST_BYTES = 8000
_VARCHAR, _NVARCHAR = (12, _MOST_CHARACTERS, 0), (-9, _MOST_CHARACTERS, 0)
_SIZES = {int: (-5, 19, 0), float: (8, 15, 0), bytes: (-3, _MOST_BYTES, 0)}
"""ODBC's numbers of types, with their sizes: BIGINT, DOUBLE, VARBINARY."""


class Typed(CursorProxy):
    """A cursor whose parameters are of the same types however large their values are.

    The driver would take the narrowest type that holds a value; each change of one is another statement to the server,
    which compiles it and keeps its plan.
    """

    def execute(self, sql: str, *parameters: Sequence[Any]) -> Any:
        if parameters:  # in any case: the driver keeps the sizes of a statement that failed
            sizes = [_size(value) for value in parameters[0]]
            self._cursor.setinputsizes([] if None in sizes else sizes)
        return self._cursor.execute(sql, *parameters)


def _size(value: Any) -> tuple[int, int, int] | None:
    """None for NULL, and for what is longer than a parameter that is sent at once."""
    if not isinstance(value, (str, bytes)):
        return _SIZES.get(type(value))
    if isinstance(value, bytes):
        return _SIZES[bytes] if len(value) <= _MOST_BYTES else None
    return None if len(value) > _MOST_CHARACTERS else _VARCHAR if value.isascii() else _NVARCHAR


_KINDS = (
    ("login failed", "auth"),
    ("invalid authorization specification", "auth"),  # the driver's word for 28000; the server's are in its language
    ("cannot open database", "unknown_database"),
    ("ssl provider", "tls"),
    ("encryption not supported", "tls"),
    ("server does not support encryption", "tls"),
    ("tls handshake failed", "tls"),
    ("deadlock", "conflict"),
    ("lock request time out", "locked"),
    ("snapshot isolation transaction aborted", "conflict"),
    ("permission was denied", "denied"),
    ("permission denied in database", "denied"),
    ("does not have permission", "denied"),
    ("read-only", "read_only"),
    ("filegroup is full", "full"),
    ("transaction log for database", "full"),
    ("insufficient memory", "out_of_memory"),
    ("insufficient system memory", "out_of_memory"),
    ("violation of primary key", "constraint"),
    ("violation of unique", "constraint"),
    ("duplicate key", "constraint"),
    ("conflicted with the", "constraint"),
    ("cannot insert the value null", "constraint"),
    ("operation canceled", "endless"),
    ("query timeout expired", "endless"),
    ("login timeout expired", "connection"),
    ("timeout expired", "endless"),
    ("tcp provider", "connection"),
    ("communication link failure", "connection"),
    ("unable to establish connection", "connection"),
    ("connection is closed", "connection"),
    ("connection closed", "connection"),
    ("session is in the kill state", "connection"),
)
"""Kinds by the words of the server or of the driver, which does not tell the number of an error: of msodbcsql18, and of
the driver in Rust that comes with it (``MSSQL_PYTHON_NATIVE_PROVIDER=mssql-odbc``)."""

_RETRIED = frozenset({"conflict", "locked"})


def _connect(module: ModuleType, options: Mapping[str, Any]) -> Any:
    tls = options.get("tls", "disable")
    given = {
        "Server": f"{options['host']},{options['port']}",
        "Database": options.get("database", "master"),
        "Uid": options["user"],
        "Pwd": options.get("password") or "",
        "Encrypt": "no" if tls == "disable" else "yes",
        "TrustServerCertificate": "no" if tls.startswith("verify") else "yes",
    }
    text = ";".join(f"{name}={{{str(value).replace('}', '}}')}}}" for name, value in given.items())
    module.pooling(enabled=False)  # sessions are to end when they are closed
    connection = module.connect(text, autocommit=True, timeout=int(options.get("answer_seconds", 60)))
    connection.timeout = int(options.get("answer_seconds", 0))
    return connection


def _limited(cursor: Any, seconds: float) -> Any:
    """Another cursor of the same session: the driver takes the limit of one as it is made."""
    cursor.connection.timeout = int(seconds)
    return cursor.connection.cursor()


def _said(module: ModuleType, error: BaseException) -> Said | None:
    if not isinstance(error, (module.Error, module.ConnectionStringParseError, RuntimeError)):
        return None
    words = str(error).strip()
    lower = words.lower()
    kind = next((kind for said, kind in _KINDS if said in lower), "sql")
    return kind, words, kind in _RETRIED


DRIVER = Driver(
    module="mssql_python",
    distribution="mssql-python",
    style={"parameters": "qmark", "begin": "BEGIN TRANSACTION"},
    connect=_connect,
    said=_said,
    dialect="tsql",
    script=as_written,
    needs_password=True,
    limited=_limited,
    loading=Typed,
    direct=BulkCopy,
)

if __name__ == "__main__":
    serve(DrivenHost(DRIVER))

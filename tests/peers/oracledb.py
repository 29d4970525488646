"""python-oracledb as far as tdelta uses it, on a synthetic conversation; see `replaying`."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import replaying

_CODES = {"table": 942, "constraint": 1, "gone": 28, "offline": 376}
_THIN = {"slow": "DPY-4024", "unnamed": "DPY-4001", "plain": "DPY-6005"}
_PLAIN_PORT = 1521


class Error(Exception):
    """As the driver raises: its one argument has the number and the words."""

    def __str__(self) -> str:
        return str(self.args[0].message)


def _error(kind: str, words: str) -> Error:
    code = _CODES.get(kind, 0)
    full = _THIN.get(kind) or f"ORA-{code:05}"
    return Error(SimpleNamespace(code=code, full_code=full, message=f"{full}: {words}"))


_PEER = replaying.Peer("oracle", "oracle", _error)


class Connection(replaying.Connection):
    call_timeout = 0

    def cursor(self) -> Cursor:
        return Cursor(self)

    def direct_path_load(self, schema: str, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Of rows as sequences, with names as the catalog has them."""
        assert schema == schema.upper()
        assert table == table.upper()
        assert isinstance(rows, list)
        marks = ", ".join("?" for _ in columns)
        self.work(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows, many=True)
        self.commit()
        self.notes.execute("INSERT INTO ran (session, sql) VALUES (?, ?)", (self.id, f"direct path load of {table}"))


class Cursor(replaying.Cursor):
    connection: Connection

    @property
    def limit_seconds(self) -> float:  # type: ignore[override]
        return self.connection.call_timeout / 1000


def connect(
    *,
    host: str,
    port: int,
    user: str,
    password: str | None,
    service_name: str,
    protocol: str,
    expire_time: int,
    **_more: Any,
) -> Connection:
    assert expire_time > 0  # minutes
    if protocol == "tcps" and port == _PLAIN_PORT:
        raise _error("plain", "cannot connect to database: [SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred")
    if not password:
        raise _error("unnamed", "no credentials specified")
    if not user or not service_name:
        raise _error("gone", "no user, or no service")
    return Connection(_PEER, host)

"""python-oracledb as far as tdelta uses it, on a synthetic conversation; see `replaying`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from replaying import Connection, Peer

_CODES = {"table": 942, "constraint": 1, "gone": 28, "offline": 376}


class Error(Exception):
    """As the driver raises: its one argument has the number and the words."""

    def __str__(self) -> str:
        return str(self.args[0].message)


def _error(kind: str, words: str) -> Error:
    code = _CODES[kind]
    return Error(SimpleNamespace(code=code, full_code=f"ORA-{code:05}", message=f"ORA-{code:05}: {words}"))


_PEER = Peer("oracle", "oracle", _error)


def connect(*, host: str, user: str, service_name: str, **_more: Any) -> Connection:
    if not user or not service_name:
        raise _error("gone", "no user, or no service")
    return _PEER.connect(host)

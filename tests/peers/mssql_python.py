"""mssql-python as far as tdelta uses it, on a synthetic conversation; see `replaying`."""

from __future__ import annotations

import re

from replaying import Connection, Peer

_WORDS = {
    "table": "Base table or view not found; Invalid object name",
    "constraint": "Integrity constraint violation; Violation of PRIMARY KEY constraint",
    "gone": "Communication link failure",
}


class Error(Exception):
    """As the driver raises: words alone."""


def _error(kind: str, words: str) -> Error:
    return Error(f"Driver Error: {_WORDS[kind]}; DDBC Error: {words}")


_PEER = Peer("sqlserver", "tsql", _error)


def pooling(*, enabled: bool) -> None:
    """As the driver's."""


def connect(text: str, *, autocommit: bool, timeout: int) -> Connection:
    assert autocommit
    assert timeout > 0
    found = re.search(r"Server=\{([^,]+),\d+\};Database=\{(\w+)\}", text)
    assert found is not None
    return _PEER.connect(found[1], found[2])

"""Common parts of engines whose client is a Python driver (PEP 249), driven by `tdelta._native.DbApiTwin`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tdelta import _native

_COLUMNS = 64
"""Of the row that stands for every row; more than any script takes from one."""


class ClientError(Exception):
    """Why a statement failed, in the engine's words without secrets, and whether to try the transaction again.

    ``kind`` is a short stable name, by which failures are counted: ``conflict``, ``constraint``, ``full``, …
    """

    def __init__(self, kind: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retryable = retryable


def differing(expected: Iterable[tuple[str, str]], row: Sequence[str | None]) -> str:
    """The settings of a session that are otherwise than expected, for people; empty where all are as they should be."""
    pairs = zip(expected, row, strict=True)
    return "; ".join(
        f"{name} = '{found or ''}', expected '{wanted}'"
        for (name, wanted), found in pairs
        if (found or "").lower() != wanted.lower()
    )


class NoDatabase:
    r"""A cursor that does nothing: what a trial on it costs is the loop, and calling Python from it.

    Every query answers one row of ones, so that ``\gset`` has what it asks for.
    """

    def __init__(self, dialect: str) -> None:
        self._dialect = dialect
        self._sql = ""
        self._rows = [(1,) * _COLUMNS]

    @property
    def description(self) -> list[tuple[str]] | None:
        """The columns of the last statement, None where it is no query; asked once a statement, and not fast."""
        import sqlglot  # a worker that never asks does without the time it takes
        from sqlglot import exp

        tree = sqlglot.parse_one(self._sql, read=self._dialect)
        return [(column.alias_or_name,) for column in tree.selects] if isinstance(tree, exp.Query) else None

    def execute(self, sql: str, *_parameters: object) -> None:
        self._sql = sql

    def fetchall(self) -> list[tuple[int, ...]]:
        return self._rows


def loop_cost(
    style: Mapping[str, Any],
    dialect: str,
    request: Mapping[str, Any],
    wrapped: Callable[[NoDatabase], Any] = lambda cursor: cursor,
) -> dict[str, Any]:
    """Run the transactions of a request on a cursor that does nothing; scripts may fail on the rows it makes up.

    Args:
        dialect: whose SQL it takes, as sqlglot calls it.
        wrapped: what an engine puts around its driver's cursor.
    """
    twin = _native.DbApiTwin(json.dumps(style), lambda _old: wrapped(NoDatabase(dialect)), 1, explained)
    twin.prepare(json.dumps(request["transactions"]), json.dumps(request["constants"]))
    return twin.trial(json.dumps({**request["trial"], "stop_on_error": False}))


def explained(error: BaseException) -> tuple[str, str, bool]:
    """An exception as the load loop counts it: its kind, its words, and whether to try again."""
    match error:
        case ClientError():
            return error.kind, error.message, error.retryable
        case OSError():
            return "io", f"{error.filename or 'a file'}: {error.strerror}", False
    return "defect", f"{type(error).__name__}: {error}", False

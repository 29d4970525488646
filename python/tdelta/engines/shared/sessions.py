"""An open session with a server, as what asks of it sees it, and what it answers.

The session is `WorkerSession`, a worker's own `tdelta._native.ServerTwin`, or a stand-in of the tests. What a server
says against a statement or a log-in is `Refused`, with its kind (``auth``, ``denied``, ``connection``, …).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Protocol, TypeAlias, TypeVar

from tdelta.driver.workers import PROGRAM, Refused, Worker, answered
from tdelta.errors import ServerLost, WorkerFault
from tdelta.measure.children import ready
from tdelta.messages import Refusal

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def statements(package: str, file: str = "queries.sql") -> Mapping[str, str]:
    """The statements of a package's file by their names, without the semicolon that ends each."""
    text = files(package).joinpath(file).read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    return {name: _bare(body) for name, body in zip(parts[::2], parts[1::2], strict=True)}


def _bare(body: str) -> str:
    lines = [line for line in body.strip().splitlines() if not line.startswith("--")]
    return "\n".join(lines).strip().removesuffix(";")


Row: TypeAlias = Mapping[str, "str | None"]
Ask: TypeAlias = Callable[[str], Sequence[Row]]
"""Runs one query: its rows, by column names in lower case."""


class Connection(Protocol):
    """One session: locks and settings that it takes are its own until it is closed."""

    def run(self, sql: str) -> None:
        """Run one statement; rows are dropped.

        Raises:
            Refused: the server refuses.
        """

    def rows(self, sql: str) -> tuple[list[str], list[list[str | None]]]:
        """The columns' names and the rows of one query, as text; None for NULL.

        Raises:
            Refused: the server refuses.
        """

    def text(self, sql: str) -> str:
        """The first value of the first row, empty for NULL and for no row.

        Raises:
            Refused: the server refuses.
        """

    def close(self) -> None:
        """Close the session."""


Open: TypeAlias = Callable[[Mapping[str, object]], Connection]
"""Opens a session, given the options of `tdelta._native.ServerTwin`; raises `Refused`."""


_Answer = TypeVar("_Answer")

_UNEXPECTED = "protocol"
"""The kind of an answer that nobody could have expected."""

_LOST = "connection"
"""The kind of what is said of a session that is gone."""

_TRUE = frozenset({"1", "t", "true"})
"""How servers write that something is so; rows are text."""

_PATIENCE_SECONDS = 24 * 3600.0
"""A table of a terabyte may be counted; that a server is gone shows at once."""


class WorkerSession:
    """A session by tdelta's own client, in a worker that ends with it.

    Args:
        options: those of `tdelta._native.ServerTwin`; they go to the worker's standard input and nowhere else.
        program: the worker's.
        is_external: a disk that is full, or read-only, is of a user's server: ``Refused``, and no ``StorageFault``.

    Raises:
        Refused: the server does not answer, or does not let the user in.
    """

    def __init__(self, options: Mapping[str, object], program: str = PROGRAM, *, is_external: bool = False) -> None:
        self._is_external = is_external
        self._worker = Worker(program=program)
        self._worker.is_patient = True
        try:
            answered(self._worker.ask("enter", options=options, connections=1))
        except BaseException:
            self._worker.kill()
            self._worker.end()
            raise

    def run(self, sql: str) -> None:
        self._put("perform", statements=[sql])

    def rows(self, sql: str) -> tuple[list[str], list[list[str | None]]]:
        """The columns' names and the rows of one query, as text; None for NULL."""
        found = self._put("put", sql=sql)
        return found["columns"], found["rows"]

    def _put(self, do: str, **arguments: object) -> dict[str, Any]:
        found = self._worker.ask(do, seconds=_PATIENCE_SECONDS, **arguments)
        if "refused" in found and self._is_external:
            raise Refused(*found["refused"])
        return answered(found)

    def text(self, sql: str) -> str:
        """The first value of the first row, empty for NULL and for no row."""
        _, rows = self.rows(sql)
        return rows[0][0] or "" if rows else ""

    def close(self) -> None:
        self._worker.end()


class AdminConnection:
    """A connection of its own for what is done beside a load; in a process of its own, like any."""

    def __init__(self, options: Mapping[str, object]) -> None:
        self._worker = Worker()
        try:
            self._worker.ask("connect", options=dict(options), connections=1)
        except BaseException:
            self.close()
            raise

    def run(self, sql: str) -> None:
        self._worker.ask("run", seconds=_PATIENCE_SECONDS, statements=[sql])

    def run_while(self, sql: str, wait: Callable[[Callable[[], bool]], None]) -> None:
        """Run a statement that may take long.

        Args:
            wait: waits until what it is given is so. If it raises, the statement goes on, and nothing else is answered.
        """
        self._worker.send("run", statements=[sql])
        wait(lambda: bool(ready([self._worker], 0.0)))
        self._worker.answer()

    def rows(self, sql: str) -> tuple[Sequence[str], Sequence[Sequence[str | None]]]:
        answer = self._worker.ask("rows", sql=sql)
        return answer["columns"], answer["rows"]

    def close(self) -> None:
        self._worker.kill()
        self._worker.end()


class LastingSession:
    """A session that is opened anew when it is lost: to a ``KILL``, a time limit of the server's, a restart.

    What was lost is asked once more in the new one, so only what may be asked twice is put to it.

    Raises:
        Refused: the server does not answer, or does not let the user in.
    """

    def __init__(self, open_session: Callable[[], Connection]) -> None:
        self._open = open_session
        self._session: Connection | None = open_session()
        self._kept: list[str] = []

    def keep(self, sql: str) -> None:
        """Run a statement now and at the beginning of each session that follows: a setting, a lock."""
        self.rows(sql)
        self._kept.append(sql)

    def run(self, sql: str) -> None:
        self._asked(lambda session: session.run(sql))

    def rows(self, sql: str) -> tuple[list[str], list[list[str | None]]]:
        """The columns' names and the rows of one query, as text; None for NULL."""
        return self._asked(lambda session: session.rows(sql))

    def _asked(self, ask: Callable[[Connection], _Answer]) -> _Answer:
        if self._session is not None:
            try:
                return ask(self._session)
            except Refused as refusal:
                if refusal.kind != _LOST:
                    raise
            except (ServerLost, WorkerFault):  # the process that had the session
                pass
            self.close()
        self._session = self._open()
        for statement in self._kept:
            self._session.rows(statement)
        return ask(self._session)

    def text(self, sql: str) -> str:
        """The first value of the first row, empty for NULL and for no row."""
        _, rows = self.rows(sql)
        return rows[0][0] or "" if rows else ""

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()


def kept(connection: Connection, sql: str) -> None:
    """Run a statement, and again whenever the session is opened anew, where it is one that is."""
    if isinstance(connection, LastingSession):
        connection.keep(sql)
    else:
        connection.run(sql)


class _NamedRow(dict[str, "str | None"]):
    """One row; a column that it does not have is a fault of the server, which was asked for it."""

    def __missing__(self, name: str) -> str | None:
        raise Refused(_UNEXPECTED, Refusal.of("unexpected", expected=f"a column {name!r}", found=list(self)))


def asking(connection: Connection, tidied: Callable[[str], str] = str) -> Ask:
    """Queries of a connection, their rows by column names in lower case.

    Args:
        tidied: is done to every value.
    """

    def ask(sql: str) -> list[_NamedRow]:
        columns, rows = connection.rows(sql)
        names = [column.lower() for column in columns]
        tidy = ([None if value is None else tidied(value) for value in row] for row in rows)
        return [_NamedRow(zip(names, row, strict=True)) for row in tidy]

    return ask


def one(rows: Sequence[Row]) -> Row:
    """The first row.

    Raises:
        Refused: there is none.
    """
    if not rows:
        raise Refused(_UNEXPECTED, Refusal.of("unexpected", expected="a row", found="none"))
    return rows[0]


def first(rows: Sequence[Row]) -> str:
    """The first value of the first row, empty for NULL and for no row."""
    return next(iter(rows[0].values()), None) or "" if rows else ""


def is_true(rows: Sequence[Row]) -> bool:
    return first(rows) in _TRUE


def literal(text: str) -> str:
    """A text as a SQL literal; of letters, digits and marks that no engine reads as an escape."""
    if "\\" in text:
        raise ValueError("a backslash has another meaning from server to server")
    return "'" + text.replace("'", "''") + "'"

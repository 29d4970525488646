"""Sessions with servers, and their answers.

A user's server that refuses a statement or a log-in raises `Refused` with a kind (``auth``, ``denied``, …).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from tdelta.errors import ServerLost, WorkerFault
from tdelta.messages import Refusal
from tdelta.processes.workers import PROGRAM, Refused, Worker, answered, failure

if TYPE_CHECKING:
    from tdelta.processes.actions import Halt

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


_Answer = TypeVar("_Answer")

_UNEXPECTED = "protocol"
"""The kind of an answer that nobody could have expected."""

_LOST = "connection"
"""The kind of what is said of a session that is gone."""

_TRUE = frozenset({"1", "t", "true"})
"""How servers write that something is so; rows are text."""

_QUERY_SECONDS = 60.0
"""Of a query beside a private server's load: a server that is alive answers sooner."""

_PATIENCE_SECONDS = 24 * 3600.0
"""A table of a terabyte may be counted; that a server is gone shows at once."""


class Session:
    """A session by tdelta's own client, in a worker that ends with it: locks and settings that it takes are its own.

    Args:
        options: those of `tdelta._native.ServerTwin`; they go to the worker's standard input and nowhere else.
        program: the worker's.
        failed: what the server says against a statement, as an exception: `Refused` on a user's server; None for
            `Refused` but where the disk is full, or read-only.

    Raises:
        Refused: the server does not answer, or does not let the user in.
    """

    def __init__(
        self,
        options: Mapping[str, object],
        program: str = PROGRAM,
        failed: Callable[[str, str], Exception] | None = None,
    ) -> None:
        self._failed = failed
        self._worker = Worker(program=program)
        self._worker.is_patient = failed is not failure
        try:
            self._heard(self._worker.ask("enter", options=dict(options), connections=1))
        except BaseException:
            self._worker.kill()
            self._worker.end()
            raise

    def run(self, sql: str) -> None:
        """Run one statement; rows are dropped."""
        self._put("perform", statements=[sql])

    def keep(self, sql: str) -> None:
        """Run a statement; a session that reopens itself runs it again each time."""
        self.run(sql)

    def run_while(self, sql: str, halt: Halt, what: str) -> None:
        """Run a statement that may take long. If the wait ends first, it goes on; nothing else is answered."""
        self._worker.send("run", statements=[sql])
        halt.wait_for(self._worker, what)

    def rows(self, sql: str) -> tuple[list[str], list[list[str | None]]]:
        """The columns' names and the rows of one query, as text; None for NULL."""
        found = self._put("put", seconds=_QUERY_SECONDS if self._failed is failure else _PATIENCE_SECONDS, sql=sql)
        return found["columns"], found["rows"]

    def text(self, sql: str) -> str:
        """The first value of the first row, empty for NULL and for no row."""
        _, rows = self.rows(sql)
        return rows[0][0] or "" if rows else ""

    def number(self, sql: str) -> int:
        """The same as a whole number, 0 for nothing."""
        return int(float(self.text(sql) or 0))

    def kill(self) -> None:
        """End its process at once; the server finds out by itself."""
        self._worker.kill()

    def close(self) -> None:
        if self._failed is failure:
            self._worker.kill()  # a connection to a frozen server would not close
        self._worker.end()

    def _put(self, do: str, seconds: float = _PATIENCE_SECONDS, **arguments: object) -> dict[str, Any]:
        return self._heard(self._worker.ask(do, seconds=seconds, **arguments))

    def _heard(self, found: dict[str, Any]) -> dict[str, Any]:
        if "refused" in found and self._failed is not None:
            raise self._failed(*found["refused"])
        return answered(found)


def admin_session(options: Mapping[str, object]) -> Session:
    """A session with a server of tdelta's for what is done beside a load; raises ``TdeltaError`` as a worker does."""
    return Session(options, failed=failure)


Open: TypeAlias = Callable[[Mapping[str, object]], Session]
"""Opens a session, given the options of `tdelta._native.ServerTwin`; raises `Refused`."""


class LastingSession(Session):
    """A session that is opened anew when it is lost: to a ``KILL``, a time limit of the server's, a restart.

    A query that was lost is asked once more in the new one. A statement of `run` is not repeated: it may have been
    carried out, which a query shows.

    Raises:
        Refused: the server does not answer, or does not let the user in.
    """

    def __init__(self, open_session: Callable[[], Session]) -> None:
        self._open = open_session
        self._session: Session | None = open_session()
        self._kept: list[str] = []

    def keep(self, sql: str) -> None:
        self.rows(sql)
        self._kept.append(sql)

    def run(self, sql: str) -> None:
        self._asked(lambda session: session.run(sql), may_repeat=False)

    def rows(self, sql: str) -> tuple[list[str], list[list[str | None]]]:
        return self._asked(lambda session: session.rows(sql))

    def _asked(self, ask: Callable[[Session], _Answer], *, may_repeat: bool = True) -> _Answer:
        if self._session is not None:
            try:
                return ask(self._session)
            except (Refused, ServerLost, WorkerFault) as lost:  # the process that had the session, too
                if isinstance(lost, Refused) and lost.kind != _LOST:
                    raise
                self.close()
                if not may_repeat:
                    raise
        self._session = self._open()
        for statement in self._kept:
            self._session.rows(statement)
        return ask(self._session)

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()


class _NamedRow(dict[str, "str | None"]):
    """One row; a column that it does not have is a fault of the server, which was asked for it."""

    def __missing__(self, name: str) -> str | None:
        raise Refused(_UNEXPECTED, Refusal.of("unexpected", expected=f"a column {name!r}", found=list(self)))


def asking(connection: Session, tidied: Callable[[str], str] = str) -> Ask:
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


def by_name(rows: Sequence[Row], column: str) -> dict[str, str]:
    """The values of a column by ``name``."""
    return {row["name"] or "": row[column] or "" for row in rows}


def is_true(rows: Sequence[Row]) -> bool:
    return first(rows) in _TRUE


def literal(text: str) -> str:
    """A text as a SQL literal; of letters, digits and marks that no engine reads as an escape."""
    if "\\" in text:
        raise ValueError("a backslash has another meaning from server to server")
    return "'" + text.replace("'", "''") + "'"

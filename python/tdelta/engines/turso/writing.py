"""Writers that wait in line: the connections of one Turso database under the load loop.

There is one writer at a time. Left to itself, whoever finds another at work asks again and again and burns a CPU
meanwhile (four threads of small transactions took 6.6 s of CPU where one took 0.5 s), which would be in the figures
of every twin. So a transaction that writes begins as a writer (``BEGIN IMMEDIATE``), in the order in which it came, and
waits asleep, as SQLite's twins do.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

BEGIN_WRITING = "BEGIN IMMEDIATE"
_ENDS = frozenset({"COMMIT", "END", "ROLLBACK"})
_WRITES = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "DROP", "ALTER"})
_BEGIN = re.compile(r"^(\s*)begin\b[^;]*;", re.IGNORECASE | re.MULTILINE)
_WRITE = re.compile(
    r"(?:^|;)\s*(?:insert|update|delete|replace)\b|\bwith\b[^;]*\b(?:insert|update|delete)\b",
    re.IGNORECASE | re.MULTILINE,
)
_COMMENT = re.compile(r"--[^\n]*")
_FIRST_WORD = re.compile(r"\s*(\w+)")


def as_writer(script: str) -> str:
    """A transaction's script whose ``BEGIN`` says that it will write, if it does."""
    if not _WRITE.search(_COMMENT.sub("", script)):
        return script
    return _BEGIN.sub(rf"\1{BEGIN_WRITING};", script)


class Line:
    """Who waits to write: first come, first served, and asleep."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._is_taken = False

    def enter(self) -> None:
        """Wait for the turn."""
        with self._guard:
            if not self._is_taken:
                self._is_taken = True
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        turn.acquire()

    def leave(self) -> None:
        """Hand it on."""
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_taken = False


class QueuedCursor:
    """A cursor whose writes wait in line. ``cursor`` is the driver's, which is exchanged where the file is opened anew.

    Used by one thread at a time.
    """

    def __init__(self, line: Line, cursor: Any) -> None:
        self.cursor = cursor
        self._line = line
        self._kinds: dict[str, str] = {}
        self._is_writing = False

    @property
    def description(self) -> Any:
        """The columns of the last statement; None where it is no query."""
        return self.cursor.description

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> None:
        """Run a statement, when it is its turn."""
        kind = self._kinds.get(sql)
        if kind is None:
            kind = self._kinds[sql] = _kind(sql)
        if kind == "read":
            self.cursor.execute(sql, parameters)
        elif kind == "end":
            self._end(sql)
        elif kind == "begin":
            self._begin(sql)
        elif self._is_writing:
            self.cursor.execute(sql, parameters)
        else:
            self._alone(sql, parameters)

    def executemany(self, sql: str, rows: Any) -> None:
        """Run a statement for many rows, within a transaction."""
        self.cursor.executemany(sql, rows)

    def fetchall(self) -> Any:
        """All rows of the last statement."""
        return self.cursor.fetchall()

    def fetchmany(self, size: int) -> Any:
        """So many of them."""
        return self.cursor.fetchmany(size)

    def _begin(self, sql: str) -> None:
        self._line.enter()
        self._is_writing = True
        try:
            self.cursor.execute(sql)
        except BaseException:
            self._leave()
            raise

    def _end(self, sql: str) -> None:
        """A transaction that did not end is rolled back by whoever began it, who is in the line until then."""
        is_rollback = sql.lstrip()[:1] in "Rr"
        try:
            self.cursor.execute(sql)
        except BaseException:
            if is_rollback:
                self._leave()
            raise
        self._leave()

    def _alone(self, sql: str, parameters: Sequence[object]) -> None:
        self._line.enter()
        try:
            self.cursor.execute(sql, parameters)
        finally:
            self._line.leave()

    def _leave(self) -> None:
        if self._is_writing:
            self._is_writing = False
            self._line.leave()


def _kind(sql: str) -> str:
    word = _FIRST_WORD.match(_COMMENT.sub("", sql))
    first = "" if word is None else word.group(1).upper()
    if first in _ENDS:
        return "end"
    if first == "BEGIN":
        return "begin" if "IMMEDIATE" in sql.upper() else "read"
    if first in _WRITES or (first == "WITH" and _WRITE.search(sql)):
        return "write"
    return "read"

"""One Turso database in a worker process: its file, and connections to it. What it says is told without the key."""

from __future__ import annotations

import contextlib
import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tdelta import _native
from tdelta.driver.dbapi import ClientError, explained
from tdelta.engines.turso.writing import Line, QueuedCursor
from tdelta.measure.caches import forget

STYLE = {"parameters": "qmark"}
"""``?``; transactions are statements; the thread that asks does the work.

The driver has no prepared statement: each execution is compiled, as it is for whoever uses Turso from Python.
"""

_EXPERIMENT = "encryption"
_SYNCHRONOUS = "NORMAL"
_HIDDEN = "<key>"
_CHECKPOINT = "PRAGMA wal_checkpoint(TRUNCATE)"
_IO_ERROR = "IoError"
_BUSY = ("locked", "busy", "snapshot is stale", "conflict")
_FULL = ("no space left", "storagefull", "disk quota", "quotaexceeded", "database or disk is full")
_KINDS = (("constraint", ("constraint",)), ("full", _FULL), ("io", ("i/o error", "input/output", "file too large")))
"""Turso raises few classes of exceptions: what is meant is in the words."""


class Database:
    """An open file and its connections.

    Args:
        options: as `tdelta.engines.turso.engine.TursoEngine.options` gives them.

    Raises:
        ClientError: Turso cannot be loaded (``library``), or what it says.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options
        try:
            self._turso: Any = importlib.import_module("turso")  # not earlier: only a worker may hold it
        except ImportError as error:
            raise ClientError("library", f"engine 'turso': {error}") from error
        self._line = Line()
        self._cursors: list[QueuedCursor] = []
        self._main = self._cursor()

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self._options["path"])

    def connect(self) -> QueuedCursor:
        """A cursor of one more connection."""
        self._cursors.append(QueuedCursor(self._line, self._cursor()))
        return self._cursors[-1]

    def drop(self, cursor: QueuedCursor) -> None:
        """Close its connection."""
        self._cursors.remove(cursor)
        cursor.cursor.connection.close()

    def load_twin(self, connections: int) -> _native.DbApiTwin:
        """So many connections, for trials."""
        return _native.DbApiTwin(
            json.dumps(STYLE), self._joined, connections, self.explained, files=self.file_sizes, settle=self.settle
        )

    def _joined(self, old: object) -> QueuedCursor:
        if old is not None:
            raise ClientError("script", r"\connect: Turso runs within the process, which connects to nothing")
        return self.connect()

    def cool(self) -> None:
        """Open the file anew, with nothing of it in the system's cache."""
        self.reopen(lambda: forget(self.path))

    def reopen(self, between: Callable[[], object] = lambda: None) -> None:
        """Close every connection, and with them their caches, and open all of them again."""
        self.settle()
        for one in (self._main, *(cursor.cursor for cursor in self._cursors)):
            one.connection.close()
        between()
        self._main = self._cursor()
        for cursor in self._cursors:
            cursor.cursor = self._cursor()

    def run(self, *statements: str) -> None:
        """Run statements one after another; what they answer is dropped."""
        for statement in statements:
            self.text(statement)

    def text(self, sql: str) -> str:
        """The first value that one statement answers, as text; empty for NULL, and where there is none."""
        with self.translated_errors():
            self._main.execute(sql)
            rows = self._main.fetchall() if self._main.description is not None else []
        value = rows[0][0] if rows else None
        return "" if value is None else str(value)

    def file_sizes(self) -> dict[str, int]:
        """Bytes of the file and of its log."""
        sizes = {"database": self.path, "wal": self._log}
        return {name: path.stat().st_size if path.exists() else 0 for name, path in sizes.items()}

    def settle(self) -> bool:
        """Move what is in the log into the file; whether there was anything."""
        has_log = self._log.exists() and self._log.stat().st_size > 0
        if has_log:
            self.run(_CHECKPOINT)
        return has_log

    @property
    def _log(self) -> Path:
        return Path(f"{self.path}-wal")

    @contextlib.contextmanager
    def translated_errors(self) -> Iterator[None]:
        """Within the block, what Turso raises becomes a `ClientError` without the key."""
        try:
            yield
        except Exception as error:
            if not _is_turso(error):
                raise
            kind, message, retryable = self.explained(error)
            raise ClientError(kind, message, retryable=retryable) from None  # its own text may quote the key

    def explained(self, error: BaseException) -> tuple[str, str, bool]:
        """What was raised, as `tdelta.driver.dbapi.explained`; of Turso's own errors without the key."""
        if not _is_turso(error):
            return explained(error)
        message = f"{error}".strip() or type(error).__name__
        if key := self._options["key"]:
            message = message.replace(str(key), _HIDDEN)
        words = message.lower()
        if any(word in words for word in _BUSY):
            return "busy", message, True
        otherwise = "io" if type(error).__name__ == _IO_ERROR else "sql"
        kind = next((kind for kind, found in _KINDS if any(word in words for word in found)), otherwise)
        return kind, f"{self.path}: {message}" if kind in ("io", "full") else message, False

    def close(self) -> None:
        """Close every connection."""
        for one in (self._main, *(cursor.cursor for cursor in self._cursors)):
            with contextlib.suppress(ClientError), self.translated_errors():
                one.connection.close()
        self._cursors.clear()

    def _cursor(self) -> Any:
        """The driver's cursor of a new connection, which commits each statement by itself."""
        given: dict[str, Any] = {"isolation_level": None}
        if self._options["key"] is not None:
            encryption = self._turso.EncryptionOpts(self._options["cipher"], self._options["key"])
            given |= {"experimental_features": _EXPERIMENT, "encryption": encryption}
        with self.translated_errors():
            cursor = self._turso.connect(str(self.path), **given).cursor()
            for pragma in (f"synchronous={_SYNCHRONOUS}", f"cache_size=-{self._options['cache_kib']}"):
                cursor.execute(f"PRAGMA {pragma}")
                cursor.fetchall()
        return cursor


def _is_turso(error: BaseException) -> bool:
    """Whether an exception is of Turso's own: not all of them are of the classes that PEP 249 names."""
    return type(error).__module__.partition(".")[0] == "turso"

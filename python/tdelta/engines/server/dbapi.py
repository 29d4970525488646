from __future__ import annotations

import contextlib
import importlib
import queue
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from tdelta.lazily import installed_version
from tdelta.processes.dbapi import ClientError, explained

if TYPE_CHECKING:
    import ssl

Said: TypeAlias = tuple[str, str, bool]
"""A failure as the load loop counts it: its kind, the server's words, and whether to try the transaction again."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A load by a program of the vendor's: the seconds that passed, and those of CPU time, by its own account."""

    elapsed_seconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Driver:
    """One driver.

    Attributes:
        module: what is imported.
        distribution: what is installed.
        style: how it is spoken to, see the crate's ``dbapi::Style``.
        connect: opens a connection that commits each statement by itself: given the module and the options of
            `tdelta.engines.server.dsn.Dsn.options`.
        said: what an exception of the driver's says; given the module and the exception.
        dialect: whose SQL it takes, as sqlglot calls it.
        script: a transaction's script as the server takes it.
        named: the text of a load's or a checksum's statement as the server takes it.
        needs_password: whether nobody gets in without one.
        limited: the cursor to go on with in the session of one, whose statements may take so many seconds from then on;
            0: as long as they take.
        loading: the cursor of a load, out of one of the driver's.
        fetch: has a cursor fetch so many rows at once.
        direct: a cursor whose ``executemany`` loads rows past the server's SQL, out of one of the driver's, for loads
            that are measured.
        program: has the vendor's own program load a file of rows (`_native.write_csv`) into a table: given a cursor,
            the options of its connection, the table, and its columns.
    """

    module: str
    distribution: str
    style: Mapping[str, Any]
    connect: Callable[[ModuleType, Mapping[str, Any]], Any]
    said: Callable[[ModuleType, BaseException], Said | None]
    dialect: str
    script: Callable[[str], str] | None = None
    named: Callable[[str], str] | None = None
    needs_password: bool = False
    limited: Callable[[Any, float], Any] | None = None
    loading: Callable[[Any], Any] | None = None
    fetch: Callable[[Any, int], None] | None = None
    direct: Callable[[Any], Any] | None = None
    program: Callable[[Any, Mapping[str, Any], str, Sequence[str], Path], Loaded] | None = None

    def load(self) -> ModuleType:
        """The driver.

        Raises:
            ClientError: it is not installed.
        """
        try:
            return importlib.import_module(self.module)
        except ImportError as error:
            said = f"the driver {self.distribution} cannot be imported ({error}): pip install '{self.distribution}'"
            raise ClientError("library", said) from error

    @property
    def described(self) -> str:
        found = installed_version(self.distribution)
        return self.distribution if found is None else f"{self.distribution} {found}"

    def explained(self, error: BaseException) -> Said:
        """An exception as the load loop counts it; one that is not the driver's is a defect."""
        if not isinstance(error, ClientError) and (said := self.said(self.load(), error)) is not None:
            return said
        return explained(error)


def tls_context(options: Mapping[str, Any]) -> ssl.SSLContext:
    """How the connection is encrypted, by ``tls`` and ``tls_ca`` of a DSN's options; not for ``disable``."""
    import ssl  # most connections are within this machine

    wanted = options["tls"]
    context = ssl.create_default_context(cafile=options.get("tls_ca"))
    context.check_hostname = wanted == "verify-full"
    if not wanted.startswith("verify"):
        context.verify_mode = ssl.CERT_NONE
    return context


class CursorProxy:
    """A cursor that has a driver's do all that it does not do itself."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


_INSERT = re.compile(r'INSERT INTO "?(?P<table>\w+)"? \((?P<columns>[^)]*)\) VALUES ')

_WAITING_PIECES = 2


class LoadsAside(CursorProxy, ABC):
    """A cursor whose ``executemany`` loads rows past SQL, in a thread, while the next ones are made.

    The client and the server work at once: otherwise the server would idle while rows are made, and what encryption
    costs it would be hidden in that time.
    """

    rows_at_once = 1
    """A piece has at least so many rows, but for the last one of a table."""

    def __init__(self, cursor: Any) -> None:
        super().__init__(cursor)
        self._target: tuple[str, tuple[str, ...]] | None = None
        self._rows: list[tuple[Any, ...]] = []
        self._pieces: queue.Queue[list[tuple[Any, ...]] | None] = queue.Queue(_WAITING_PIECES)
        self._loading: threading.Thread | None = None
        self._failed: BaseException | None = None

    @abstractmethod
    def load(self, table: str, columns: Sequence[str], pieces: Iterator[list[tuple[Any, ...]]]) -> None:
        """Load and commit the rows of a table as they come."""

    def executemany(self, sql: str, rows: Sequence[Mapping[str, Any] | Sequence[Any]]) -> None:
        """Hand the rows of an insert over to the load that is under way, or begin that of another table."""
        found = _INSERT.match(sql)
        if found is None:
            self._cursor.executemany(sql, rows)
            return
        target = found["table"], tuple(name.strip(' "') for name in found["columns"].split(","))
        if target != self._target:
            self._finish()
            self._target = target
            self._loading = threading.Thread(target=self._load, args=target, daemon=True)
            self._loading.start()
        self._rows += (tuple(row.values() if isinstance(row, Mapping) else row) for row in rows)
        if len(self._rows) >= self.rows_at_once:
            self._hand_over()

    def execute(self, sql: str, *parameters: object) -> Any:
        """Run a statement once all rows so far are loaded."""
        self._finish()
        return self._cursor.execute(sql, *parameters)

    @property
    def connection(self) -> LoadsAside:
        """This: it is committed and closed as the driver's connection is."""
        return self

    def commit(self) -> None:
        self._finish()
        self._cursor.connection.commit()

    def close(self) -> None:
        with contextlib.suppress(Exception):  # no more rows are expected; a failed load no longer matters
            self._finish()
        self._cursor.connection.close()

    def _load(self, table: str, columns: Sequence[str]) -> None:
        pieces = iter(self._pieces.get, None)
        try:
            self.load(table, columns, pieces)
        except BaseException as error:  # raised by the thread that hands rows over
            self._failed = error
            for _ in pieces:  # so that nobody waits for room
                pass

    def _hand_over(self) -> None:
        self._pieces.put(self._rows)
        self._rows = []
        if self._failed is not None:
            self._finish()

    def _finish(self) -> None:
        """Wait for the load that is under way, with all rows that it was given."""
        if self._loading is None:
            return
        if self._rows:
            self._pieces.put(self._rows)
            self._rows = []
        self._pieces.put(None)
        self._loading.join()
        self._loading = self._target = None
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed

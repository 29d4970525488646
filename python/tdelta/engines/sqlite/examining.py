"""tdelta's own copy of a user's database, looked at and prepared in a worker: recovered, checked, described, rebuilt.

What the library refuses here is about the user's database, and is told so (`DatabaseFault`); or about the disk.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tdelta.driver.answers import checksums
from tdelta.driver.protocol import Checksums, Tables
from tdelta.driver.workers import Refused, Worker, answered
from tdelta.engines.sqlite.conversion import Layout
from tdelta.engines.sqlite.describing import bounded, describe, reads_clock_or_random, virtual_tables
from tdelta.engines.sqlite.engine import WORKER, SqliteEngine
from tdelta.engines.sqlite.messages import SqliteRefusal
from tdelta.engines.sqlite.staging import HEADER_BYTES
from tdelta.errors import DatabaseFault
from tdelta.messages import Refusal
from tdelta.workloads.database import Database, DatabaseTable, quoted

_PATIENCE_SECONDS = 24 * 3600.0
_LONGEST_LIST = 10


class CopyExaminer:
    """Works on a copy of a user's database. Use as a context manager; the worker ends with it.

    Args:
        path: the copy; it is changed.
        file: the database as the user named it, for messages.
    """

    def __init__(self, engine: SqliteEngine, path: Path, folder: Path, file: object) -> None:
        self._engine = engine
        self.path = path
        self._folder = folder
        self._file = file
        self._worker = Worker(program=WORKER)

    def __enter__(self) -> CopyExaminer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._worker.__exit__(kind, error, trace)

    def end(self) -> None:
        self._worker.end()

    def recover(self) -> None:
        """Open the copy: a log is folded in, a transaction that was cut short is undone.

        Raises:
            DatabaseFault: the library cannot read it.
        """
        self._worker.ask("temporary", folder=str(self._folder))
        try:
            options = self._engine.conversion_options(str(self.path))
            self._ask("examine", library=self._engine.library.name, options=options, connections=1)
        except Refused as refusal:
            raise DatabaseFault(
                self._file, SqliteRefusal.of("library-cannot-read", said=refusal, remedy=_remedy(refusal))
            ) from refusal

    def check(self) -> None:
        """See that the library knows every module it needs, and that the file is whole.

        Raises:
            DatabaseFault: names every table that needs an unknown module, or what quick_check found.
        """
        refused = [
            f"table {name!r}: {said}" for name in self._as_reported(virtual_tables) if (said := self._loads(name))
        ]
        if refused:
            raise DatabaseFault(self._file, SqliteRefusal.of("extensions-missing", refused="; ".join(_first(refused))))
        found = self._must("PRAGMA quick_check(1)", "cannot be checked")
        if found != "ok":
            raise DatabaseFault(self._file, SqliteRefusal.of("quick-check-fails", found=found))

    def describe(self) -> Database:
        """What is in it.

        Raises:
            DatabaseFault: it has no table, or one that cannot be read.
        """
        database: Database = self._as_reported(describe)
        if not database.tables:
            virtual = database.virtual_tables
            said = (
                Refusal.of("missing", what="a table other than virtual ones")
                if virtual
                else Refusal.of("missing", what="a table")
            )
            raise DatabaseFault(self._file, said)
        return database

    def reads_clock_or_random(self) -> bool:
        """Whether a trigger or a default may read the clock or draw by chance, by the words of the schema."""
        return bool(self._as_reported(reads_clock_or_random))

    def bounded(self, tables: Iterable[DatabaseTable]) -> tuple[DatabaseTable, ...]:
        return tuple(self._as_reported(lambda query, table=table: bounded(query, table)) for table in tables)

    def checksums(self, tables: Tables) -> Checksums:
        return checksums(self._worker, tables)

    def add(self, statements: Sequence[str]) -> None:
        """Add what tdelta owns: tables of keys.

        Raises:
            DatabaseFault: the library refuses.
        """
        for statement in statements:
            self._must(statement, "cannot take a table of sampled keys")

    def rebuild(self) -> None:
        """Write the copy anew, table by table: the twins' layout, and their row numbers.

        Raises:
            DatabaseFault: the rows do not fit their own schema.
        """
        self._must("VACUUM", "cannot be rebuilt (VACUUM); PRAGMA integrity_check on your own copy may say more")

    def layout(self) -> Layout:
        """How the copy is laid out; ends the work on it."""
        version, application, vacuum = (
            int(self._must(f"PRAGMA {name}", "cannot be read"))
            for name in ("user_version", "application_id", "auto_vacuum")
        )
        page_size = int(self._must("PRAGMA page_size", "cannot be read"))
        self._worker.ask("close")
        with self.path.open("rb") as file:
            header = file.read(HEADER_BYTES)
        return Layout(page_size, header[20], vacuum, version, application)

    def _loads(self, table: str) -> str | None:
        try:
            self._query(f"SELECT 1 FROM {quoted(table)} LIMIT 0")
        except Refused as refusal:
            return str(refusal)
        return None

    def _as_reported(self, read: Any) -> Any:
        try:
            return read(self._query)
        except Refused as refusal:
            raise DatabaseFault(
                self._file, SqliteRefusal.of("library-cannot-read", said=refusal, remedy=_remedy(refusal))
            ) from refusal

    def _must(self, sql: str, otherwise: str) -> str:
        try:
            return self._query(sql)
        except Refused as refusal:
            raise DatabaseFault(
                self._file,
                SqliteRefusal.of("copy-fails", otherwise=otherwise, said=refusal, remedy=self._remedy(refusal)),
            ) from refusal

    def _remedy(self, refusal: Refused) -> str:
        lacking = _FUNCTION.search(str(refusal))
        if lacking is None:
            return _remedy(refusal)
        name = lacking[1].replace("'", "''")
        holders = (
            "SELECT CASE type WHEN 'index' THEN 'index ' ELSE 'a CHECK or a generated column of ' END || name AS holder"
            f" FROM sqlite_schema WHERE type IN ('index', 'table') AND sql LIKE '%{name}%' LIMIT {_LONGEST_LIST}"
        )
        with contextlib.suppress(Refused):
            if found := self._query(f"SELECT coalesce(group_concat(holder, ', '), '') FROM ({holders})"):
                return f" ({found}){_remedy(refusal)}"
        return _remedy(refusal)

    def _query(self, sql: str) -> str:
        return str(self._ask("query", sql=sql)["text"])

    def _ask(self, do: str, **order: object) -> dict[str, Any]:
        return answered(self._worker.ask(do, seconds=_PATIENCE_SECONDS, **order))


_FUNCTION = re.compile(r"(?:no such|unknown) function: (\w+)")
_OF_APPLICATIONS = ("no such collation", "no such function", "unknown function")
"""What SQLite says where an index, a CHECK or a generated column needs what an application registers."""


def _remedy(refusal: Refused) -> str:
    if refusal.kind == "corrupt":
        return "; repair it (sqlite3 FILE .recover) or use a backup"
    if any(missing in str(refusal) for missing in _OF_APPLICATIONS):
        return "; only its application has that function: use a copy without it"
    return ""


def _first(listed: Sequence[str]) -> Sequence[str]:
    more = len(listed) - _LONGEST_LIST
    return [*listed[:_LONGEST_LIST], f"and {more} more"] if more > 0 else listed

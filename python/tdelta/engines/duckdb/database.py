"""One DuckDB in a worker process: a twin's file attached to it, and connections that use it.

DuckDB runs in memory and the file is attached, since that is where a key and a cipher can be given. Whatever it says is
told without the key.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tdelta import _native
from tdelta.engines.embedded.sql import literal, quoted
from tdelta.processes.dbapi import ClientError, explained

Options: TypeAlias = Mapping[str, Any]

BLOCK_BYTES = 1 << 18
"""The unit of encryption and of reads, with a header for nonce and tag."""

CATALOG = "twin"
"""By what name a twin's file is attached."""

_MODULE = "httpfs"

CRYPTO_SQL = (
    f"SELECT CASE WHEN lower(CAST(current_setting('force_mbedtls_unsafe') AS VARCHAR)) = 'true' THEN 'mbedtls'"
    f" WHEN (SELECT count(*) FROM duckdb_extensions() WHERE extension_name = '{_MODULE}' AND loaded) = 1"
    " THEN 'openssl' ELSE 'none' END"
)
"""Whose code encrypts in this process."""

OF_DATABASE = f"FROM duckdb_databases() WHERE database_name = '{CATALOG}'"
"""Has ``encrypted`` and ``cipher`` among its columns."""

_MAIN = "memory"
_SOURCE, _TARGET = "taken", "copied"
_HIDDEN = "<key>"
_KINDS = {
    "TransactionException": "conflict",
    "ConstraintException": "constraint",
    "OutOfMemoryException": "out_of_memory",
    "FatalException": "fatal",
    "InternalException": "fatal",
    "InvalidConfigurationException": "configuration",
}
_FORMAT = (
    """auto_detect = false, header = false, delim = ',', quote = '"', escape = '"', new_line = '\\n', """
    """nullstr = '\\N', allow_quoted_nulls = false"""
)
"""How the rows are written (`write_files`): NULL is what stands there without quotes only."""

_NO_ROOM = ("No space left", "Disk quota")
"""Errors of a full disk within an ``IOException``."""


class Database:
    """An open DuckDB with one file attached (`DuckdbEngine.options`); in memory only without ``path``."""

    def __init__(self, options: Options) -> None:
        try:
            duckdb: Any = importlib.import_module("duckdb")  # not earlier: only a worker may hold it
        except ImportError as error:
            raise ClientError("library", f"engine 'duckdb': {error}") from error
        self._options = options
        self._error: type[Exception] = duckdb.Error
        self._main = duckdb.connect(":memory:")
        self._catalog = _MAIN if options["path"] is None else CATALOG
        self._cursors: list[Any] = []
        try:
            with self.translated_errors():
                for statement in options["settings"]:
                    self._main.execute(statement)
            if options["path"] is not None:
                self.attach()
        except BaseException:
            self._main.close()
            raise

    @property
    def path(self) -> Path:
        return Path(self._options["path"])

    @property
    def is_read_only(self) -> bool:
        return bool(self._options["read_only"])

    @contextlib.contextmanager
    def translated_errors(self, key: str | None = None) -> Iterator[None]:
        """Within the block, what DuckDB raises becomes a `ClientError` without the key, the file's or the one given."""
        try:
            yield
        except self._error as error:
            raise as_client_error(error, key or self._options["key"]) from None  # its own text may quote the key

    def explained(self, error: BaseException) -> tuple[str, str, bool]:
        """An exception as `tdelta.processes.dbapi.explained` words it; DuckDB's own errors without the key."""
        return explained(as_client_error(error, self._options["key"]) if isinstance(error, self._error) else error)

    def attach(self) -> None:
        with self.translated_errors():
            self._main.execute(attach_sql(self._options))
            self._main.execute(f"USE {CATALOG}")

    def detach(self) -> None:
        with self.translated_errors():
            for cursor in (*self._cursors, self._main):
                cursor.execute(f"USE {_MAIN}")
            self._main.execute(f"DETACH {CATALOG}")

    def rejoin(self) -> None:
        for cursor in self._cursors:
            self.run(f"USE {CATALOG}", cursor=cursor)

    def cool(self, drop: Callable[[Path], object]) -> None:
        """Detach the file, have the system forget it by ``drop``, attach it again; connections go on."""
        self.detach()
        drop(self.path.parent)
        self.attach()
        self.rejoin()

    def take(self, options: Options) -> None:
        with self.translated_errors(options["key"]):
            self._main.execute(f"DETACH DATABASE IF EXISTS {_SOURCE}")
            self._main.execute(attach_sql(options, _SOURCE))

    def copy(self, options: Options) -> None:
        with self.translated_errors(options["key"]):
            self._main.execute(attach_sql(options, _TARGET))
            self._main.execute(f"COPY FROM DATABASE {_SOURCE} TO {_TARGET}")
            self._main.execute(f"CHECKPOINT {_TARGET}")
            self._main.execute(f"DETACH {_TARGET}")

    def let_go(self) -> None:
        self.run(*(f"DETACH DATABASE IF EXISTS {name}" for name in (_SOURCE, _TARGET)))

    def connect(self) -> Any:
        with self.translated_errors():
            cursor = self._main.cursor()
            cursor.execute(f"USE {self._catalog}")
        self._cursors.append(cursor)
        return cursor

    def drop(self, cursor: Any) -> None:
        self._cursors.remove(cursor)
        with contextlib.suppress(self._error):
            cursor.close()

    def run(self, *statements: str, cursor: Any = None) -> None:
        with self.translated_errors():
            for statement in statements:
                (self._main if cursor is None else cursor).execute(statement)

    @contextlib.contextmanager
    def threads(self, count: int) -> Iterator[None]:
        before = self.text("SELECT current_setting('threads')")
        self.run(f"SET threads = {count}")
        try:
            yield
        finally:
            self.run(f"SET threads = {before}")

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self.translated_errors():
            found: list[tuple[Any, ...]] = self._main.execute(sql, list(parameters)).fetchall()
            return found

    def text(self, sql: str) -> str:
        rows = self.rows(sql)
        return _text(rows[0][0]) if rows else ""

    def fill(self, tables: Sequence[tuple[str, Sequence[str]]], files: Mapping[str, str]) -> None:
        for table, columns in tables:
            types = self.types(table)
            if os.path.getsize(files[table]):  # noqa: PTH202 - a text out of an order
                names = ", ".join(map(quoted, columns))
                self.run(f"INSERT INTO {quoted(table)} ({names}) {reading_sql(files[table], columns, types)}")
        self.checkpoint()

    def types(self, table: str) -> dict[str, str]:
        sql = "SELECT column_name, data_type FROM duckdb_columns() WHERE database_name = ? AND table_name = ?"
        return dict(self.rows(sql, [self._catalog, table]))

    def file_sizes(self) -> dict[str, int]:
        sizes = {"database": self.path, "wal": self._log}
        return {name: path.stat().st_size if path.exists() else 0 for name, path in sizes.items()}

    def settle(self) -> bool:
        """Move what is in the log into the file; whether there was anything."""
        has_log = self._log.exists() and self._log.stat().st_size > 0
        if has_log:
            self.checkpoint()
        return has_log

    @property
    def _log(self) -> Path:
        return Path(f"{self.path}.wal")

    def checkpoint(self) -> None:
        self.run(f"CHECKPOINT {CATALOG}")

    def digest(self, source: str, columns: Sequence[str]) -> tuple[int, str]:
        """Rows of a table, quoted, or of a subquery in parentheses, and an order-independent checksum of them."""
        hashed = f"SELECT hash({', '.join(map(quoted, columns))}) AS h FROM {source}"
        sums = "count(*), coalesce(sum(CAST(h AS HUGEINT)), 0), coalesce(bit_xor(h), 0)"
        ((rows, total, parity),) = self.rows(f"SELECT {sums} FROM ({hashed})")
        return int(rows), f"{int(total) % 2**64:016x}{int(parity):016x}"

    def close(self) -> None:
        while self._cursors:
            self.drop(self._cursors[-1])
        with contextlib.suppress(self._error):
            self._main.close()


def write_files(plan: Mapping[str, object], seed: int, files: Mapping[str, str]) -> dict[str, int]:
    r"""Make the rows of each of the plan's tables and write them into its file, in order. Returns the files' sizes.

    NULL becomes ``\N``, bytes hexadecimal digits, and a double what reads back as the same.
    """
    text, threads = json.dumps(plan), len(os.sched_getaffinity(0))
    return {table: _native.write_csv(text, table, seed, threads, path) for table, path in files.items()}


def reading_sql(file: str, columns: Sequence[str], types: Mapping[str, str]) -> str:
    """A query for the rows of a file of `write_files`, with the types of a table's columns."""
    read_as = {name: "VARCHAR" if types[name] == "BLOB" else types[name] for name in columns}
    listed = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in read_as.items())
    selected = ", ".join(
        f"unhex({quoted(name)}) AS {quoted(name)}" if types[name] == "BLOB" else quoted(name) for name in columns
    )
    return f"SELECT {selected} FROM read_csv({literal(file)}, {_FORMAT}, columns = {{{listed}}})"


def taken(table: str) -> str:
    return f"{_SOURCE}.{table}"


def as_client_error(error: Exception, key: str | None) -> ClientError:
    """An error of DuckDB's as one of the kinds that a load loop counts, without the key."""
    message = str(error).replace(key, _HIDDEN) if key else str(error)
    name = type(error).__name__
    if name == "IOException":
        return ClientError("full" if any(words in message for words in _NO_ROOM) else "io", message)
    kind = _KINDS.get(name, "sql")
    return ClientError(kind, message, retryable=kind == "conflict")


def _text(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def attach_sql(options: Mapping[str, object], name: str = CATALOG) -> str:
    """The statement that attaches a file under a name. It holds the key: never to be logged, nor its errors.

    A cipher without a key would make a plain file without a word, so neither is given without the other.

    Raises:
        ValueError: a key without a cipher, or a cipher without a key.
    """
    key, mode = options["key"], options["mode"]
    if (key is None) is not (mode is None):
        raise ValueError("a key and a cipher's mode: expected both or neither")
    given = ["READ_ONLY"] if options["read_only"] else [f"STORAGE_VERSION {literal(str(options['storage_version']))}"]
    if key is not None:
        given += [f"ENCRYPTION_KEY {literal(str(key))}", f"ENCRYPTION_CIPHER {literal(str(mode))}"]
    return f"ATTACH {literal(str(options['path']))} AS {name} ({', '.join(given)})"

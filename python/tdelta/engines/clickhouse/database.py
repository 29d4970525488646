"""One ClickHouse in a worker process: a twin's folder, and sessions that use it. What it says is told without a key."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tdelta import _native
from tdelta.driver.dbapi import ClientError, explained
from tdelta.engines.clickhouse.engine import DATABASE, DISK, FILES, FOLDERS, STATE, configuration, literal, quoted
from tdelta.measure.caches import empty_page_cache
from tdelta.measure.private import FOLDER_MODE

STYLE = {"parameters": "pyformat", "ends_by_methods": True, "is_spread": True}
"""Parameters become literals; there are no transactions, so that ending one does nothing; queries run in threads of
ClickHouse's. Each execution is parsed and planned, as it is for whoever uses ClickHouse from Python."""

_SIGNS = frozenset("?&")
"""They end a path where chDB takes one."""

_ROWS = "JSONCompact"
_HIDDEN = "<key>"
_CACHES = ("MARK", "UNCOMPRESSED", "QUERY", "PRIMARY INDEX")
_CODE = re.compile(r"\(([A-Z][A-Z_0-9]+)\)\s*$")
_KINDS = {
    "NOT_ENOUGH_SPACE": "full",
    "CANNOT_WRITE_TO_FILE_DESCRIPTOR": "io",
    "CANNOT_OPEN_FILE": "io",
    "CANNOT_READ_FROM_FILE_DESCRIPTOR": "io",
    "MEMORY_LIMIT_EXCEEDED": "out_of_memory",
    "CANNOT_ALLOCATE_MEMORY": "out_of_memory",
}
_FULL = "No space left"
_NOT_NULL = re.compile(r"\bNullable\((\w+(?:\(\d+\))?)\)\s+NOT NULL")
_KEYED = re.compile(r"\bPRIMARY KEY\b", re.IGNORECASE)


def definition(sql: str) -> str:
    """A table's definition as ClickHouse takes it: sqlglot makes ``Nullable(T) NOT NULL`` of what is just ``T``.

    Rows of a table without a key lie as they come.
    """
    sql = _NOT_NULL.sub(r"\1", sql)
    return sql if _KEYED.search(sql) else f"{sql} ENGINE = MergeTree ORDER BY tuple()"


class Cursor:
    """One session, as the load loop uses it."""

    def __init__(self, database: Database, session: Any) -> None:
        self.session = session
        self._database = database
        self._answer = b""
        self._parsed: dict[str, Any] | None = None

    @property
    def connection(self) -> Cursor:
        """Itself: a transaction ends by nothing."""
        return self

    def commit(self) -> None:
        """There is nothing to do."""

    def rollback(self) -> None:
        """There is nothing to do."""

    def execute(self, sql: str, parameters: Mapping[str, object] | None = None) -> None:
        """Run a statement, to its end."""
        text = sql if parameters is None else sql % {name: literal(value) for name, value in parameters.items()}
        self._parsed = None
        self._answer = self.session.query(text, _ROWS).bytes()

    @property
    def description(self) -> list[tuple[str]] | None:
        """The columns of the last statement; None where it answers nothing."""
        found = self._read()
        return None if found is None else [(column["name"],) for column in found["meta"]]

    def fetchall(self) -> list[list[Any]]:
        """All rows of the last statement."""
        found = self._read()
        rows: list[list[Any]] = [] if found is None else found["data"]
        return rows

    def _read(self) -> dict[str, Any] | None:
        if self._parsed is None and self._answer:
            self._parsed = json.loads(self._answer.decode(errors="replace"))
        return self._parsed


class Database:
    """An open ClickHouse. There is one in a process.

    Args:
        options: as `tdelta.engines.clickhouse.engine.ClickhouseEngine.options` gives them.

    Raises:
        ClientError: it cannot be loaded (``library``), or what it says.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        try:
            self._module: Any = importlib.import_module("chdb.session")  # not earlier: only a worker may hold it
        except ImportError as error:
            raise ClientError("library", f"engine 'clickhouse': {error}") from error
        self._options = options
        if _SIGNS.intersection(options["home"]):
            raise ClientError("value", f"{options['home']}: expected a folder without ? and & in its path")
        for name in FOLDERS:
            (self.home / name).mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        self._configuration = os.memfd_create("configuration", os.MFD_CLOEXEC)
        os.write(self._configuration, configuration(options).encode())
        self._sessions: list[Cursor] = []
        with self.translated_errors():
            self._main = self._opened()
            self.run(f"CREATE DATABASE IF NOT EXISTS {DATABASE} ENGINE = Atomic")
            self._use(self._main)

    @property
    def home(self) -> Path:
        """The twin's folder."""
        return Path(self._options["home"])

    def connect(self) -> Cursor:
        """One more session."""
        with self.translated_errors():
            cursor = self._opened()
            self._use(cursor)
        self._sessions.append(cursor)
        return cursor

    def load_twin(self, connections: int) -> _native.DbApiTwin:
        """So many sessions, for trials."""
        return _native.DbApiTwin(
            json.dumps(STYLE), self._joined, connections, self.explained, cool=self.cool, files=self.file_sizes
        )

    def _joined(self, old: object) -> Cursor:
        if old is not None:
            raise ClientError("script", r"\connect: ClickHouse runs within the process, which connects to nothing")
        return self.connect()

    def cool(self) -> None:
        """Empty ClickHouse's caches, and the system's of its files."""
        self.run(*(f"SYSTEM DROP {cache} CACHE" for cache in _CACHES))
        empty_page_cache(self.home)

    def run(self, *statements: str) -> None:
        """Run statements one after another; what they answer is dropped."""
        for statement in statements:
            self.rows(statement)

    def rows(self, sql: str) -> list[list[Any]]:
        """All that one statement answers."""
        with self.translated_errors():
            self._main.execute(sql)
            return self._main.fetchall()

    def text(self, sql: str) -> str:
        """The first value that one statement answers, as text; empty for NULL, and where there is none."""
        rows = self.rows(sql)
        return "" if not rows or rows[0][0] is None else str(rows[0][0])

    def cipher(self) -> dict[str, str]:
        """What ClickHouse says of the disk's encryption, and which disks tables lie on."""
        disks = self.rows(f"SELECT DISTINCT disk_name FROM system.parts WHERE database = '{DATABASE}' ORDER BY 1")
        return {
            "is_encrypted": self.text(f"SELECT is_encrypted FROM system.disks WHERE name = '{DISK}'"),
            "disks": ", ".join(str(name) for (name,) in disks),
        }

    def fill(self, rows: Mapping[str, Any]) -> None:
        """Insert the rows of files.

        Args:
            rows: ``tables`` with their columns, ``files`` by table, ``hexadecimal``: by table the columns whose values
                are bytes, and over how many ``threads`` the work is spread.
        """
        files, threads = rows["files"], rows["threads"]
        for table, columns in rows["tables"]:
            if os.path.getsize(files[table]):  # noqa: PTH202 - a text out of an order
                names = ", ".join(map(quoted, columns))
                source = reading_sql(files[table], columns, self.types(table), rows["hexadecimal"].get(table, ()))
                limit = f"max_threads = {threads}, max_insert_threads = {threads}"
                self.run(f"INSERT INTO {quoted(table)} ({names}) {source} SETTINGS {limit}")

    def types(self, table: str) -> dict[str, str]:
        """The type of each column of a table."""
        of = f"database = '{DATABASE}' AND table = {literal(table)}"
        found: Any = self.rows(f"SELECT name, type FROM system.columns WHERE {of}")
        return dict(found)

    def digest(self, source: str, columns: Sequence[str]) -> tuple[int, str]:
        """Rows and an order-independent checksum of them.

        Args:
            source: a table, quoted, or a subquery in parentheses.
            columns: its columns, in the order in which a row is hashed.
        """
        # As bytes, since the hash of a row with a NULL in it would be NULL.
        hashed = f"SELECT cityHash64(formatRow('RowBinary', {', '.join(map(quoted, columns))})) AS h FROM {source}"
        sums = "toString(count()), hex(sumWithOverflow(h)), hex(groupBitXor(h))"
        ((rows, total, parity),) = self.rows(f"SELECT {sums} FROM ({hashed})")
        return int(rows), f"{total:0>16}{parity:0>16}".lower()

    def file_sizes(self) -> dict[str, int]:
        """Bytes of all files on the twin's disk."""
        return {"database": sum(path.stat().st_size for path in self._files())}

    def _files(self) -> list[Path]:
        return [path for path in (self.home / FILES).rglob("*") if path.is_file()]

    @contextlib.contextmanager
    def translated_errors(self) -> Iterator[None]:
        """Within the block, what ClickHouse raises becomes a `ClientError` without the key."""
        try:
            yield
        except ClientError:
            raise
        except RuntimeError as error:
            kind, message, retryable = self.explained(error)
            raise ClientError(kind, message, retryable=retryable) from None  # its own text may quote the key

    def explained(self, error: BaseException) -> tuple[str, str, bool]:
        """What was raised, as `tdelta.driver.dbapi.explained`; of ClickHouse's own errors without the key."""
        if not isinstance(error, RuntimeError):
            return explained(error)
        message = str(error).strip()
        if key := self._options["key"]:
            message = message.replace(str(key), _HIDDEN)
        if _FULL in message:
            return "full", message, False
        code = _CODE.search(message)
        return _KINDS.get(code.group(1) if code else "", "sql"), message, False

    def close(self) -> None:
        """Close every session, and with the last one ClickHouse."""
        for cursor in (*self._sessions, self._main):
            with contextlib.suppress(RuntimeError):
                cursor.session.close()
        self._sessions.clear()
        os.close(self._configuration)

    def _opened(self) -> Cursor:
        file = f"/proc/self/fd/{self._configuration}"
        return Cursor(self, self._module.Session(f"{self.home / STATE}?config-file={file}"))

    def _use(self, cursor: Cursor) -> None:
        """Merges in the background would work for trials that are over, or not yet begun."""
        for sql in (
            f"USE {DATABASE}",
            "SYSTEM STOP MERGES",
            f"SET max_threads = {self._options['threads']}",
            "SET output_format_json_quote_64bit_integers = 0",
        ):
            cursor.execute(sql)


def reading_sql(file: str, columns: Sequence[str], types: Mapping[str, str], hexadecimal: Collection[str]) -> str:
    """A query for the rows of a file of `tdelta.engines.shared.generated_rows`, with the types of a table's columns.

    Some columns have bytes, which are hexadecimal digits there.
    """
    structure = ", ".join(f"{quoted(name)} {types[name]}" for name in columns)
    selected = (f"unhex({quoted(name)})" if name in hexadecimal else quoted(name) for name in columns)
    named = (f"{value} AS {quoted(name)}" for value, name in zip(selected, columns, strict=True))
    return f"SELECT {', '.join(named)} FROM file({literal(file)}, CSV, {literal(structure)})"

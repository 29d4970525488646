"""Requests to the worker that makes backups of a file which another worker has open, and restores them.

The library under test does the work: by its online backup, by ``VACUUM INTO``, or by writing rows as SQL, as the
shell's ``.dump`` does. A copy of the file is made while a transaction keeps writers out, the log included.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from tdelta import _native
from tdelta.engines.embedded.sql import literal, quoted
from tdelta.measure.pressure import spent
from tdelta.measure.private import private
from tdelta.processes.rpc import Reply, Request
from tdelta.processes.worker import Host

_COPY_BYTES = 1 << 20
_PAGES_A_STEP = 100
_BUSY_MS = 60_000

_SCHEMA_SQL = """
    SELECT type, name, sql FROM sqlite_master
    WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
    ORDER BY type <> 'table', rowid
"""


class BackupRequests(Host):
    def do_open(self, request: Request) -> Reply:
        raise NotImplementedError

    def do_back_up(self, request: Request) -> Reply:
        with _said():
            return spent(lambda: _TOOLS[request["tool"]](request))

    def do_restore_files(self, request: Request) -> Reply:
        """Copy the files of a backup, open what they are, and read a row; say what that took."""

        def restore() -> None:
            for source, target in request["files"]:
                _copy_file(Path(source), Path(target))
            self._answered(request)

        with _said():
            return spent(restore)

    def do_restore_rows(self, request: Request) -> Reply:
        """Make a file, run the statements of a logical backup in it, open it, read a row; say what that took."""

        def restore() -> None:
            _make(request["made"])
            module = module_of(request["library"])
            connection = _connected(module, request["made"])
            with Path(request["source"]).open("rb") as script:
                _run(module, connection, script)
            connection.close()
            self._answered(request)

        with _said():
            return spent(restore)

    def _answered(self, request: Request) -> None:
        self.do_open(request)
        self.open_twin().text(request["sql"])


@contextlib.contextmanager
def _said() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _native.NativeError("io", f"{error.filename or 'a backup'}: {error.strerror}") from error
    except Exception as error:
        if isinstance(error, _native.NativeError) or type(error).__module__.split(".")[0] not in ("apsw", "sqlcipher3"):
            raise
        raise _native.NativeError("sql", str(error)) from error


class Module:
    """The Python module of a library, loaded before: that of SQLCipher, a DB-API."""

    NAME = "sqlcipher3.dbapi2"

    def __init__(self) -> None:
        self.module: Any = importlib.import_module(self.NAME)

    def connect(self, path: str) -> Any:
        """A connection whose ``execute`` gives rows."""
        return self.module.connect(path, timeout=_BUSY_MS / 1e3, isolation_level=None)

    def back_up(self, source: Any, target: Any, pages: int = _PAGES_A_STEP) -> None:
        """The library's online backup, so many pages at a time; all at once for -1."""
        source.backup(target, pages=pages, sleep=0.0)

    def is_complete(self, sql: str) -> bool:
        return bool(self.module.complete_statement(sql))


class _Apsw(Module):
    NAME = "apsw"

    def connect(self, path: str) -> Any:
        connection = self.module.Connection(path)
        connection.set_busy_timeout(_BUSY_MS)
        return connection

    def back_up(self, source: Any, target: Any, pages: int = _PAGES_A_STEP) -> None:
        with target.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(pages)

    def is_complete(self, sql: str) -> bool:
        return bool(self.module.complete(sql))


def module_of(library: str) -> Module:
    """The module of a library; one by its path has none."""
    return {"sqlite3mc": _Apsw, "sqlcipher": Module}[library]()


def _connected(module: Module, options: Request) -> Any:
    connection = module.connect(options["path"])
    key = options["key"]
    keying = [] if key is None else [f"PRAGMA key={literal(key)}"]
    for pragma in (*options["cipher_pragmas"], *keying, *options["pragmas"]):
        list(connection.execute(pragma))
    return connection


def _make(options: Request) -> None:
    """A file with the pages, reserved bytes and key that twins have, and nothing in it."""
    with _opened(options) as twin:
        twin.text("CREATE TABLE tdelta_empty (id INTEGER)")
        twin.text("DROP TABLE tdelta_empty")


def _online(request: Request) -> None:
    """The library's online backup, so many pages at a time, into a file with the source's cipher and key."""
    _make(request["made"])
    module = module_of(request["library"])
    source, target = _connected(module, request["options"]), _connected(module, request["made"])
    module.back_up(source, target)
    target.close()
    source.close()


def _vacuum(request: Request) -> None:
    with _opened(request["options"]) as twin:
        twin.text(f"VACUUM INTO {literal(request['target'])}")


def _copy(request: Request) -> None:
    """File and log, while a transaction keeps writers out, so that neither changes."""
    with _opened(request["options"]) as twin:
        twin.text("BEGIN IMMEDIATE")
        for suffix in ("", "-wal"):
            source = Path(f"{request['options']['path']}{suffix}")
            if source.exists() and (not suffix or source.stat().st_size):
                _copy_file(source, Path(f"{request['target']}{suffix}"))
        twin.text("ROLLBACK")


def _copy_file(source: Path, target: Path) -> None:
    with source.open("rb") as reader, private(target) as writer:
        shutil.copyfileobj(reader, writer, _COPY_BYTES)


def _opened(options: Request) -> contextlib.closing[_native.SqliteTwin]:
    return contextlib.closing(_native.SqliteTwin(json.dumps(options), 1))


def _dump(request: Request) -> None:
    """Rows as SQL, out of one transaction: tables with their rows, then whatever else the schema has."""
    connection = _connected(module_of(request["library"]), request["options"])
    with Path(request["target"]).open("wb") as out:  # it may be a pipe that a program reads
        list(connection.execute("BEGIN"))
        schema = list(connection.execute(_SCHEMA_SQL))
        for kind, name, sql in schema:
            out.write(f"{sql};\n".encode())
            if kind == "table":
                _dump_rows(connection, name, out)
        list(connection.execute("COMMIT"))
    connection.close()


def _dump_rows(connection: Any, table: str, out: BinaryIO) -> None:
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({quoted(table)})")]
    values = " || ',' || ".join(f"quote({quoted(column)})" for column in columns)
    head = literal(f"INSERT INTO {quoted(table)} VALUES(")
    for (line,) in connection.execute(f"SELECT CAST({head} || {values} || ');' AS BLOB) FROM {quoted(table)}"):
        out.write(line)
        out.write(b"\n")


def _run(module: Module, connection: Any, script: Iterable[bytes]) -> None:
    list(connection.execute("BEGIN"))
    statement = ""
    for line in script:
        statement += line.decode()
        if module.is_complete(statement):
            list(connection.execute(statement))
            statement = ""
    list(connection.execute("COMMIT"))


_TOOLS: Mapping[str, Callable[[Request], None]] = {
    "copy": _copy,
    "vacuum-into": _vacuum,
    "online": _online,
    "dump": _dump,
}

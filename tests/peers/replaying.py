"""Drivers of Python's without a server: a conversation answers what is asked of catalogs, SQLite does the tables' work.

``TDELTA_PEER`` names a folder: what each "server" remembers is a file there, by its host, and ``CONVERSATION.json`` is
what it answers. An entry has a pattern ``sql``; its ``rows`` may hold ``{ran}``, which grows, ``{worked}``, the
statements of committed transactions on tables, and ``{group}`` of that pattern or of ``needs``: a statement that must
have been run there before (and nothing that matches ``until`` since). ``sessions_with`` answers with the open sessions
that ran such a statement, ``kills`` ends one; ``schema`` is the one whose tables are worked with from then on,
``copies`` has the tables of one schema in another, ``works`` is a statement that SQLite runs. ``shuts`` names a schema
whose tables fail from then on, until an entry that ``opens`` it; ``takes`` is how many seconds an answer takes.
``TDELTA_PEER_WRITTEN`` names a file that keeps statements as SQLite takes them, for the next process: a run has some
twenty, and sqlglot is half of what one costs.

The conversations here are SYNTHETIC: written by hand from the vendors' documentation, and recorded from no server.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

SYNTHETIC = Path(__file__).parent


class Peer:
    """What is the same of both drivers; ``errors`` makes a exception of a kind."""

    def __init__(self, conversation: str, dialect: str, errors: Any) -> None:
        self.entries = json.loads((SYNTHETIC / f"{conversation}.synthetic.json").read_text(encoding="utf-8"))
        self.dialect = dialect
        self.errors = errors

    def connect(self, host: str, schema: str = "") -> Connection:
        return Connection(self, host, schema)


class Connection:
    def __init__(self, peer: Peer, host: str, schema: str) -> None:
        self.peer, self.host = peer, host
        self.schema = schema
        self.notes = self._opened("notes")
        self.tables = self._opened(f"tables-{schema}")
        self.notes.execute("CREATE TABLE IF NOT EXISTS ran (id INTEGER PRIMARY KEY, session INTEGER, sql TEXT)")
        self.notes.execute("CREATE TABLE IF NOT EXISTS worked (statements INTEGER)")
        self.worked = 0
        self.notes.execute("CREATE TABLE IF NOT EXISTS sessions (id INTEGER PRIMARY KEY, state TEXT)")
        self.id = self.notes.execute("INSERT INTO sessions (state) VALUES ('open')").lastrowid

    def _opened(self, what: str) -> sqlite3.Connection:
        path = Path(os.environ["TDELTA_PEER"]) / f"{self.host}-{what}"
        opened = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
        opened.execute("PRAGMA journal_mode = wal")
        opened.execute("PRAGMA synchronous = off")
        return opened

    def copy(self, schema: str, to: str) -> None:
        with (
            contextlib.closing(self._opened(f"tables-{schema}")) as source,
            contextlib.closing(self._opened(f"tables-{to}")) as target,
        ):
            source.backup(target)

    def use(self, schema: str) -> None:
        self.schema = schema
        self.tables.close()
        self.tables = self._opened(f"tables-{schema}")

    def shut(self, schema: str) -> Path:
        """The file that is there while tables of a schema cannot be used."""
        return Path(os.environ["TDELTA_PEER"]) / f"{self.host}-shut-{schema.lower()}"

    @property
    def autocommit(self) -> bool:
        return self.tables.isolation_level is None

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        self.tables.isolation_level = None if value else "DEFERRED"

    def direct_path_load(self, schema: str, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """As python-oracledb's: rows as sequences, names as the catalog has them."""
        assert schema == schema.upper()
        assert table == table.upper()
        marks = ", ".join("?" for _ in columns)
        self.tables.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)
        self.commit()
        self.notes.execute("INSERT INTO ran (session, sql) VALUES (?, ?)", (self.id, f"direct path load of {table}"))

    def cursor(self) -> Cursor:
        return Cursor(self)

    def commit(self) -> None:
        self.tables.commit()
        self.notes.execute("INSERT INTO worked VALUES (?)", (self.worked,))
        self.worked = 0

    def rollback(self) -> None:
        self.tables.rollback()

    def close(self) -> None:
        self.notes.execute("UPDATE sessions SET state = 'closed' WHERE id = ?", (self.id,))
        self.tables.close()


class Cursor:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.description: list[tuple[str]] | None = None
        self._rows: Iterator[Sequence[Any]] = iter(())

    def execute(self, sql: str, parameters: Any = ()) -> None:
        here = self.connection
        state = here.notes.execute("SELECT state FROM sessions WHERE id = ?", (here.id,)).fetchone()[0]
        if state != "open":
            raise here.peer.errors("gone", "the session was ended")
        text = " ".join(sql.split())
        for entry in here.peer.entries:
            if entry.get("host", here.host) == here.host and (found := re.search(entry["sql"], text)) is not None:
                answer = self._answer(entry, found)
                if answer is not None:
                    self._ran(text)
                    self._told(entry.get("columns"), answer)
                    return
        self._work(text, parameters)

    def executemany(self, sql: str, rows: Sequence[Any]) -> None:
        self.connection.tables.executemany(self._written(" ".join(sql.split())), rows)

    def bulkcopy(
        self, table: str, rows: Sequence[Any], *, timeout: int, column_mappings: Sequence[str], table_lock: bool
    ) -> None:
        """As mssql-python's, on a connection of its own: what this one has not committed would keep it waiting."""
        here = self.connection
        assert (here.worked, timeout, table_lock) == (0, 0, True)
        assert all(type(row) is tuple for row in rows)
        marks = ", ".join("?" for _ in column_mappings)
        here.tables.executemany(f"INSERT INTO {table} ({', '.join(column_mappings)}) VALUES ({marks})", rows)
        here.tables.commit()
        here.notes.execute("INSERT INTO ran (session, sql) VALUES (?, ?)", (here.id, f"bulk copy into {table}"))

    def fetchall(self) -> list[Sequence[Any]]:
        return list(self._rows)

    def fetchmany(self, size: int) -> list[Sequence[Any]]:
        return [row for _, row in zip(range(size), self._rows, strict=False)]

    def _answer(self, entry: Mapping[str, Any], found: re.Match[str]) -> list[list[Any]] | None:
        here, groups = self.connection, found.groupdict()
        groups["worked"] = str(here.notes.execute("SELECT total(statements) FROM worked").fetchone()[0])
        groups["ran"] = str(here.notes.execute("SELECT count(*) FROM ran").fetchone()[0])
        escaped = {name: re.escape(value) for name, value in groups.items() if value is not None}
        if "sessions_with" in entry:
            pattern = _filled(entry["sessions_with"], escaped)
            rows = here.notes.execute("SELECT session, sql FROM ran WHERE session <> ?", (here.id,)).fetchall()
            marked = {session for session, sql in rows if re.search(pattern, sql)}
            living = {row[0] for row in here.notes.execute("SELECT id FROM sessions WHERE state = 'open'")}
            return [[entry["rows"][0][0].format(id=session)] for session in sorted(marked & living)]
        if "schema" in entry:
            here.use(entry["schema"].format(**groups))
        if "copies" in entry:
            here.copy(*(name.format(**groups) for name in entry["copies"]))
        if "works" in entry:
            here.tables.execute(entry["works"].format(**groups))
        time.sleep(entry.get("takes", 0))
        if "kills" in entry:
            here.notes.execute("UPDATE sessions SET state = 'ended' WHERE id = ?", (groups["id"],))
        if "needs" not in entry:
            return _rows(entry, groups)
        ran = [row[0] for row in here.notes.execute("SELECT sql FROM ran ORDER BY id")]
        rows: list[list[Any]] = []
        for at, sql in enumerate(ran):
            if (before := re.search(_filled(entry["needs"], escaped), sql)) is not None:
                known = groups | before.groupdict()
                until = _filled(entry.get("until", "(?!)"), {name: re.escape(value) for name, value in known.items()})
                if not any(re.search(until, later) for later in ran[at + 1 :]):
                    if "shuts" in entry:
                        here.shut(entry["shuts"].format(**known)).touch()
                    if "opens" in entry:
                        here.shut(entry["opens"].format(**known)).unlink(missing_ok=True)
                    rows += [row for row in _rows(entry, known) if row not in rows]
        return rows or None

    def _ran(self, text: str) -> None:
        here = self.connection
        here.notes.execute("INSERT INTO ran (session, sql) VALUES (?, ?)", (here.id, text))

    def _work(self, text: str, parameters: Any) -> None:
        if text.startswith("DROP TABLE IF EXISTS") and "," in text:  # SQLite drops one at a time
            for table in text.removeprefix("DROP TABLE IF EXISTS").split(","):
                self._work(f"DROP TABLE IF EXISTS {table}", parameters)
            return
        if self.connection.shut(self.connection.schema).exists():
            raise self.connection.peer.errors("offline", "file 7 cannot be read at this time")
        self.connection.worked += 1
        try:
            found = self.connection.tables.execute(self._written(text), parameters)
        except sqlite3.IntegrityError as error:
            raise self.connection.peer.errors("constraint", str(error)) from error
        except (sqlite3.Error, Unwritable) as error:
            raise self.connection.peer.errors("table", f"{error}: {text[:200]}") from error
        self._told(None if found.description is None else [column[0] for column in found.description], found)

    def _written(self, text: str) -> str:
        return transpiled(text, self.connection.peer.dialect)

    def _told(self, columns: Sequence[str] | None, rows: Any) -> None:
        self.description = None if columns is None else [(column.upper(),) for column in columns]
        self._rows = iter(rows)


def _rows(entry: Mapping[str, Any], groups: Mapping[str, str]) -> list[list[Any]]:
    return [[cell.format(**groups) if isinstance(cell, str) else cell for cell in row] for row in entry["rows"]]


def _filled(pattern: str, groups: Mapping[str, str]) -> str:
    for name, value in groups.items():
        pattern = pattern.replace("{" + name + "}", value)
    return pattern


class Unwritable(Exception):
    pass


_TRANSPILING = threading.Lock()
"""sqlglot registers a dialect before the class is complete: another thread of a load would write by half of it."""

_WRITTEN: dict[tuple[str, str], str] = {}


def transpiled(text: str, dialect: str) -> str:
    with _TRANSPILING:
        if (text, dialect) not in _WRITTEN:
            _WRITTEN[text, dialect] = _kept(text, dialect)
        return _WRITTEN[text, dialect]


def _kept(text: str, dialect: str) -> str:
    """As an earlier process wrote it, or for the next one."""
    if (path := os.environ.get("TDELTA_PEER_WRITTEN")) is None:
        return _transpiled(text, dialect)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as kept:
        kept.execute("CREATE TABLE IF NOT EXISTS written (text, dialect, sqlite, PRIMARY KEY (text, dialect))")
        found = kept.execute("SELECT sqlite FROM written WHERE text = ? AND dialect = ?", (text, dialect)).fetchone()
        if found is not None:
            return str(found[0])
        written = _transpiled(text, dialect)
        kept.execute("INSERT OR REPLACE INTO written VALUES (?, ?, ?)", (text, dialect, written))
    return written


def _transpiled(text: str, dialect: str) -> str:
    import sqlglot

    try:
        written = sqlglot.transpile(text, read=dialect, write="sqlite", unsupported_level=sqlglot.ErrorLevel.IGNORE)[0]
    except sqlglot.errors.SqlglotError as error:
        raise Unwritable(str(error)) from error
    return re.sub(r" NULLS (FIRST|LAST)", "", written)

"""Drivers of Python's without a server: a conversation answers what is asked of catalogs, SQLite does the tables' work.

``TDELTA_PEER`` names a folder: what each "server" remembers is a file there, by its host, and ``CONVERSATION.json`` is
what it answers. An entry has a pattern ``sql``; its ``rows`` may hold ``{ran}``, which grows, ``{worked}``, the
statements of committed transactions on tables, and ``{group}`` of that pattern or of ``needs``: a statement that must
have been run there before (and nothing that matches ``until`` since). ``sessions_with`` answers with the open sessions
that ran such a statement, ``kills`` ends one; ``schema`` is the one whose tables are worked with from then on,
``copies`` has the tables of one schema in another, ``works`` is a statement that SQLite runs. ``shuts`` names a schema
whose tables fail from then on, until an entry that ``opens`` it; ``takes`` is how many seconds an answer takes, and
``lasts`` how many it would on a large server, which passes no time here and goes past a limit of time. ``asks`` is a
query of SQLite's that answers, in the tables of ``within``; ``analyzes`` names a table whose statistics are gathered.
An entry with ``later`` answers a message first: it is carried out by ``nextset``, and not at all if another statement
follows.

As servers do, and more forgiving peers would not: where a connection does not commit each statement by itself, all
statements are parts of a transaction, but for Oracle's definitions, and closing it rolls back; statistics wait for
whoever defines tables; CHAR comes back padded (a blank stands for as many as the column would have).

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
_DEFINES = re.compile(r"(CREATE|ALTER|DROP|TRUNCATE) ", re.IGNORECASE)
_READS = re.compile(r"(SELECT|WITH) ", re.IGNORECASE)
_WAIT_MILLISECONDS = 200
_PADDED = "PADDED_TEXT"
sqlite3.register_converter(_PADDED, lambda value: f"{value.decode()} ")


class Peer:
    """The common part of both drivers; ``errors`` makes an exception of a kind."""

    def __init__(self, conversation: str, dialect: str, errors: Any) -> None:
        self.entries = json.loads((SYNTHETIC / f"{conversation}.synthetic.json").read_text(encoding="utf-8"))
        self.dialect = dialect
        self.errors = errors


class Connection:
    autocommit = False
    is_begun = False
    """Whether a statement began a transaction."""

    def __init__(self, peer: Peer, host: str, schema: str = "") -> None:
        self.peer, self.host = peer, host
        self.schema = schema
        self.notes = self.opened("notes")
        self.tables = self.opened(f"tables-{schema}")
        self.notes.execute("CREATE TABLE IF NOT EXISTS ran (id INTEGER PRIMARY KEY, session INTEGER, sql TEXT)")
        self.notes.execute("CREATE TABLE IF NOT EXISTS worked (statements INTEGER)")
        self.worked = 0
        self.notes.execute("CREATE TABLE IF NOT EXISTS sessions (id INTEGER PRIMARY KEY, state TEXT)")
        self.id = self.notes.execute("INSERT INTO sessions (state) VALUES ('open')").lastrowid

    def opened(self, what: str) -> sqlite3.Connection:
        path = Path(os.environ["TDELTA_PEER"]) / f"{self.host}-{what}"
        kinds = sqlite3.PARSE_DECLTYPES
        opened = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30, detect_types=kinds)
        opened.execute("PRAGMA journal_mode = wal")
        opened.execute("PRAGMA synchronous = off")
        return opened

    def copy(self, schema: str, to: str) -> None:
        with (
            contextlib.closing(self.opened(f"tables-{schema}")) as source,
            contextlib.closing(self.opened(f"tables-{to}")) as target,
        ):
            source.backup(target)

    def use(self, schema: str) -> None:
        self.schema = schema
        self.tables.close()
        self.tables = self.opened(f"tables-{schema}")

    def shut(self, schema: str) -> Path:
        """The file that is there while tables of a schema cannot be used."""
        return Path(os.environ["TDELTA_PEER"]) / f"{self.host}-shut-{schema.lower()}"

    def work(self, sql: str, *values: Any, many: bool = False) -> sqlite3.Cursor:
        """Run a statement of SQLite's within the transaction that this connection is in, or is to begin."""
        if self.peer.dialect == "oracle" and _DEFINES.match(sql) is not None:
            self.commit()
        elif (self.is_begun or not self.autocommit) and not (_READS.match(sql) or self.tables.in_transaction):
            self.tables.execute("BEGIN IMMEDIATE")
        return self.tables.executemany(sql, *values) if many else self.tables.execute(sql, *values)

    def analyze(self, table: str) -> None:
        """Gather statistics of a table, which nobody else may have begun to change."""
        self.tables.execute(f"PRAGMA busy_timeout = {_WAIT_MILLISECONDS}")
        try:
            self.tables.execute(f"ANALYZE {table}")
        except sqlite3.OperationalError as error:
            raise self.peer.errors("slow", str(error)) from error
        finally:
            self.tables.execute("PRAGMA busy_timeout = 30000")

    def cursor(self) -> Cursor:
        return Cursor(self)

    def commit(self) -> None:
        self.is_begun = False
        if self.tables.in_transaction:
            self.tables.execute("COMMIT")
        self.notes.execute("INSERT INTO worked VALUES (?)", (self.worked,))
        self.worked = 0

    def rollback(self) -> None:
        self.is_begun = False
        if self.tables.in_transaction:
            self.tables.execute("ROLLBACK")
        self.worked = 0

    def close(self) -> None:
        self.notes.execute("UPDATE sessions SET state = 'closed' WHERE id = ?", (self.id,))
        self.tables.close()

    def __del__(self) -> None:
        """A connection that nobody has any more is closed, as by the drivers."""
        with contextlib.suppress(AttributeError, sqlite3.Error):  # one that was not opened, or at the end of a process
            self.close()


class Cursor:
    limit_seconds = 0.0
    """How long an answer may take; 0: as long as it takes."""

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
            is_there = entry.get("host", here.host) == here.host
            if is_there and (found := re.search(entry["sql"], text)) and self._is_carried_out(entry, found, text):
                return
        self._work(text, parameters)

    def _is_carried_out(self, entry: Mapping[str, Any], found: re.Match[str], text: str) -> bool:
        """Carry out what an entry says; not where that needs another statement to have been run before."""
        answer = self._answer(entry, found)
        if answer is None:
            return False
        self._ran(text)
        self._told(entry.get("columns"), answer)
        return True

    def executemany(self, sql: str, rows: Sequence[Any]) -> None:
        self.connection.work(self._written(" ".join(sql.split())), rows, many=True)

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
        if 0 < self.limit_seconds < entry.get("lasts", 0):
            raise here.peer.errors("slow", f"it lasts {entry['lasts']} seconds")
        if "schema" in entry:
            here.use(entry["schema"].format(**groups))
        if "copies" in entry:
            here.copy(*(name.format(**groups) for name in entry["copies"]))
        if "works" in entry:
            here.work(entry["works"].format(**groups))
        if "analyzes" in entry:
            here.analyze(entry["analyzes"].format(**groups))
        if "asks" in entry:
            with contextlib.closing(here.opened(f"tables-{entry['within'].format(**groups)}")) as tables:
                return [list(found) for found in tables.execute(entry["asks"])]
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
            found = self.connection.work(self._written(text), parameters)
        except sqlite3.IntegrityError as error:
            raise self.connection.peer.errors("constraint", str(error)) from error
        except (sqlite3.Error, Unwritable) as error:
            raise self.connection.peer.errors("table", f"{error}: {text[:200]}") from error
        if self.connection.autocommit and not self.connection.is_begun:
            self.connection.commit()
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
        tree = sqlglot.parse_one(text, read=dialect)
        for kind in [*tree.find_all(sqlglot.exp.DataType)]:
            if kind.this in (sqlglot.exp.DataType.Type.CHAR, sqlglot.exp.DataType.Type.NCHAR):
                kind.replace(sqlglot.exp.DataType.build(_PADDED, udt=True))
        written = tree.sql("sqlite", unsupported_level=sqlglot.ErrorLevel.IGNORE)
    except sqlglot.errors.SqlglotError as error:
        raise Unwritable(str(error)) from error
    return re.sub(r" NULLS (FIRST|LAST)", "", written)

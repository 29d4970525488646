"""SQLite files by mutation as a user's database: each is refused with a clear error, or staged; none is changed.

From the root of the repository::

    python tests/chaos/sqlite_files.py --tries 20000

Each try goes through all that a run does with ``--database`` before its first trial: the copy, its recovery, the check,
the proposal of transactions and their trial. In all but one of 200 tries the workers' part runs in this process, with a
tenth of the proposal's repetitions and without the keeper of the folder, whose processes would take most of the
campaign's time; they are in a child that is made anew whenever it dies.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import random
import sqlite3
import sys
import tempfile
import traceback
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from counting import Tally, asked, count_in_children

from tdelta.engines.sqlite import user_file
from tdelta.engines.sqlite.loading import Loaded, load_library
from tdelta.engines.sqlite.worker import SqliteHost
from tdelta.errors import TdeltaError
from tdelta.processes import files
from tdelta.processes.workers import failure
from tdelta.session import RunRequest, staging
from tdelta.session.staging import staged

LONGEST_SECONDS = 120.0
LONGEST_MESSAGE = 4_000
LOOK_AGAIN_SECONDS = 0.001
FEW_TRIES = {kind: count // 10 for kind, count in staging.TRIES.items()}
REAL_SHARE = 0.005
"""Of tries with processes of their own for the workers."""

HEADER = 100
SUFFIXES = ("", "-wal", "-journal")
EXTREMES = (0, 1, 2, 5, 10, 13, 0x7F, 0x80, 0xFE, 0xFF)
SAVED = Path("campaign-failures")
SCHEMAS = (
    "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, v REAL); CREATE INDEX i ON t (name);",
    "CREATE TABLE t (id TEXT PRIMARY KEY, v BLOB) WITHOUT ROWID; CREATE VIEW w AS SELECT * FROM t;",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT NOT NULL, b TEXT DEFAULT 'x' CHECK (length(b) < 900));"
    "CREATE TABLE u (t INTEGER REFERENCES t (id), n INT UNIQUE);"
    "CREATE TRIGGER g AFTER UPDATE ON t BEGIN UPDATE u SET n = n + 1000 WHERE t = new.id; END;",
    "CREATE VIRTUAL TABLE f USING fts5 (words);"
    "CREATE TABLE t (id INTEGER PRIMARY KEY, g INT AS (id * 2) STORED, w TEXT);",
)

Files = dict[str, bytes]


class Invalid(Exception):
    """Ends that no file may lead to."""


class InProcess:
    """A worker in this process: one for each staging would take most of the campaign's time."""

    def __init__(self, *, program: str = "") -> None:
        self.program = program
        self.host = SqliteHost()
        self.host.loaded = "sqlite3mc", _library()

    def __enter__(self) -> InProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def ask(self, do: str, **order: object) -> dict[str, Any]:
        """As of a worker, however long it takes; this process's files are not bounded."""
        order.pop("seconds", None)
        if do == "temporary":
            order.pop("most_bytes", None)
        answer = json.loads(json.dumps(self.host.answer({"do": do, **order}), default=_coded))
        if "error" in answer:
            raise failure(*answer["error"])
        found: dict[str, Any] = answer["ok"]
        return found

    def end(self) -> None:
        """As of a worker."""
        self.host.end()

    kill = end


class NoKeeper:
    """In place of the process that removes the folder of a tdelta that is killed: none is killed here."""

    def __init__(self, *_: object) -> None:
        """As of a child."""

    def send(self, *_: object, **_order: object) -> None:
        """As of a child."""

    def kill(self) -> None:
        """As of a child."""

    def close(self, _seconds: float) -> None:
        """As of a child."""


def main() -> int:
    """Mutate, stage, count."""
    ask = asked(__doc__ or "", 20_000)
    tally = Tally()
    with tempfile.TemporaryDirectory() as place:
        good = [_made(Path(place) / f"good{number}.db", number) for number in range(4 * len(SCHEMAS))]
        home = Path(place) / "home"
        home.mkdir()
        count_in_children(
            ask.numbers,
            lambda number: _judged(good, home, ask.seed, number),
            lambda number: _kept(good, ask.seed, number),
            LONGEST_SECONDS,
            tally,
        )
        tally.left_over = len([path for path in home.rglob("*") if not path.is_dir() and path.parent.name != "users"])
    return tally.report("SQLite files")


def _judged(good: list[Files], home: Path, seed: int, number: int) -> tuple[str, str]:
    draw = random.Random(f"{seed}/{number}")
    users = home / "users"
    users.mkdir(exist_ok=True)
    _place(users, _mutated(draw, good))
    before = _seen(users)
    try:
        outcome = _try(users / "app.db", home, is_real=draw.random() < REAL_SHARE)
    except BaseException as error:  # a panic is not an Exception
        return "", "".join(traceback.format_exception(error)[-3:])[-2_000:]
    if _seen(users) != before:
        return "", "the original changed"
    if left := [str(path) for path in (home / "twins").rglob("*")]:
        return "", f"left: {left[:5]}"
    return outcome, ""


def _try(file: Path, home: Path, *, is_real: bool) -> str:
    request = RunRequest(database=file, directory=home / "twins", store=home / "runs.sqlite")
    with contextlib.ExitStack() as stack:
        if not is_real:
            stack.enter_context(mock.patch.object(user_file, "Worker", InProcess))
            stack.enter_context(mock.patch.object(files, "Child", NoKeeper))
            stack.enter_context(mock.patch.object(files, "_LOOK_AGAIN_SECONDS", LOOK_AGAIN_SECONDS))
            stack.enter_context(mock.patch.object(staging, "TRIES", FEW_TRIES))
        try:
            with staged(request, "r", lambda _event: None) as source:
                if source is None:
                    raise Invalid("no source")
                return "staged"
        except TdeltaError as refused:
            said = str(refused)
            if refused.exit_code == 1 or not said.strip() or len(said) > LONGEST_MESSAGE or "\x1b" in said:
                raise Invalid(f"exit {refused.exit_code}, {len(said)} characters: {said[:500]!r}") from refused
            return f"refused with exit code {refused.exit_code}"


def _made(path: Path, number: int) -> Files:
    """A database, whole, with a log, or with the journal of a transaction that was cut short."""
    page_size, is_logged, is_cut = (512, 1024, 4096, 1024)[number % 4], number % 4 == 1, number % 4 == 2
    database = sqlite3.connect(path, isolation_level=None)
    database.execute(f"PRAGMA page_size = {page_size}")
    database.execute(f"PRAGMA auto_vacuum = {number % 3}")
    if is_logged:
        database.execute("PRAGMA journal_mode = wal")
    database.executescript(SCHEMAS[number // 4])
    columns = [row[1] for row in database.execute("PRAGMA table_info(t)")]
    marks = ", ".join("?" * len(columns))
    rows = [[n if at == 0 else f"{n}{'x' * (n % 90)}" for at in range(len(columns))] for n in range(150)]
    database.executemany(f"INSERT INTO t ({', '.join(columns)}) VALUES ({marks})", rows)
    if is_cut:
        database.execute("PRAGMA cache_size = 1")
        database.execute("BEGIN")
        database.execute(f"UPDATE t SET {columns[1]} = 'cut short'")
    files = {suffix: Path(f"{path}{suffix}") for suffix in SUFFIXES}
    found = {suffix: file.read_bytes() for suffix, file in files.items() if file.exists()}
    database.close()
    return found


def _mutated(draw: random.Random, good: list[Files]) -> Files:
    """One of the good ones with one to six accidents, most of them where they matter."""
    files = {suffix: bytearray(content) for suffix, content in draw.choice(good).items()}
    other = draw.choice(good)[""]
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        content = files[draw.choice(sorted(files))]
        page = 1 << draw.choice((9, 10, 12))
        at = draw.randrange(max(1, len(content) // page)) * page
        action = draw.randrange(8)
        if action == 0:  # the file's header, but for its first words
            content[min(draw.randrange(16, HEADER), len(content) - 1)] = draw.choice(EXTREMES)
        elif action == 1:  # a page's header and its cells' places
            content[min(at + (HEADER if at == 0 else 0) + draw.randrange(24), len(content) - 1)] = draw.choice(EXTREMES)
        elif action == 2:
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        elif action == 3:  # the words of the schema
            content[HEADER + draw.randrange(page) if len(content) > HEADER + page else 0] = draw.randrange(256)
        elif action == 4:
            del content[draw.randrange(len(content)) :]
        elif action == 5:
            content[at : at + page] = other[at : at + page]
        elif action == 6:
            content[at : at + page] = draw.choice((bytes(page), b"\xff" * page, draw.randbytes(page)))
        else:
            content += content[at : at + page]
        if not content:
            content += b"S"
    return {suffix: bytes(content) for suffix, content in files.items()}


def _place(folder: Path, files: Files) -> None:
    for suffix in SUFFIXES:
        file = folder / f"app.db{suffix}"
        file.unlink(missing_ok=True)
        if suffix in files:
            file.write_bytes(files[suffix])
            os.utime(file, (1, 1))  # long settled


def _seen(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(folder.iterdir())}


def _kept(good: list[Files], seed: int, number: int) -> Path:
    kept = SAVED / f"sqlite-{seed}-{number}"
    kept.mkdir(parents=True, exist_ok=True)
    _place(kept, _mutated(random.Random(f"{seed}/{number}"), good))
    return kept


@cache
def _library() -> Loaded:
    return load_library("sqlite3mc")


def _coded(payload: bytes) -> str:
    return base64.b64encode(payload).decode()


if __name__ == "__main__":
    sys.exit(main())

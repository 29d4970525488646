"""``kill -9`` in the middle of ``PRAGMA rekey``: the database opens with exactly one of the two keys, and is whole.

From the root of the repository::

    python tests/chaos/rekey.py --count 1000

Each try copies a database, has a child encrypt it, change its key or decrypt it, and kills that child at a moment drawn
from the whole course. Then the planted marker is searched for in every file that is left, and two copies of what is
left are opened, one with the old key, one with the new: exactly one must open, with all its rows and an
``integrity_check`` that finds nothing (just before the end of a change both may, each by itself). A third copy is
opened with the wrong key first, as who does not know how far it came will do, and then with the right one: how often
that no longer opens is counted beside. Where neither key opens a file whose key was changed, its first 16 bytes, the
salt, are set back to those of before: how often the old key opens it then is counted, too.

SQLCipher changes keys only; what is plain or to be plain it exports into a new file, which then takes the old one's
place. Keys are derived in few rounds: a kill during a derivation would show nothing.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import os
import random
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MARKER = b"MARKER-REKEY-"
ROWS = 4_000
FREED = 1_000
SUFFIXES = ("", "-journal", "-wal", "-shm", ".new", ".new-journal")
SALT_BYTES = 16
CALIBRATIONS = 5
LATEST = 1.1
"""Of the usual course: so late a kill comes at the latest."""

OLD, NEW = "11" * 32, "22" * 32


@dataclass(frozen=True)
class Library:
    """A library under test: how it is opened, and what its ciphers are set by ahead of a key."""

    name: str
    ciphers: Mapping[str, tuple[str, ...]]
    connect: Callable[[str], Any]
    versions: Callable[[], str]
    raw: str = "{}"

    def open(self, path: Path, cipher: str, key: str | None) -> Any:
        """A connection; nothing has been read on it."""
        connection = self.connect(str(path))
        if key:
            self.set(connection, cipher, f"PRAGMA key={self.quoted(key)}")
        return connection

    def set(self, connection: Any, cipher: str, statement: str) -> None:
        """Run a statement with a cipher chosen ahead of it."""
        for pragma in (*self.ciphers[cipher], statement):
            connection.execute(pragma).fetchall()

    def quoted(self, key: str) -> str:
        """A key as the library takes it."""
        return f'"{self.raw.format(key)}"' if key else "''"


def _apsw(path: str) -> Any:
    return importlib.import_module("apsw").Connection(path)


def _apsw_versions() -> str:
    apsw = importlib.import_module("apsw")
    return f"{apsw.mc_version}, SQLite {apsw.sqlite_lib_version()}"


def _sqlcipher(path: str) -> Any:
    connection = importlib.import_module("sqlcipher3.dbapi2").connect(path, isolation_level=None)
    connection.execute("PRAGMA cipher_log_level=NONE")
    return connection


def _sqlcipher_versions() -> str:
    connection = _sqlcipher(":memory:")
    ((cipher,),) = connection.execute("PRAGMA cipher_version").fetchall()
    ((sqlite,),) = connection.execute("SELECT sqlite_version()").fetchall()
    return f"SQLCipher {cipher}, SQLite {sqlite}"


def _multiple_ciphers(name: str, *parameters: str) -> tuple[str, ...]:
    return (f"PRAGMA cipher='{name}'", *(f"PRAGMA {parameter}" for parameter in parameters))


LIBRARIES = {
    library.name: library
    for library in (
        Library(
            "sqlite3mc",
            {
                "aes128cbc": _multiple_ciphers("aes128cbc"),
                "aes256cbc": _multiple_ciphers("aes256cbc", "kdf_iter=1"),
                "aegis": _multiple_ciphers("aegis", "tcost=1", "mcost=64"),
                "ascon128": _multiple_ciphers("ascon128", "kdf_iter=1"),
                "chacha20": _multiple_ciphers("chacha20", "kdf_iter=1"),
                "sqlcipher": _multiple_ciphers("sqlcipher", "kdf_iter=1"),
            },
            _apsw,
            _apsw_versions,
        ),
        Library("sqlcipher", {"aes-256": ()}, _sqlcipher, _sqlcipher_versions, "x'{}'"),
    )
}

KEYS = {"encrypt": ("", NEW), "rekey": (OLD, NEW), "decrypt": (OLD, "")}
"""The key before and after; empty: plain."""

NAMES = ("old key", "new key")
WHOLE = "whole"
LOST = "neither key"
EITHER = "either key"
"""Opened with the old one it is whole under that, opened with the new one under this: a moment before the end."""


@dataclass(frozen=True)
class Case:
    """A case: a library, the operation, and the journal mode."""

    library: Library
    kind: str
    journal: str

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.library.name} {self.kind} {self.journal}"

    @property
    def is_exported(self) -> bool:
        """Whether a new file takes the old one's place."""
        return self.library.name == "sqlcipher" and self.kind != "rekey"

    def change(self, path: Path, cipher: str, began: Callable[[], None]) -> None:
        """Do it, on a connection that is ready before ``began`` is called."""
        old, new = KEYS[self.kind]
        connection = self.library.open(path, cipher, old)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        began()
        if self.is_exported:
            target = path.with_name(f"{path.name}.new")
            connection.execute(f"ATTACH DATABASE '{target}' AS target KEY {self.library.quoted(new)}")
            connection.execute("SELECT sqlcipher_export('target')").fetchall()
            connection.close()
            target.replace(path)
        else:
            self.library.set(connection, cipher, f"PRAGMA rekey={self.library.quoted(new)}")
            connection.close()


@dataclass
class Found:
    """The results of one case, in numbers of tries.

    Attributes:
        outcomes: by the key that opens what is left.
        lost: those that no key opens whole, by cipher; of the first ``example`` and ``said``.
        rescued: of the lost those that the old key opens once the old salt is back.
        misled: those that the right key no longer opened once the wrong one had been tried, by cipher and right key.
        clear: by file that held the marker after the kill.
        clear_opened: the same once a key had opened it.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    example: str = ""
    said: str = ""
    rescued: int = 0
    misled: Counter[str] = field(default_factory=Counter)
    clear: Counter[str] = field(default_factory=Counter)
    clear_opened: Counter[str] = field(default_factory=Counter)


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill, look, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="tries for each library, kind and journal mode")
    parser.add_argument("--from", dest="first", type=int, default=0, help="number of the first try")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--library", choices=LIBRARIES, action="append")
    parser.add_argument("--kind", choices=KEYS, action="append")
    parser.add_argument("--journal", choices=("delete", "wal"), action="append")
    asked = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(10**9) if asked.seed is None else asked.seed
    print(f"seed {seed}, tries {asked.first} to {asked.first + asked.count - 1} of each", flush=True)
    code = 0
    for name in asked.library or LIBRARIES:
        library = LIBRARIES[name]
        print(library.versions(), flush=True)
        for kind, journal in itertools.product(asked.kind or KEYS, asked.journal or ("delete", "wal")):
            numbers = range(asked.first, asked.first + asked.count)
            code = max(code, _campaign(Case(library, kind, journal), seed, numbers))
    return code


def _campaign(case: Case, seed: int, numbers: range) -> int:
    found = Found()
    with tempfile.TemporaryDirectory() as folder:
        made = {cipher: _made(case, cipher, Path(folder)) for cipher in case.library.ciphers}
        if refused := _refused(case, made):
            print(f"{case.name}: the library refuses: {refused}", flush=True)
            return 0
        usual = {cipher: _usual_seconds(case, cipher, path) for cipher, path in made.items()}
        for number in numbers:
            draw = random.Random(f"{seed}/{case.name}/{number}")
            cipher = draw.choice(list(made))
            place = Path(folder) / "try"
            place.mkdir()
            path = _copied(made[cipher], place / "a.db")
            seconds = draw.uniform(0.0, LATEST * usual[cipher])
            outcome = _try(case, cipher, path, seconds, found)
            found.outcomes[outcome] += 1
            if outcome == LOST:
                found.lost[cipher] += 1
                found.example = found.example or f"try {number}, {cipher}, killed after {seconds * 1e3:.1f} ms"
            shutil.rmtree(place)
    return _report(case, found)


def _report(case: Case, found: Found) -> int:
    tried, lost = found.outcomes.total(), found.outcomes[LOST]
    print(f"{case.name}: tried {tried}, survived {tried - lost} ({_counts(found.outcomes)})")
    if lost:
        print(f"  {LOST}: {_counts(found.lost)}; the first: {found.example}: {found.said}")
        print(f"  of these the old key opens once the old salt is back: {found.rescued}")
    print(f"  no longer opened by the right key after the wrong one was tried: {_counts(found.misled)}")
    print(
        f"  in the clear after the kill: {_counts(found.clear)}; once opened: {_counts(found.clear_opened)}", flush=True
    )
    return 1 if lost else 0


def _counts(counted: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counted.items())) or "nothing"


def _made(case: Case, cipher: str, folder: Path) -> Path:
    """A database to be copied: rows of which each has the marker, and free pages that still hold some of it."""
    path = folder / f"{cipher}.db"
    connection = case.library.open(path, cipher, KEYS[case.kind][0])
    for statement in (
        "PRAGMA secure_delete=OFF",
        f"PRAGMA journal_mode={case.journal}",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT NOT NULL)",
        "CREATE INDEX i ON t (substr(v, 1, 20))",
        f"WITH RECURSIVE n (id) AS (VALUES (1) UNION ALL SELECT id + 1 FROM n WHERE id < {ROWS + FREED})"
        f" INSERT INTO t SELECT id, '{MARKER.decode()}' || id || hex(randomblob(200)) FROM n",
        f"DELETE FROM t WHERE id > {ROWS}",
    ):
        connection.execute(statement).fetchall()
    connection.close()
    return path


def _copied(made: Path, path: Path) -> Path:
    for suffix in SUFFIXES:
        source = made.with_name(made.name + suffix)
        if source.exists():
            shutil.copyfile(source, path.with_name(path.name + suffix))
    return path


def _refused(case: Case, made: Mapping[str, Path]) -> str:
    """The library's refusal; empty where it does it."""
    cipher, path = next(iter(made.items()))
    with tempfile.TemporaryDirectory() as place:
        return str(_in_a_child(lambda: _said(case, cipher, _copied(path, Path(place) / "a.db"))))


def _said(case: Case, cipher: str, path: Path) -> str:
    try:
        case.change(path, cipher, lambda: None)
    except Exception as error:
        return str(error)
    return ""


def _usual_seconds(case: Case, cipher: str, made: Path) -> float:
    """The median of a few whole courses."""
    took = []
    for _ in range(CALIBRATIONS):
        with tempfile.TemporaryDirectory() as place:
            child, reading = _changing(case, cipher, _copied(made, Path(place) / "a.db"))
            began = time.monotonic()
            os.waitpid(child, 0)
            took.append(time.monotonic() - began)
            os.close(reading)
    return statistics.median(took)


def _changing(case: Case, cipher: str, path: Path) -> tuple[int, int]:
    """A child that has begun; its process and a pipe."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            case.change(path, cipher, lambda: bool(os.write(writing, b"b")))
        finally:
            os._exit(0)
    os.close(writing)
    os.read(reading, 1)
    return child, reading


def _try(case: Case, cipher: str, path: Path, seconds: float, found: Found) -> str:
    """One try; which key opens it, or what is wrong."""
    salt = path.read_bytes()[:SALT_BYTES]
    child, reading = _changing(case, cipher, path)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)
    found.clear.update(_holding(path))
    states = {}
    for name in NAMES:
        alone = _copied(path, path.with_name(f"{name}.db"))
        states[name] = _opened(case, cipher, alone, name)
        if states[name] == WHOLE:
            found.clear_opened.update(f"{held}, {name}" for held in _holding(alone))
    opening = [name for name in NAMES if states[name] == WHOLE]
    if not opening:
        found.said = found.said or "; ".join(f"{name}: {states[name]}" for name in NAMES)
        found.rescued += _opens_with_its_salt(case, cipher, path, salt)
        return LOST
    if len(opening) > 1:
        return EITHER
    (right,) = opening
    (wrong,) = set(NAMES) - {right}
    _opened(case, cipher, path, wrong)
    after = _opened(case, cipher, path, right)
    if after != WHOLE:
        found.misled[f"{cipher}, {right}"] += 1
    return right


def _opens_with_its_salt(case: Case, cipher: str, path: Path, salt: bytes) -> bool:
    with path.open("r+b") as file:
        file.write(salt)
    return _opened(case, cipher, path, NAMES[0]) == WHOLE


def _holding(path: Path) -> Iterator[str]:
    """Which of the files hold the marker."""
    for suffix in SUFFIXES:
        file = path.with_name(path.name + suffix)
        if file.exists() and MARKER in file.read_bytes():
            yield {"": "database", "-journal": "journal", "-wal": "wal"}.get(suffix, suffix)


def _opened(case: Case, cipher: str, path: Path, name: str) -> str:
    """The result of opening it with one of the keys, in a separate process, as after a crash."""
    key = dict(zip(NAMES, KEYS[case.kind], strict=True))[name]
    return _in_a_child(lambda: _state(case.library, path, cipher, key))


def _state(library: Library, path: Path, cipher: str, key: str) -> str:
    """``whole``, or what is wrong."""
    try:
        connection = library.open(path, cipher, key)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except Exception as error:
        return f"does not open ({error})"
    try:
        ((rows, ids),) = connection.execute("SELECT count(*), sum(id) FROM t").fetchall()
        checked = connection.execute("PRAGMA integrity_check").fetchall()
        connection.close()
    except Exception as error:
        return f"damaged ({error})"
    is_whole = (rows, ids) == (ROWS, ROWS * (ROWS + 1) // 2) and [tuple(row) for row in checked] == [("ok",)]
    return WHOLE if is_whole else f"damaged ({rows} rows, {checked[0][0]})"


def _in_a_child(work: Callable[[], str]) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    answer: str = json.loads(said or b'"the child died"')
    return answer


if __name__ == "__main__":
    sys.exit(main())

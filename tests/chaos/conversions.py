"""``kill -9`` while a server's data are being encrypted: nothing is lost, and what the server then says of it is so.

From the root of the repository::

    python tests/chaos/conversions.py --tries 40

Each try copies a loaded plain server, begins to encrypt it as ``during=encrypt`` does (on MariaDB ``during=alter`` as
well) while a client inserts rows, and kills it at a moment drawn from the whole course; of a base backup either the
server that it is taken from or the backup itself. Then:

- the server is started again, as it was started before: every row must be there, those that were committed during
  the conversion as well, and ``CHECK TABLE`` find nothing (MySQL family);
- what its catalogue says of the table is compared with what a search of the files finds after a clean stop: a table
  that is said to be encrypted must not show its rows;
- the conversion is done again, and must come to its end.

A base backup that was killed must not start as a database that lacks rows, and its storage must show none in the clear.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from counting import Tally

from tdelta.engines.mariadb.driver import EVIDENCE as OF_MARIADB
from tdelta.engines.mariadb.driver import MariaDb
from tdelta.engines.mysql.driver import EVIDENCE as OF_MYSQL
from tdelta.engines.mysql.driver import MySql
from tdelta.engines.postgres.driver import gocryptfs_program
from tdelta.engines.postgres.server import EVIDENCE as OF_POSTGRES
from tdelta.engines.postgres.server import Postgres
from tdelta.engines.postgres.storage import Gocryptfs
from tdelta.engines.server.base import DATABASE, ServerBinary, ServerSettings, recipe_of
from tdelta.engines.server.evidence import ServerEvidence, ServerFiles
from tdelta.engines.server.installed import find_servers
from tdelta.engines.server.sessions import Session, admin_session
from tdelta.errors import TdeltaError
from tdelta.evidence import FileClass, search
from tdelta.processes import process_tree as tree
from tdelta.processes.servers.copies import copy_data
from tdelta.processes.servers.recipes import Command, Recipe, place_for
from tdelta.processes.servers.server import Server

Engine = MariaDb | MySql | Postgres

MARKER = "MARKER-CONVERSION-"
ROWS = 40_000
PLAIN = ServerSettings("none", connections=8, cache_bytes=32 << 20, becomes="aes-256")
ENCRYPTED = ServerSettings("aes-256", "all", connections=8, cache_bytes=32 << 20)
KEY = "00112233445566778899aabbccddeeff" * 2
LATEST = 1.1
"""Of the usual course: so late a kill comes at the latest."""

CALIBRATIONS = 2
PATIENCE_SECONDS = 300.0
LOOK_AGAIN_SECONDS = 0.02


@dataclass(frozen=True)
class Kind:
    """One way to convert a server's table, in statements.

    Attributes:
        name: what it is called here.
        engine: makes the engine of a program.
        program: its program's kind.
        evidence: which file is what.
        fill: statements that make the table.
        begin: statements that begin it; the last may take as long as it takes.
        is_done: a query that says 1 once it has ended; empty: it has when ``begin`` returns.
        says: a query whose answer is 1 where the catalogue has the table encrypted.
        whole: queries by which each row is counted and each page read, with what they must answer.
    """

    name: str
    engine: Callable[[ServerBinary], Engine]
    program: str
    evidence: ServerEvidence
    fill: tuple[str, ...]
    begin: tuple[str, ...]
    is_done: str
    says: str
    whole: Mapping[str, str]


@dataclass
class Found:
    """The results of one kind, in numbers of tries: the server's words, and where rows lay in the clear."""

    tally: Tally = field(default_factory=Tally)
    clear: Counter[str] = field(default_factory=Counter)
    ended: int = 0
    partly: int = 0
    unnamed: int = 0
    rows: int = 0


_SUM = ROWS * (ROWS + 1) // 2
_COUNTED = {f"SELECT CONCAT(COUNT(*), ' ', SUM(id)) FROM t WHERE v LIKE '{MARKER}%'": f"{ROWS} {_SUM}"}
_MYSQL_TABLES = (
    "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(200) NOT NULL, KEY i (v(30)))",
    "CREATE TABLE kept (id INT PRIMARY KEY)",
)
_VALUE = f"CONCAT('{MARKER}', {{n}}, REPEAT('x', 150))"
_CHECKED = {**_COUNTED, "CHECK TABLE t": "OK", "CHECK TABLE kept": "OK"}
_MARIADB_FILL = (
    *_MYSQL_TABLES,
    f"INSERT INTO t SELECT seq, {_VALUE.format(n='seq')} FROM seq_1_to_{ROWS}",
)
_MYSQL_FILL = (
    *_MYSQL_TABLES,
    f"SET SESSION cte_max_recursion_depth = {ROWS}",
    f"INSERT INTO t WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {ROWS})"
    f" SELECT n, {_VALUE.format(n='n')} FROM s",
)
_MARIADB_SAYS = (
    "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION"
    f" WHERE NAME = '{DATABASE}/t' AND MIN_KEY_VERSION > 0"
)
_MARIADB_TABLESPACES = "information_schema.INNODB_TABLESPACES_ENCRYPTION"
KINDS = (
    Kind(
        "mariadb background",
        MariaDb,
        "mariadb",
        OF_MARIADB,
        _MARIADB_FILL,
        ("SET GLOBAL innodb_encryption_threads = 4", "SET GLOBAL innodb_encrypt_tables = ON"),
        f"SELECT (SELECT COUNT(*) FROM {_MARIADB_TABLESPACES} WHERE MIN_KEY_VERSION > 0) >= (SELECT COUNT(*)"
        " FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME <> 'innodb_temporary') AND (SELECT COUNT(*)"
        f" FROM {_MARIADB_TABLESPACES} WHERE ROTATING_OR_FLUSHING = 1) = 0",
        _MARIADB_SAYS,
        _CHECKED,
    ),
    Kind(
        "mariadb alter",
        MariaDb,
        "mariadb",
        OF_MARIADB,
        _MARIADB_FILL,
        ("ALTER TABLE t ENCRYPTED = YES",),
        "",
        _MARIADB_SAYS,
        _CHECKED,
    ),
    Kind(
        "mysql alter",
        MySql,
        "mysql",
        OF_MYSQL,
        _MYSQL_FILL,
        ("ALTER TABLE t ENCRYPTION = 'Y'",),
        "",
        f"SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES WHERE NAME = '{DATABASE}/t' AND ENCRYPTION = 'Y'",
        _CHECKED,
    ),
)
BACKUP = "postgres base backup"
_POSTGRES_FILL = (
    "CREATE TABLE t (id int PRIMARY KEY, v text NOT NULL)",
    "CREATE TABLE kept (id int PRIMARY KEY)",
    f"INSERT INTO t SELECT n, '{MARKER}' || n || repeat('x', 150) FROM generate_series(1, {ROWS}) AS n",
)
_SLOTS = "SELECT count(*) FROM pg_replication_slots"


class Wrong(Exception):
    """Something was lost, or said that is not so."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill, look, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = (*(kind.name for kind in KINDS), BACKUP)
    parser.add_argument("--from", dest="first", type=int, default=0, help="number of the first try")
    parser.add_argument("--count", "--tries", type=int, default=40, help="tries of each kind")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--kind", choices=names, action="append")
    asked = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(10**9) if asked.seed is None else asked.seed
    print(f"seed {seed}, tries {asked.first} to {asked.first + asked.count - 1} of each", flush=True)
    numbers, code = range(asked.first, asked.first + asked.count), 0
    for name in asked.kind or names:
        with tempfile.TemporaryDirectory(prefix="tdc") as folder:
            kind = next((one for one in KINDS if one.name == name), None)
            place = Path(folder)
            tried = _backups(place, seed, numbers) if kind is None else _tables(kind, place, seed, numbers)
            code = max(code, tried)
    return code


def _tables(kind: Kind, folder: Path, seed: int, numbers: range) -> int:
    """Tries of one kind; the exit code."""
    binary = find_servers(kind.program)[0]
    engine, found = kind.engine(binary), Found()
    print(f"{kind.name}: {binary.version}", flush=True)
    with _loaded(engine, folder / "m", kind.fill) as made:
        usual = statistics.median(_usual_seconds(kind, engine, made, folder) for _ in range(CALIBRATIONS))
        print(f"  usually {usual:.2f} s", flush=True)
        full = _shown(made)
        for number in numbers:
            draw = random.Random(f"{seed}/{kind.name}/{number}")
            seconds = draw.uniform(0.0, LATEST * usual)
            with _copied(engine, made, folder / "t") as server:
                try:
                    found.tally.outcomes[_try(kind, server, seconds, found, full)] += 1
                except (TdeltaError, Wrong) as error:
                    found.tally.failures.append(f"try {number}, killed after {seconds:.2f} s: {error}")
            found.tally.left_over += len(list(folder.glob("t*")))
    return _report(kind.name, found)


def _report(name: str, found: Found) -> int:
    clear = ", ".join(f"{where} {count}" for where, count in sorted(found.clear.items())) or "nowhere"
    print(f"  rows in the clear: {clear}")
    print(f"  ended before the kill: {found.ended}; tables of which a part is encrypted: {found.partly}")
    print(f"  half-made tables left after a start: {found.unnamed}")
    print(f"  rows committed meanwhile: {found.rows}, none lost" if not found.tally.failures else "  see failures")
    return found.tally.report(name)


@contextlib.contextmanager
def _loaded(engine: Engine, folder: Path, fill: Sequence[str]) -> Iterator[Server]:
    """A plain server with its rows, stopped."""
    with Server(_recipe(engine, folder, dataclasses.replace(PLAIN, is_loading=True))) as server:
        server.start(initialize=True)
        with _asking(server, engine.admin_database) as asking:
            for statement in engine.schema_sql(PLAIN):
                asking.run(statement)
        with _asking(server) as asking:
            for statement in (*fill, *engine.after_load_sql(PLAIN, ["t", "kept"])):
                asking.run(statement)
        server.stop()
        yield server


@contextlib.contextmanager
def _copied(engine: Engine, made: Server, folder: Path) -> Iterator[Server]:
    """Another with the same rows, started."""
    with Server(_recipe(engine, folder, PLAIN)) as server:
        copy_data(made.recipe, server.recipe)
        server.start()
        yield server


def _recipe(engine: Engine, folder: Path, settings: ServerSettings) -> Recipe:
    name = engine.socket_name if isinstance(engine, Postgres) else None
    return recipe_of(engine, place_for(folder, name) if name else place_for(folder), settings, KEY)


@contextlib.contextmanager
def _asking(server: Server, database: str = DATABASE) -> Iterator[Session]:
    asking = admin_session({**server.recipe.connect, "database": database})
    try:
        yield asking
    finally:
        asking.close()


class Working:
    """A client that inserts rows one by one, each a commit, until the server is gone."""

    def __init__(self, server: Server) -> None:
        self.acknowledged = 0
        self._session = admin_session({**server.recipe.connect, "database": DATABASE})
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        with contextlib.suppress(TdeltaError):
            while not self._is_over.is_set():
                self._session.run(f"INSERT INTO kept VALUES ({self.acknowledged + 1})")
                self.acknowledged += 1

    def end(self) -> int:
        """How many were acknowledged."""
        self._is_over.set()
        self._thread.join(PATIENCE_SECONDS)
        self._session.close()
        return self.acknowledged


def _convert(kind: Kind, server: Server) -> None:
    """From the beginning to the end.

    Raises:
        TdeltaError: the server is gone, or refuses.
    """
    with _asking(server) as asking:
        for statement in kind.begin:
            asking.run(statement)
        give_up = time.monotonic() + PATIENCE_SECONDS
        while kind.is_done and asking.rows(kind.is_done)[1][0][0] != "1":
            if time.monotonic() > give_up:
                raise Wrong("the conversion does not end")
            time.sleep(LOOK_AGAIN_SECONDS)


def _usual_seconds(kind: Kind, engine: Engine, made: Server, folder: Path) -> float:
    with _copied(engine, made, folder / "u") as server:
        working, began = Working(server), time.monotonic()
        _convert(kind, server)
        took = time.monotonic() - began
        working.end()
    return took


def _try(kind: Kind, server: Server, seconds: float, found: Found, full: int) -> str:
    """One try: what the server says after it. ``full`` is how often a plain table's file has the marker.

    Raises:
        Wrong: something was lost, or is not as the server says.
    """
    acknowledged = _killed(server, seconds, lambda: _convert(kind, server), found)
    at_kill = _in_clear(kind.evidence, server)
    found.clear.update(f"{where}, after the kill" for where in at_kill)
    server.start()
    said = _check(kind, server, acknowledged)
    server.stop()
    found.unnamed += any(server.recipe.place.data.rglob("#sql*.ibd"))
    found.partly += 0 < _shown(server) < full
    at_rest = _in_clear(kind.evidence, server)
    found.clear.update(f"{where}, {said}" for where in at_rest)
    if said == "encrypted" and FileClass.TABLES.value in at_rest:
        raise Wrong("the table is said to be encrypted and shows its rows")
    server.start()
    _convert(kind, server)
    if (after := _check(kind, server, acknowledged)) != "encrypted":
        raise Wrong(f"done again, it is {after}")
    server.stop()
    if FileClass.TABLES.value in _in_clear(kind.evidence, server):
        raise Wrong("done again, rows are in the clear")
    return said


def _killed(server: Server, seconds: float, work: Callable[[], None], found: Found) -> int:
    """Kill a server so many seconds after the work has begun. Returns how many rows were committed beside it."""
    working, ended = Working(server), threading.Event()

    def worked() -> None:
        with contextlib.suppress(TdeltaError):
            work()
            ended.set()

    thread = threading.Thread(target=worked, daemon=True)
    thread.start()
    time.sleep(seconds)
    found.ended += ended.is_set()
    server.kill()
    thread.join(PATIENCE_SECONDS)
    acknowledged = working.end()
    found.rows += acknowledged
    return acknowledged


def _check(kind: Kind, server: Server, acknowledged: int) -> str:
    """Whether the catalogue has the table encrypted.

    Raises:
        Wrong: rows are missing, or a page is damaged.
    """
    with _asking(server) as asking:
        for query, wanted in kind.whole.items():
            if (answer := asking.rows(query)[1][-1][-1]) != wanted:
                raise Wrong(f"{query}: {answer} and not {wanted}")
        _check_kept(asking, acknowledged)
        return "encrypted" if asking.rows(kind.says)[1][0][0] == "1" else "plain"


def _check_kept(asking: Session, acknowledged: int) -> None:
    ((kept,),) = asking.rows("SELECT COUNT(*) FROM kept")[1]
    if int(kept or 0) < acknowledged:
        raise Wrong(f"{acknowledged} rows were committed, {kept} are there")


def _shown(server: Server) -> int:
    """How often the table's file has the marker."""
    return (server.recipe.place.data / DATABASE / "t.ibd").read_bytes().count(MARKER.encode())


def _in_clear(evidence: ServerEvidence, server: Server) -> set[str]:
    """The classes of a stopped server's files that show the rows."""
    files = ServerFiles(evidence.files, server.recipe.place, tuple, server.recipe.mount).stored()
    return {one.file_class.value for one in search(files, [MARKER.encode()]) if one.markers_found}


def _backups(folder: Path, seed: int, numbers: range) -> int:
    """Tries of base backups; the exit code."""
    binary = find_servers("postgres")[0]
    engine, found = Gocryptfs(binary, gocryptfs_program()), Found()
    print(f"{BACKUP}: {binary.version}", flush=True)
    with _loaded(engine, folder / "m", _POSTGRES_FILL) as made:
        with _copied(engine, made, folder / "s") as source, _target(engine, source, folder / "t") as target:
            began = time.monotonic()
            target.initialize(seconds=PATIENCE_SECONDS)
            usual = time.monotonic() - began
        print(f"  usually {usual:.2f} s", flush=True)
        for number in numbers:
            draw = random.Random(f"{seed}/{BACKUP}/{number}")
            seconds, is_source = draw.uniform(0.0, LATEST * usual), draw.random() < 0.5
            with _copied(engine, made, folder / "s") as source, _target(engine, source, folder / "t") as target:
                try:
                    outcome = _try_backup(source, target, seconds, is_source=is_source, found=found)
                    found.tally.outcomes[outcome] += 1
                    with _target(engine, source, folder / "a") as again:
                        _again(again)
                except (TdeltaError, Wrong) as error:
                    found.tally.failures.append(f"try {number}, killed after {seconds:.2f} s: {error}")
            found.tally.left_over += len([*folder.glob("s*"), *folder.glob("t*"), *folder.glob("a*")])
    return _report(BACKUP, found)


@contextlib.contextmanager
def _target(engine: Postgres, source: Server, folder: Path) -> Iterator[Server]:
    """Encrypted storage into which a base backup of another server is to be made."""
    recipe = _recipe(engine, folder, ENCRYPTED)
    program = Path(source.recipe.serve.argv[0]).with_name("pg_basebackup")
    socket, user = source.recipe.place.socket, source.recipe.connect["user"]
    address = (f"--host={socket.parent}", f"--port={socket.suffix.removeprefix('.')}", f"--username={user}")
    how = ("--checkpoint=fast", "--wal-method=stream", "--no-password")
    backup = Command((str(program), f"--pgdata={recipe.place.data}", *address, *how), as_user=True)
    with Server(dataclasses.replace(recipe, initialize=(backup,))) as server:
        yield server


def _try_backup(source: Server, target: Server, seconds: float, *, is_source: bool, found: Found) -> str:
    """One try: what became of the copy."""
    working, ended = Working(source), threading.Event()

    def worked() -> None:
        with contextlib.suppress(TdeltaError):
            target.initialize(seconds=PATIENCE_SECONDS)
            ended.set()

    thread = threading.Thread(target=worked, daemon=True)
    thread.start()
    time.sleep(seconds)
    found.ended += ended.is_set()
    if is_source:
        source.kill()
    else:
        for pid in tree.living(target.supervisor_pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    thread.join(PATIENCE_SECONDS)
    acknowledged = working.end()
    found.rows += acknowledged
    found.clear.update(f"{where} of the copy" for where in _in_clear(OF_POSTGRES, target))
    if is_source:
        found.clear.update(f"{where} of the plain server" for where in _in_clear(OF_POSTGRES, source))
        source.start()
    _check_backup(source, acknowledged)
    what = "the server" if is_source else "the backup"
    return f"{what} killed, the copy {_started(target)}"


def _check_backup(server: Server, acknowledged: int) -> None:
    with _asking(server) as asking:
        ((rows, ids),) = asking.rows("SELECT count(*), sum(id) FROM t")[1]
        if (rows, ids) != (str(ROWS), str(_SUM)):
            raise Wrong(f"{rows} rows, which add up to {ids}")
        _check_kept(asking, acknowledged)
        if asking.rows(_SLOTS)[1][0][0] != "0":
            raise Wrong("a replication slot is left, which keeps the log")


def _started(target: Server) -> str:
    """Whether the copy starts.

    Raises:
        Wrong: it does, and is not whole.
    """
    try:
        target.start()
    except TdeltaError:
        return "does not start"
    _check_backup(target, 0)
    return "is whole"


def _again(target: Server) -> None:
    target.initialize(seconds=PATIENCE_SECONDS)
    target.start()
    _check_backup(target, 0)


if __name__ == "__main__":
    sys.exit(main())

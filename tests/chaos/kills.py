"""``kill -9`` of tdelta at random moments: no finished trial is lost, and nothing is left that should not be.

From the root of the repository::

    python tests/chaos/kills.py --count 300

Each try takes a shape of run (generated rows, a database of the user's, a private server of each engine that is here,
two servers of the user's of each, conversions, changes of keys, backups, restores and replicas of three engines,
which are killed within their trials; ``--shapes mysql,dsn-mysql,mariadb/work=backup`` takes only those), begins it,
kills it with SIGKILL, and looks at what is there afterwards: processes, mounts, folders, the run's schemas on servers
of the user's, and the store. Half of the kills fall at a moment drawn from the whole course of a run, half within 50
ms after a trial was promised. A trial is promised once `Store.add_trial` has returned, which it does after its syncs:
the run then appends a line to a file, by one write and with the time, so that what was promised up to the kill is
known. Nothing else on servers of the user's may have changed. Every fourth run that was killed within an action is
resumed, to its answer.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "live"))

from counting import MOST_FAILURES, Tally, asked
from mariadb import own as mariadb
from mysql import own as mysql
from postgres import own as postgres

from support.own_engines import PASSWORD
from support.running import Place, private_servers, read_until
from support.runs import ServerPlace, processes_at
from tdelta.engines import registry
from tdelta.engines.server.installed import find_servers
from tdelta.engines.server.sessions import asking
from tdelta.errors import EngineUnavailable
from tdelta.processes.mounts import mounts_below

LONGEST_SECONDS = {"embedded": 12.0, "database": 12.0}
LONGEST_WITH_SERVERS_SECONDS = 25.0
LONGEST_IN_TRIALS_SECONDS = 5.0
LEFT_SECONDS = 5.0
"""How long what is on its way to its end may take; how long it took is printed."""
LOOKED_FOR_SECONDS = 60.0
"""Anything left by then is left for good."""
LAST_NS = 50_000_000
"""How shortly before a kill a promise may be to be one of the last."""
MOST_PROMISES = 10
"""Of these one is drawn to be killed after."""

ACTIONS = {
    "sqlite": ("work=encrypt", "work=rekey", "work=decrypt", "work=backup", "work=restore"),
    "mariadb": (
        "during=encrypt",
        "during=rekey",
        "during=backup",
        "work=backup",
        "work=restore",
        "replication=none",
    ),
    "postgres": ("during=encrypt", "during=backup", "work=backup", "work=restore", "replication=none"),
}
"""Levels whose trials are killed within."""

FIRST_TRIAL = "round 1: "
RESUMED_EACH = 4
ANSWERED = (0, 3, 4)

VARIABLE = "KILLS_PASSWORD"
MARKS = "KILLS_MARKS"
MARKED = f"""import os
import time
from tdelta.store import Store

marks = os.open(os.environ["{MARKS}"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
add = Store.add_trial

def add_trial(store, run_id, trial):
    add(store, run_id, trial)
    began_ns = time.monotonic_ns() - int((time.time() - trial.started_unix_seconds) * 1e9)
    of = (trial.block, trial.position, trial.instance, trial.measurement.elapsed_ns)
    os.write(marks, (" ".join(map(str, (time.monotonic_ns(), began_ns, *of))) + chr(10)).encode())

Store.add_trial = add_trial
from tdelta.cli.main import main
main()
"""
"""A tdelta that marks what its store has promised."""

BRIEF = ("--workload", "order-entry", "--size", "2MB", "--trial-time", "0.1s", "--blocks", "2", "--rounds", "3..3")
ROWS = 2000
SERVERS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "mariadb": (mariadb, ()),
    "mysql": (mysql, ()),
    "postgres": (postgres, ("--assume-encrypted",)),
}
"""Stand-ins for the user's servers, and their options."""


@dataclass(frozen=True)
class Shape:
    """A kind of run: its options, and what must be as it was before."""

    name: str
    options: tuple[str, ...]
    engine: str = ""
    program: Path = Path()
    is_action: bool = False
    """Whether it is killed within its trials."""

    schemas: Callable[[], list[str]] = list
    """The schemas of runs that are on servers of the user's."""

    others: Callable[[], object] = lambda: None
    """Other leftovers. Schemas of runs that were left are dropped, so that the next try finds none."""

    def place(self, base: Path) -> Place:
        """Where it has store and cache."""
        base.mkdir()
        return ServerPlace(base, self.engine, self.program)

    @property
    def longest_seconds(self) -> float:
        """How late it may be killed."""
        return LONGEST_SECONDS.get(self.name, LONGEST_WITH_SERVERS_SECONDS)


@dataclass(frozen=True)
class Promise:
    """A trial that the store has promised, when, and when its block began."""

    at_ns: int
    began_ns: int
    trial: tuple[int, int, str, int]


@dataclass
class Seen:
    """Measurements over all kills."""

    ended_seconds: list[float] = field(default_factory=list)
    folders_seconds: list[float] = field(default_factory=list)
    schemas_seconds: list[float] = field(default_factory=list)
    loads: list[float] = field(default_factory=list)
    promised: int = 0
    promised_last: int = 0
    kills_after_promises: int = 0

    def report(self) -> None:
        """Print it."""
        print(
            f"{self.promised} trials were promised, {self.promised_last} of them in the last {LAST_NS // 1_000_000} ms"
            f" before their run was killed ({self.kills_after_promises} kills)"
        )
        for what, seconds in (
            ("folders were gone", self.folders_seconds),
            ("schemas were gone", self.schemas_seconds),
            ("all was gone", self.ended_seconds),
        ):
            if seconds:
                median, most = statistics.median(seconds), max(seconds)
                print(f"{what} after {median:.2f} s (median of {len(seconds)}), {most:.2f} s (slowest)")
        if self.loads:
            print(f"load average {min(self.loads):.1f} to {max(self.loads):.1f} on {os.cpu_count()} CPUs")


def main() -> int:
    """Kill, look, count."""
    ask = asked(__doc__ or "", 300, kinds="shapes")
    tally, seen = Tally(), Seen()
    tried: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        shapes = {shape.name: partial(lambda found: found, shape) for shape in own_shapes(Path(folder))}
        for engine in (engine for engine, (module, _) in SERVERS.items() if module.programs()):
            shapes[f"dsn-{engine}"] = cache(partial(_external, engine, Path(folder) / f"own-{engine}", stack))
        if unknown := set(ask.chosen) - shapes.keys():
            sys.exit(f"expected shapes of {', '.join(shapes)}, found {', '.join(sorted(unknown))}")
        names = [name for name in shapes if name in (ask.chosen or shapes)]
        print("shapes:", ", ".join(names), flush=True)
        with contextlib.suppress(KeyboardInterrupt):  # what was tried by then is printed
            for number in ask.numbers:
                shape = shapes[names[number % len(names)]]()
                place = shape.place(Path(folder) / f"try-{number}")
                try:
                    outcome = _try(shape, place, random.Random(f"{ask.seed}/{number}"), tally, seen)
                    tally.outcomes[outcome] += 1
                    print(f"{number} {shape.name}: {outcome}", flush=True)
                except AssertionError as failure:
                    tally.failures.append(f"{number} {shape.name}: {failure}")
                    print(tally.failures[-1], flush=True)
                finally:
                    clear(place)
                tried[shape.name] += 1
                if len(tally.failures) >= MOST_FAILURES:
                    break
    print(", ".join(f"{name} {count}" for name, count in tried.items()))
    seen.report()
    return tally.report("kills")


def _try(shape: Shape, place: Place, draw: random.Random, tally: Tally, seen: Seen) -> str:
    """The outcome of one try.

    Raises:
        AssertionError: something was lost, or left.
    """
    before = shape.others()
    process = start(shape, place)
    if shape.is_action:
        read_until(process, FIRST_TRIAL)
    killed_ns = _kill(
        process, marks_of(place), draw, LONGEST_IN_TRIALS_SECONDS if shape.is_action else shape.longest_seconds
    )
    is_killed = process.returncode == -signal.SIGKILL
    late = ""
    if is_killed:
        late = _watch_the_end(shape, place, killed_ns, tally, seen)
    process.communicate()
    promised, found = promises(place), _stored(place)
    assert found[: len(promised)] == [p.trial for p in promised], f"{len(promised)} promised, {len(found)} stored"
    assert len(found) <= len(promised) + 1, f"{len(found)} are stored, {len(promised)} promised"
    left = shape.schemas()
    assert shape.others() == before, "something else on a server of the user's has changed"
    assert not late, late
    if not is_killed:
        assert not left, f"schemas of a run that has ended: {left}"
        require_nothing_left(place, tally)
        return "ended before the kill"
    last = sum(killed_ns - p.at_ns <= LAST_NS for p in promised)
    seen.promised += len(promised)
    seen.promised_last += last
    seen.kills_after_promises += last > 0
    if shape.is_action and draw.randrange(RESUMED_EACH) == 0:
        resumed = place.tdelta("run", "--resume", "last")
        assert resumed.code in ANSWERED, f"resumed: {resumed.code}: {resumed.err[-300:]}"
        assert _stored(place)[: len(found)] == found, "the resumed run lost a trial"
        require_nothing_left(place, tally)
        return "killed, and resumed to its answer"
    return "killed"


def start(shape: Shape, place: Place) -> subprocess.Popen[str]:
    """A run of this shape that marks its promises."""
    os.environ[MARKS] = str(marks_of(place))
    return place.start("run", *shape.options, "--max-time", "300s", program=MARKED)


def marks_of(place: Place) -> Path:
    """Where a run in this place marks what its store has promised."""
    return place.base / "marks"


def promises(place: Place) -> list[Promise]:
    """Promises about this place, in order."""
    marks = marks_of(place)
    lines = marks.read_text().rpartition("\n")[0].splitlines() if marks.exists() else []
    fields = (line.split() for line in lines)
    return [
        Promise(int(ns), int(began), (int(block), int(at), twin, int(took)))
        for ns, began, block, at, twin, took in fields
    ]


def _kill(process: subprocess.Popen[str], marks: Path, draw: random.Random, longest_seconds: float) -> int:
    """Kill it at a moment that is drawn, and no later than that; when it was, monotonic ns."""
    moment = time.monotonic() + draw.uniform(0.0, longest_seconds)
    if draw.random() < 0.5:
        wanted, moment = draw.randrange(1, MOST_PROMISES + 1), time.monotonic() + 2 * longest_seconds
        while process.poll() is None and time.monotonic() < moment:
            if marks.exists() and marks.read_bytes().count(b"\n") >= wanted:
                moment = time.monotonic() + draw.uniform(0.0, LAST_NS / 1e9)
                break
            time.sleep(0.001)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, moment - time.monotonic()))
    killed_ns = time.monotonic_ns()
    process.send_signal(signal.SIGKILL)
    process.wait()
    return killed_ns


def _watch_the_end(shape: Shape, place: Place, killed_ns: int, tally: Tally, seen: Seen) -> str:
    """Wait until nothing is left, and note how long it took. What was too late, if anything was; empty otherwise."""
    had_folders, had_schemas, in_time = None, None, True
    late: list[str] = []
    while True:
        folders, others, schemas = _folders(place), _others_left(place), shape.schemas()
        seconds = (time.monotonic_ns() - killed_ns) / 1e9
        if folders:
            had_folders = seconds
        if schemas:
            had_schemas = seconds
        if not folders and not others and not schemas:
            break
        if in_time and seconds > LEFT_SECONDS:
            in_time, late = False, [*folders, *others, *schemas]
        if seconds > LOOKED_FOR_SECONDS:
            tally.left_over += 1
            return f"left: {', '.join(late)}"
        time.sleep(0.02)
    seen.ended_seconds.append(seconds)
    if had_folders is not None:
        seen.folders_seconds.append(had_folders)
    if had_schemas is not None:
        seen.schemas_seconds.append(had_schemas)
    seen.loads.append(os.getloadavg()[0])
    return "" if in_time else f"gone only after {seconds:.1f} s; {LEFT_SECONDS:.0f} s after the kill: {', '.join(late)}"


def require_nothing_left(place: Place, tally: Tally) -> None:
    """See that a run that has ended left nothing.

    Raises:
        AssertionError: it did.
    """
    give_up = time.monotonic() + LEFT_SECONDS
    while found := [*_folders(place), *_others_left(place)]:
        if time.monotonic() > give_up:
            tally.left_over += 1
            raise AssertionError(f"left: {', '.join(found)}")
        time.sleep(0.02)


def _folders(place: Place) -> list[str]:
    sockets = _entries(place.sockets) if isinstance(place, ServerPlace) else []
    return [str(path) for path in (*_entries(place.twins), *sockets)]


def _others_left(place: Place) -> list[str]:
    running = [f"process {pid}: {words}" for pid, words in processes_at(place.base)]
    return [*running, *map(str, mounts_below(place.base))]


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.exists() else []


def _stored(place: Place) -> list[tuple[Any, ...]]:
    if not place.store.exists() or not place.query("SELECT 1 FROM sqlite_master WHERE name = 'trials'"):
        return []
    assert place.query("PRAGMA integrity_check") == [("ok",)], "the store is damaged"
    return place.query("SELECT block, position, instance, elapsed_ns FROM trials ORDER BY trial")


def clear(place: Place) -> None:
    """End and remove what is there."""
    if isinstance(place, ServerPlace):
        place.clear()
    shutil.rmtree(place.base, ignore_errors=True)


def own_shapes(folder: Path) -> Iterator[Shape]:
    """All kinds of runs that this machine can do with engines of tdelta's alone."""
    yield Shape("embedded", BRIEF)
    yield Shape("database", ("--database", str(_database(folder / "app.db")), *BRIEF[4:]))
    for engine in private_servers():
        with contextlib.suppress(EngineUnavailable):
            program = find_servers(engine)[0].path
            options = (*BRIEF, "--no-aa", "--no-bb", "--engine", engine, "--server-binary", str(program))
            yield Shape(engine, options, engine, program)
            yield from _action_shapes(engine, options, engine, program)
    yield from _action_shapes("sqlite", (*BRIEF, "--no-aa", "--no-bb"))


def _action_shapes(engine: str, options: tuple[str, ...], *server: Any) -> Iterator[Shape]:
    for level in ACTIONS.get(engine, ()):
        varied = f"{level},async" if level.startswith("replication") else level
        yield Shape(f"{engine}/{level}", (*options, "--vary", varied), *server, is_action=True)


def _database(path: Path) -> Path:
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
        db.executemany("INSERT INTO t (v) VALUES (?)", [("a user's row " * 10,)] * ROWS)
        db.commit()
    return path


def _external(engine: str, folder: Path, stack: contextlib.ExitStack) -> Shape:
    """Two servers that stand for the user's."""
    own, said = SERVERS[engine]
    folder.mkdir()
    servers = stack.enter_context(own.two(folder))
    os.environ[VARIABLE] = PASSWORD
    dsns = [own.address(server.port, query=f"?password-env={VARIABLE}") for server in servers]

    def schemas() -> list[str]:
        return [f"schema {name} on {server.port}" for server in servers for name in _schemas_on(own.root(server))]

    def others() -> object:
        return [_others_on(engine, own, server) for server in servers]

    options = (*BRIEF, *said, "--baseline", dsns[0], "--encrypted", dsns[1])
    return Shape(f"dsn-{engine}", options, schemas=schemas, others=others)


def _schemas_on(session: Any) -> list[str]:
    with contextlib.closing(session):
        names = (str(name) for (name,) in session.rows("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA")[1])
        return [name for name in names if name.startswith("tdelta_")]


def _others_on(engine: str, own: Any, server: Any) -> list[object]:
    """All that is on a server beside schemas of killed runs, which are dropped here."""
    left = _schemas_on(own.root(server))
    with contextlib.closing(own.root(server)) as session:
        for name in left:
            session.run(registry.server(engine).answering(asking(session)).drop_sql(name))
        return [session.rows(query)[1] for query in own.OBJECTS]


if __name__ == "__main__":
    sys.exit(main())

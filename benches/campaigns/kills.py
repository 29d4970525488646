"""``kill -9`` of tdelta at random moments: no finished trial is lost, and nothing is left that should not be.

From the root of the repository::

    python benches/campaigns/kills.py --tries 300

Each try draws a shape of run (generated rows, a database of the user's, a private server of each engine that is here,
two servers of the user's), begins it, kills it with SIGKILL at a moment drawn from its whole course, and looks at what
is there afterwards: processes, mounts, folders, and the store. A trial counts as promised once the run's observer has
reported it. On servers of the user's the run's own schemas stay, as documented; nothing else there may have changed.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "live"))

from counting import MOST_FAILURES, Tally, asked
from mariadb import own
from own_engines import PASSWORD
from sqlite.running import Place
from sqlite.test_kills import WITNESSED
from tdelta_runs import ServerPlace, processes_at

from tdelta.driver.mounts import mounts_below
from tdelta.engines.registry import profiles
from tdelta.engines.shared.private.binaries import find_servers
from tdelta.errors import EngineUnavailable

LONGEST_SECONDS = {"embedded": 12.0, "database": 12.0}
LONGEST_WITH_SERVERS_SECONDS = 25.0
LEFT_SECONDS = 30.0
"""How long what is on its way to its end may take on a busy machine; the slowest is printed."""

VARIABLE = "KILLS_PASSWORD"
BRIEF = ("--workload", "order-entry", "--size", "2MB", "--trial-seconds", "0.1", "--blocks", "2", "--rounds", "3..3")
ROWS = 2000


@dataclass(frozen=True)
class Shape:
    """A kind of run: its options, and what must be as it was before."""

    name: str
    options: tuple[str, ...]
    engine: str = ""
    program: Path = Path()
    others: Callable[[], object] = lambda: None

    def place(self, base: Path) -> Place:
        """Where it has store and cache."""
        base.mkdir()
        return ServerPlace(base, self.engine, self.program)

    @property
    def longest_seconds(self) -> float:
        """How late it may be killed."""
        return LONGEST_SECONDS.get(self.name, LONGEST_WITH_SERVERS_SECONDS)


def main() -> int:
    """Kill, look, count."""
    tries, seed = asked(__doc__ or "", 300)
    draw, tally, slowest = random.Random(seed), Tally(), 0.0
    tried: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        shapes = list(_shapes(Path(folder), stack))
        print("shapes:", ", ".join(shape.name for shape in shapes), flush=True)
        with contextlib.suppress(KeyboardInterrupt):  # what was tried by then is printed
            for number in range(tries):
                shape = shapes[number % len(shapes)]
                tried[shape.name] += 1
                place = shape.place(Path(folder) / f"try-{number}")
                seconds = draw.uniform(0.0, shape.longest_seconds)
                try:
                    slowest = max(slowest, _try(shape, place, seconds, tally))
                except AssertionError as failure:
                    tally.failures.append(f"{number} {shape.name}, killed after {seconds:.2f} s: {failure}")
                    print(tally.failures[-1], flush=True)
                finally:
                    _clear(place)
                if len(tally.failures) >= MOST_FAILURES:
                    break
    print(", ".join(f"{name} {count}" for name, count in tried.items()))
    print(f"slowest end of all that a run had made: {slowest:.1f} s")
    return tally.report("kills")


def _try(shape: Shape, place: Place, seconds: float, tally: Tally) -> float:
    """One try. Returns how long it took until nothing was left, seconds.

    Raises:
        AssertionError: something was lost, or left.
    """
    before = shape.others()
    process = place.start("run", *shape.options, "--max-time", "300s", program=WITNESSED)
    has_ended, promised = _killed(process, seconds)
    took = _require_nothing_left(place, tally)
    stored = _stored(place)
    assert stored[: len(promised)] == promised, f"{len(promised)} trials were promised, {len(stored)} are stored"
    assert shape.others() == before, "something else on a server of the user's has changed"
    tally.outcomes["ended before the kill" if has_ended else "killed"] += 1
    return took


def _killed(process: subprocess.Popen[str], seconds: float) -> tuple[bool, list[tuple[int, int, str, int]]]:
    """Whether it had ended by itself, and the trials that its observer had told when it was killed."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    process.send_signal(signal.SIGKILL)
    _, err = process.communicate()
    told = [line.split()[1:] for line in err.rpartition("\n")[0].splitlines() if line.startswith("trial ")]
    trials = [(int(block), int(position), instance, int(ns)) for block, position, instance, ns in told]
    return process.returncode != -signal.SIGKILL, trials


def _require_nothing_left(place: Place, tally: Tally) -> float:
    began = time.monotonic()
    while found := _left(place):
        if time.monotonic() - began > LEFT_SECONDS:
            tally.left_over += 1
            raise AssertionError(f"left: {', '.join(found)}")
        time.sleep(0.02)
    return time.monotonic() - began


def _left(place: Place) -> list[str]:
    folders = [*_entries(place.twins), *(_entries(place.sockets) if isinstance(place, ServerPlace) else [])]
    running = [f"process {pid}: {words}" for pid, words in processes_at(place.base)]
    return [*running, *map(str, mounts_below(place.base)), *map(str, folders)]


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.exists() else []


def _stored(place: Place) -> list[tuple[Any, ...]]:
    if not place.store.exists() or not place.query("SELECT 1 FROM sqlite_master WHERE name = 'trials'"):
        return []
    assert place.query("PRAGMA integrity_check") == [("ok",)], "the store is damaged"
    return place.query("SELECT block, position, instance, elapsed_ns FROM trials ORDER BY trial")


def _clear(place: Place) -> None:
    if isinstance(place, ServerPlace):
        place.clear()
    shutil.rmtree(place.base, ignore_errors=True)


def _shapes(folder: Path, stack: contextlib.ExitStack) -> Iterator[Shape]:
    """All kinds of runs that this machine can do."""
    yield Shape("embedded", BRIEF)
    yield Shape("database", ("--database", str(_database(folder / "app.db")), *BRIEF[4:]))
    for engine in (profile.name for profile in profiles() if profile.is_server):
        with contextlib.suppress(EngineUnavailable):
            program = find_servers(engine)[0].path
            options = (*BRIEF, "--no-aa-twin", "--no-bb-twin", "--engine", engine, "--server-binary", str(program))
            yield Shape(engine, options, engine, program)
    if own.programs():
        yield _external(folder / "own", stack)


def _database(path: Path) -> Path:
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
        db.executemany("INSERT INTO t (v) VALUES (?)", [("a user's row " * 10,)] * ROWS)
        db.commit()
    return path


def _external(folder: Path, stack: contextlib.ExitStack) -> Shape:
    """Two servers that stand for the user's."""
    folder.mkdir()
    servers = stack.enter_context(own.two(folder))
    os.environ[VARIABLE] = PASSWORD
    dsns = [own.address(server.port, query=f"?password-env={VARIABLE}") for server in servers]

    def others() -> object:
        return [_others_on(server) for server in servers]

    return Shape("dsn", (*BRIEF, "--baseline", dsns[0], "--encrypted", dsns[1]), others=others)


def _others_on(server: own.Server) -> list[object]:
    """All that is on a server beside schemas of killed runs, which are dropped here."""
    with contextlib.closing(own.root(server)) as session:
        for (name,) in session.rows("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA")[1]:
            if str(name).startswith("tdelta_"):
                session.run(f"DROP SCHEMA `{name}`")
        return [session.rows(query)[1] for query in own.OBJECTS]


if __name__ == "__main__":
    sys.exit(main())

"""``kill -9`` at seeded random moments: no finished trial is lost, no process stays, ``--resume`` completes the run.

What was finished is not asked of the store but of a witness: the observer of the run writes every trial it is told of
to standard error, and what reached the pipe before the kill must be in the store after it.
"""

import contextlib
import random
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from support.codes import check_refused
from support.running import ANSWERED, PATIENCE_SECONDS, Place, read_until, workers_left
from support.thorough import draws

WITNESSED = """
import contextlib
import tdelta.report.progress
from tdelta.cli.main import main
from tdelta.records import TrialDone

@contextlib.contextmanager
def witness(stream, **_):
    def tell(event):
        if isinstance(event, TrialDone):
            trial = event.trial
            told = (trial.block, trial.position, trial.instance, trial.measurement.elapsed_ns)
            print("trial", *told, file=stream, flush=True)
    yield tell

tdelta.report.progress.progress = witness
main()
"""
RUNS = draws(1, 6)
KILLS_OF_A_RUN = 5
FEWEST_SECONDS = 0.4  # a Python that has not yet begun its work has nothing to lose
# Long enough for five kills and what lies between them; the last sitting runs to the end.
OPTIONS = (
    *("--workload", "order-entry", "--size", "1MB", "--no-aa", "--trial-time", "0.02s"),
    *("--blocks", "2", "--rounds", "3..3", "--max-time", "300s", "--no-bb"),
)


@pytest.fixture(scope="module")
def whole_run_seconds(tmp_path_factory: pytest.TempPathFactory) -> float:
    place = Place(tmp_path_factory.mktemp("whole"))
    began = time.monotonic()
    ran = place.tdelta("run", "--json", *OPTIONS)
    assert ran.code in ANSWERED, ran.err
    return time.monotonic() - began


def stored(place: Place) -> list[tuple[object, ...]]:
    """Every trial of the run with its measurement and its histograms' size, as bytes and numbers of the store."""
    if not place.store.exists():
        return []
    if not place.query("SELECT name FROM sqlite_master WHERE name = 'trials'"):
        return []
    assert place.query("PRAGMA integrity_check") == [("ok",)]
    return place.query(
        "SELECT block, position, instance, elapsed_ns, operations, transactions, cpu_user_seconds,"
        " (SELECT sum(length(payload)) FROM histograms WHERE histograms.trial = trials.trial)"
        " FROM trials ORDER BY trial"
    )


def sit(place: Place) -> subprocess.Popen[str]:
    has_run = place.store.exists() and place.query("SELECT 1 FROM sqlite_master WHERE name = 'runs'")
    if has_run and place.query("SELECT 1 FROM runs WHERE status <> 'done'"):
        return place.start("run", "--json", "--resume", "last", program=WITNESSED)
    return place.start("run", "--json", "--seed", "5", *OPTIONS, program=WITNESSED)


def kill_after(process: subprocess.Popen[str], seconds: float) -> list[tuple[int, int, str, int]] | None:
    """Kill it then; the trials its witness had told by then. None if it had ended before."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    _, err = process.communicate(timeout=PATIENCE_SECONDS)
    if process.returncode != -signal.SIGKILL:
        assert process.returncode in ANSWERED, err
        return None
    whole_lines = err.rpartition("\n")[0].splitlines()
    found = [line.split()[1:] for line in whole_lines if line.startswith("trial ")]  # a dying worker may speak, too
    return [(int(block), int(position), instance, int(ns)) for block, position, instance, ns in found]


@pytest.mark.parametrize("seed", range(RUNS))
def test_a_run_that_is_killed_five_times_loses_nothing_leaves_nothing_and_completes(
    place: Place, whole_run_seconds: float, seed: int
) -> None:
    moments = random.Random(seed)
    kills = 0
    while kills < KILLS_OF_A_RUN:
        before = stored(place)
        process = sit(place)
        witnessed = kill_after(process, moments.uniform(FEWEST_SECONDS, max(1.0, 0.9 * whole_run_seconds)))
        assert workers_left(process.pid) == []
        assert folders_left(place) == []
        after = stored(place)
        assert after[: len(before)] == before
        if witnessed is None:  # it was faster than the clock; the next sitting begins another run
            continue
        kills += 1
        told = [row[:4] for row in after[len(before) :]]
        assert told[: len(witnessed)] == witnessed
        assert len(told) <= len(witnessed) + 1  # one may be stored and not yet told
    before = stored(place)
    process = sit(place)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode in ANSWERED, err
    assert '"schema": "tdelta.run/1"' in out
    assert stored(place)[: len(before)] == before
    assert {status for (status,) in place.query("SELECT status FROM runs")} == {"done"}
    assert list(place.twins.iterdir()) == []


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "app.db"
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
        db.executemany("INSERT INTO t (v) VALUES (?)", [("secret" * 20,)] * 2000)
        db.commit()
    return path


STAGES = ("copy", "examine", "propose", "run ", "load: none", "size", "round 1:", "after round 1")


@pytest.mark.parametrize("stage", STAGES)
def test_copies_of_a_users_rows_are_private_and_go_with_a_killed_run(place: Place, database: Path, stage: str) -> None:
    options = ("--database", str(database), "--no-bb", "--trial-time", "0.05s", "--rounds", "3..3")
    process = place.start("run", *options, "--max-time", "120s")
    read_until(process, stage)
    files = [path for path in place.twins.rglob("*") if path.is_file()]
    modes = {path.stat().st_mode & 0o777 for path in files if path.exists()}
    process.kill()
    process.communicate(timeout=PATIENCE_SECONDS)
    assert modes <= {0o600}
    assert folders_left(place) == []


def folders_left(place: Place) -> list[Path]:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while (left := list(place.twins.iterdir()) if place.twins.exists() else []) and time.monotonic() < give_up:
        time.sleep(0.01)
    return left


def test_a_run_cannot_be_resumed_while_another_process_is_at_it(place: Place) -> None:
    options = [option if option != "3..3" else "40..40" for option in OPTIONS]
    process = place.start("run", *options, program=WITNESSED)
    assert process.stderr is not None
    process.stderr.readline()
    check_refused(place.tdelta("run", "--resume", "last", "--json"), "folder-in-use")
    assert place.query("SELECT status FROM runs") == [("running",)]
    assert process.poll() is None
    process.kill()
    process.communicate(timeout=PATIENCE_SECONDS)
    assert workers_left(process.pid) == []

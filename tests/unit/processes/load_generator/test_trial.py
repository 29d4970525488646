"""Commands as trials, without a database: timed, accounted for, ended with everything that they started."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.loads import Load, run
from support.processes import eventually, is_running
from support.refused import Coded, Part, coded, refused
from tdelta.errors import LoadFault, WorkerFault
from tdelta.processes.load_generator.command import Work, parse_load
from tdelta.processes.load_generator.connections import Connection
from tdelta.processes.process_tree import living
from tdelta.records import Measurement

from .recorded import MYSQL, OUTPUTS, POSTGRES

WORK = Work(threads=2, operations=10, seconds=1.0, seed=1)


def pids_in(path: Path, expected: int) -> list[int]:
    assert eventually(lambda: path.exists() and len(path.read_text().split()) >= expected)
    return [int(word) for word in path.read_text().split()]


def tried(text: str, parent: Path, connection: Connection = MYSQL, deadline_seconds: float = 60.0) -> Measurement:
    command = parse_load(text, connection.protocol)
    return run(command, connection, WORK, parent=parent, deadline_seconds=deadline_seconds)


@pytest.fixture
def sleepers(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A script with a child, and another in a session of its own, that all sleep for long; and where their ids are."""
    pids = tmp_path / "pids"
    script = tmp_path / "sleepers.sh"
    script.write_text(
        f"echo $$ >>{pids}\nsleep 300 & echo $! >>{pids}\n"
        f"setsid sh -c 'echo $$ >>{pids}; trap : TERM; sleep 300; sleep 300' &\nwait\n"
    )
    yield f"sh {script}", pids
    for pid in pids.read_text().split() if pids.exists() else []:
        if is_running(int(pid)):
            os.kill(int(pid), signal.SIGKILL)  # only after a failure


def test_a_commands_time_and_cpu_are_measured(tmp_path: Path) -> None:
    measured = tried("sh -c 'sleep 0.05; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'", tmp_path)
    assert measured.operations == 1
    assert measured.elapsed_ns > 50_000_000
    assert 0.0 < measured.client_cpu_seconds < measured.elapsed_ns / 1e9
    assert measured.stopped_by == "count"


def test_the_report_of_a_tool_that_a_shell_runs_is_read(tmp_path: Path) -> None:
    measured = tried(f"sh -c 'cat {OUTPUTS}/sysbench-1.0.20-events.txt'", tmp_path)
    assert (measured.operations, measured.transactions["event"].count) == (200, 200)


def test_the_cpu_of_what_a_command_does_not_wait_for_is_counted_too(tmp_path: Path) -> None:
    spin = f"{sys.executable} -S -c 'sum(range(2_000_000))'"  # well within what is waited for such a one
    alone = tried(spin, tmp_path).client_cpu_seconds
    script = tmp_path / "orphan.sh"
    script.write_text(f"({spin} &) ; sleep 0.01\n")
    assert tried(f"sh {script}", tmp_path).client_cpu_seconds > alone / 3


def test_one_load_runs_many_trials_and_leaves_no_file(tmp_path: Path) -> None:
    with Load(parse_load("sh -c 'echo {operations} > {log}.x'", "mysql"), MYSQL, tmp_path) as load:
        for _ in range(3):
            assert load.trial(WORK, 30.0).operations == 1
            assert sorted(path.name for path in next(iter(tmp_path.iterdir())).iterdir()) == ["home"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("sh -c 'exit 7'", coded("load-failed", tool="sh", how=Part("7"))),
        ("sh -c 'kill -9 $$'", coded("load-failed", tool="sh", how=Part("9"))),
        ("sleep 300", coded("load-failed", tool="sleep")),
    ],
)
def test_a_command_that_fails_is_a_fault(tmp_path: Path, text: str, part: Coded) -> None:
    with refused(LoadFault, part):
        tried(text, tmp_path, deadline_seconds=0.3 if "sleep" in text else 60.0)


def test_a_program_that_went_away_is_a_fault(tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    command = parse_load(str(program), "mysql")
    program.unlink()
    with refused(LoadFault, "load-failed", tool="tool"):
        run(command, MYSQL, WORK, parent=tmp_path, deadline_seconds=30.0)


def test_a_command_that_ends_before_what_it_started_is_a_fault_and_that_is_ended(tmp_path: Path) -> None:
    with refused(LoadFault, "load-failed", how=Part("sleep")):
        tried(f"sh -c 'sleep 300 & echo $! >{tmp_path}/pids'", tmp_path)
    assert not is_running(pids_in(tmp_path / "pids", 1)[0])


def test_a_stop_ends_everything_that_the_command_started(tmp_path: Path, sleepers: tuple[str, Path]) -> None:
    text, pids = sleepers
    with Load(parse_load(text, "mysql"), MYSQL, tmp_path) as load:
        load.begin(WORK, 300.0)
        started = pids_in(pids, 3)
        load.stop()
        measured = load.answer()
        assert (measured.stopped_by, measured.operations) == ("signal", 0)
        assert not any(is_running(pid) for pid in started)
        assert not any(path.name == "out" for path in tmp_path.rglob("*"))


def test_a_stop_between_trials_does_not_stop_the_next(tmp_path: Path) -> None:
    with Load(parse_load("sleep 0.01", "mysql"), MYSQL, tmp_path) as load:
        load.stop()
        assert load.trial(WORK, 30.0).stopped_by == "count"


def test_the_end_of_the_block_ends_a_trial_that_runs(tmp_path: Path, sleepers: tuple[str, Path]) -> None:
    text, pids = sleepers
    with Load(parse_load(text, "mysql"), MYSQL, tmp_path) as load:
        load.begin(WORK, 300.0)
        started = pids_in(pids, 3)
    assert not any(is_running(pid) for pid in started)
    assert not list(tmp_path.glob("load-*"))


def test_a_killed_tdelta_leaves_no_process_and_no_folder(tmp_path: Path, sleepers: tuple[str, Path]) -> None:
    text, pids = sleepers
    program = (
        "from pathlib import Path\n"
        "from tdelta.processes.load_generator.command import Work, parse_load\n"
        "from tdelta.processes.load_generator.connections import Connection\n"
        "from tdelta.processes.load_generator.trial import CommandLoad\n"
        f"where, connection = Path({str(tmp_path)!r}), Connection('mysql', 'me', 'db', Path('/s'))\n"
        f"load = CommandLoad(parse_load({text!r}, 'mysql'), connection, where)\n"
        "load.begin(Work(1, 1, 1.0, 1), 300.0)\n"
        "load.answer()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program])
    try:
        started = pids_in(pids, 3)
    finally:
        parent.kill()
        parent.wait()
    assert eventually(lambda: not any(is_running(pid) for pid in started))
    assert eventually(lambda: not list(tmp_path.glob("load-*")))


def test_a_supervisor_that_is_killed_takes_the_command_with_it(tmp_path: Path) -> None:
    with Load(parse_load(f"sh -c 'echo $$ >{tmp_path}/pids; exec sleep 300'", "mysql"), MYSQL, tmp_path) as load:
        load.begin(WORK, 300.0)
        (pid,) = pids_in(tmp_path / "pids", 1)
        os.kill(load.pid, signal.SIGKILL)
        with refused(WorkerFault, "process-died", ending=Part("killed")):
            load.answer()
        assert eventually(lambda: not is_running(pid))


def test_output_beyond_all_bounds_is_read_from_its_end(tmp_path: Path) -> None:
    command = parse_load("sh -c 'head -c 9000000 /dev/zero; echo; echo done 42'", "mysql", operations="done ([0-9]+)")
    assert run(command, MYSQL, WORK, parent=tmp_path, deadline_seconds=60.0).operations == 42


def test_a_trial_can_be_stopped_from_a_signals_handler(tmp_path: Path) -> None:
    with Load(parse_load("sleep 300", "postgres"), POSTGRES, tmp_path) as load:

        def once_it_runs() -> None:
            eventually(lambda: bool(living(load.pid)))
            os.kill(os.getpid(), signal.SIGUSR1)

        sender = threading.Thread(target=once_it_runs)
        before = signal.signal(signal.SIGUSR1, lambda *_: load.stop())
        try:
            sender.start()
            assert load.trial(WORK, 300.0).stopped_by == "signal"
        finally:
            sender.join()
            signal.signal(signal.SIGUSR1, before)


def test_a_command_that_prints_without_end_takes_no_disk_and_its_last_words_are_kept(tmp_path: Path) -> None:
    script = tmp_path / "chatty.sh"
    script.write_text("head -c 40000000 /dev/zero | tr '\\0' 'x'; echo; echo the end >&2; exit 3\n")
    most = [0]

    def watch() -> None:
        while not done.wait(0.005):
            most[0] = max(most[0], *(p.stat().st_size for p in tmp_path.glob("load-*/*") if p.is_file()), 0)

    done = threading.Event()
    watcher = threading.Thread(target=watch)
    watcher.start()
    with refused(LoadFault, "load-failed", how=Part("3"), shows="the end"):
        tried(f"sh {script}", tmp_path)
    done.set()
    watcher.join()
    assert most[0] <= 8 << 20

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.processes import until
from tdelta.processes.process_tree import Process, below, freeze, living, parse_stat, shared_memory, thaw

from .servers.faking import state

NESTED = "sleep 1000 & setsid sh -c 'sleep 1000 & wait' & wait"


@pytest.fixture
def root() -> Iterator[int]:
    """A shell with three descendants, one of them in a session of its own."""
    with subprocess.Popen(["sh", "-c", NESTED], start_new_session=True) as shell:
        until(lambda: len(living(shell.pid)) == 3)
        yield shell.pid
        for pid in living(shell.pid):
            os.kill(pid, 9)
        shell.kill()


def test_a_line_of_stat_is_read_whatever_the_process_is_called() -> None:
    line = "7 (a) b) (c) S 3 7 7 0 -1 4194560 1 0 0 0 2 1 0 0 20 0 5 0 100"
    assert parse_stat(line) == Process(7, 3, "S", 5)


def test_a_process_whose_first_thread_ended_before_the_others_lives() -> None:
    assert Process(7, 3, "Z", 2).lives
    assert not Process(7, 3, "Z", 1).lives


def test_a_tree_is_found_across_sessions_parents_first(root: int) -> None:
    found = below(root)
    assert len(found) == 3
    places = {process.pid: place for place, process in enumerate(found)}
    assert all(process.parent == root or places[process.parent] < places[process.pid] for process in found)


def test_what_is_spared_is_left_out_with_all_below_it(root: int) -> None:
    (sleeper, shell, nested) = sorted(below(root), key=lambda process: (process.parent != root, process.pid))
    kept = living(root, {nested.parent})
    assert kept == (sleeper.pid if nested.parent == shell.pid else shell.pid,)


def test_a_tree_is_frozen_and_thawed_whole(root: int) -> None:
    pids = living(root)
    assert freeze(root, (), 20.0)
    assert [state(pid) for pid in pids] == ["T", "T", "T"]
    thaw(root, ())
    assert "T" not in [state(pid) for pid in pids]


def test_what_is_spared_is_not_frozen(root: int) -> None:
    pids = living(root)
    assert freeze(root, pids[:1], 20.0)
    assert state(pids[0]) != "T"
    thaw(root, ())


MAPPING = """
import mmap, sys, time
def mapped(path, flags, protection):
    with open(path, "r+b") as file:
        return mmap.mmap(file.fileno(), 0, flags, protection)
shared, private, library, nested = sys.argv[1:]
kept = [mapped(path, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE) for path in (shared, nested)]
kept.append(mapped(private, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE))
kept.append(mapped(library, mmap.MAP_SHARED, mmap.PROT_READ))
print(flush=True)
time.sleep(1000)
"""


def test_only_what_is_written_to_and_named_in_shared_memory_itself_is_shared_memory() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        names = [Path(f"{folder}-{kind}") for kind in ("shared", "private", "library")] + [Path(folder, "nested")]
        try:
            for path in names:
                path.write_bytes(b"0" * 4096)
            command = [sys.executable, "-c", MAPPING, *map(str, names)]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                assert process.stdout is not None
                process.stdout.readline()
                found = shared_memory(os.getpid())
                process.kill()
            assert found & set(names) == {names[0]}
        finally:
            for path in names:
                path.unlink()

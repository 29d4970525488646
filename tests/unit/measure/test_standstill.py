"""Pauses: seen in this process, and in the state of another."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tdelta.measure.pressure import in_words, is_stopped, watching

NOTHING = {"paused_ns": 0, "suspended_ns": 0, "stopped": False}

WATCHED = """
import sys
from tdelta.measure.pressure import watching
with watching("this program") as seen:
    print("begun", flush=True)
    sys.stdin.read()
print(seen.standstill, flush=True)
"""


def test_nothing_is_said_where_nothing_stood_still() -> None:
    assert in_words(NOTHING, "it") == in_words(None, "it") == in_words({}, "it") == ""
    with watching("it") as seen:
        time.sleep(0.01)
    assert seen.standstill == ""


def test_a_suspended_machine_comes_before_what_stood_still_with_it() -> None:
    both = {"paused_ns": 9_000_000_000, "suspended_ns": 8_000_000_000, "stopped": False}
    assert in_words(both, "it").endswith(" 8 s")
    paused = in_words({**both, "suspended_ns": 0}, "it")
    assert (paused.split()[0], paused.split()[-2:]) == ("it", ["9", "s"])
    assert in_words({**NOTHING, "stopped": True}, "it", "others").startswith("others ")


def watched() -> subprocess.Popen[str]:
    """A program that watches itself until its input ends, and has begun to."""
    program = [sys.executable, "-c", WATCHED]
    process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def test_a_process_that_is_stopped_for_a_while_sees_so_itself() -> None:
    process = watched()
    began = time.monotonic()
    process.send_signal(signal.SIGSTOP)
    while not is_stopped(process.pid):
        time.sleep(0.001)
    time.sleep(2.0)
    process.send_signal(signal.SIGCONT)
    longest = round(time.monotonic() - began + 0.5)
    out, _ = process.communicate(timeout=60)
    assert out.strip() in [f"this program stood still for {seconds} s" for seconds in range(1, longest + 1)]


def test_another_process_that_is_stopped_is_called_what_it_is() -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        with watching("this program", [other.pid], "others") as before:
            pass
        other.send_signal(signal.SIGSTOP)
        while not is_stopped(other.pid):
            time.sleep(0.001)
        with watching("this program", [other.pid], "others") as seen:
            pass
        other.kill()
    assert before.standstill == ""
    assert seen.standstill.startswith("others ")


def test_a_process_that_waits_for_a_cpu_does_not_stand_still() -> None:
    """For a while on one CPU with eight that never let go of it, at the least share that a process can have."""
    cpu = min(os.sched_getaffinity(0))
    neighbours = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(8)]
    process = watched()
    try:
        for one in (*neighbours, process):
            os.sched_setaffinity(one.pid, {cpu})
        os.setpriority(os.PRIO_PROCESS, process.pid, 19)
        time.sleep(3.0)
        for one in neighbours:
            one.kill()
        out, _ = process.communicate(timeout=60)
    finally:
        for one in (*neighbours, process):
            one.kill()
            one.wait()
    assert out.strip() == ""


def test_the_state_of_a_process_is_its_letter_behind_a_name_that_may_hold_anything(tmp_path: Path) -> None:
    for process, state in {1: "T", 2: "t", 3: "S", 4: "Z"}.items():
        (tmp_path / f"proc/{process}").mkdir(parents=True)
        (tmp_path / f"proc/{process}/stat").write_text(f"{process} (a) T (b) {state} 1 1 1")
    assert [is_stopped(process, tmp_path) for process in range(1, 6)] == [True, True, False, False, False]


def test_what_a_watch_found_is_told_once() -> None:
    from tdelta import _native

    watch = _native.Watch([os.getpid()])
    assert watch.end() == NOTHING
    assert watch.end() == NOTHING

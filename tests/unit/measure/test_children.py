import contextlib
import fcntl
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.processes import is_gone, is_running
from support.refused import Part, refused
from tdelta.errors import EnvironmentFault, WorkerFault
from tdelta.measure.children import Child, Declined, ready

MODULE = "tdelta.driver.cipher_cost_worker"


def child(**more: str) -> Child:
    return Child(MODULE, {**os.environ, **more})


def ask(process: Child) -> object:
    process.send("pass", index=0)
    return process.answer()


def declined(process: Child) -> str:
    with pytest.raises(Declined) as caught:
        ask(process)
    return caught.value.kind


def test_an_order_that_cannot_be_carried_out_is_a_refusal_and_not_the_end():
    with child() as process:
        assert [declined(process), declined(process)] == ["plan", "plan"]
    assert not is_running(process.pid)


def test_a_child_has_the_environment_it_was_given_and_its_arguments_say_who_its_parent_is():
    with child(OPENSSL_ia32cap="~0x1") as process:
        declined(process)
        environment = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
        words = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
    assert b"OPENSSL_ia32cap=~0x1" in environment
    assert words[1:-1] == [b"-m", MODULE.encode(), str(os.getpid()).encode()]


def test_the_end_of_the_block_does_not_wait_for_what_a_child_is_at():
    process = child()
    os.kill(process.pid, signal.SIGSTOP)
    with pytest.raises(KeyboardInterrupt), process:
        raise KeyboardInterrupt
    assert not is_running(process.pid)


def test_ctrl_c_in_the_terminal_does_not_reach_a_child():
    with child() as process:
        declined(process)
        assert os.getpgid(process.pid) != os.getpgid(0)
        os.kill(process.pid, signal.SIGINT)
        assert declined(process) == "plan"


def test_a_child_that_is_killed_is_a_fault():
    with child() as process:
        declined(process)
        os.kill(process.pid, signal.SIGKILL)
        with refused(WorkerFault, "process-died", ending=Part("killed")):
            ask(process)


def test_a_child_that_breaks_says_its_last_words():
    with (
        Child("tdelta.measure.no_such_module", os.environ) as process,
        refused(WorkerFault, "process-died", words=Part("no_such_module")),
    ):
        ask(process)


def test_a_child_that_does_not_answer_is_a_fault():
    with child() as process:
        os.kill(process.pid, signal.SIGSTOP)
        with refused(WorkerFault, "process-silent", seconds=0.01):
            process.answer(0.01)
    assert not is_running(process.pid)


@pytest.mark.parametrize("state", ["waiting", "stopped"])  # a stopped one cannot see that its input has ended
def test_a_child_dies_with_its_parent(state):
    parent = (
        "import os, signal; from tdelta.measure.children import Child, Declined\n"
        f"process = Child({MODULE!r}, os.environ); process.send('pass', index=0)\n"
        "try: process.answer()\n"
        "except Declined: print(process.pid, flush=True)\n"
        f"if {state!r} == 'stopped': os.kill(process.pid, signal.SIGSTOP)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", parent], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    pid = int(killed.stdout)
    try:
        assert is_gone(pid)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_child_whose_parent_has_gone_already_leaves_at_once():
    with subprocess.Popen([sys.executable, "-m", MODULE, "1"], stdin=subprocess.PIPE) as orphan:
        assert orphan.wait(60) == 0  # while its input is open


def test_a_descriptor_beyond_what_select_takes_is_heard() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 1200:
        pytest.skip("this process may not open 1200 files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    reading, writing = os.pipe()
    high = fcntl.fcntl(reading, fcntl.F_DUPFD, 1100)
    try:
        with os.fdopen(high, "rb", buffering=0) as source:
            assert ready([source], 0.0) == []
            os.write(writing, b"x")
            assert ready([source], 1.0) == [source]
            os.read(high, 1)
            os.close(writing)
            assert ready([source], 1.0) == [source], "its end is news as well"
    finally:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_child_that_gets_no_more_memory_is_an_environments_fault(tmp_path: Path) -> None:
    (tmp_path / "lacking.py").write_text("import os, sys\nsys.stdin.readline()\nos._exit(2)\n")
    with Child("lacking", {**os.environ, "PYTHONPATH": str(tmp_path)}) as process:
        process.send("work")
        with refused(EnvironmentFault, "no-memory", where=Part("tdelta")):
            process.answer()

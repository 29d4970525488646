"""What the kernel takes to put threads to sleep and to wake them, of real processes that perf samples."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tdelta.errors import EnvironmentFault
from tdelta.inference.profiles import by_class
from tdelta.measure.profile import find_perf
from tdelta.records import FunctionClass

HANDS_OVER = """
import os, threading
here, there, back, again = *os.pipe(), *os.pipe()
def other():
    while os.read(here, 1):
        os.write(again, b"x")
threading.Thread(target=other, daemon=True).start()
print("begun", flush=True)
while True:
    os.write(there, b"x")
    os.read(back, 1)
"""
COMPUTES = """
print("begun", flush=True)
while True:
    sum(range(1000))
"""


def share(program: str, file: Path) -> float:
    """The share of scheduling in half a second of a program."""
    perf = find_perf()
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            with perf.sampling(lambda: (process.pid,), file) as sampling:
                sampling.begin()
                time.sleep(0.5)
                recording = perf.read(sampling.end())
        except EnvironmentFault as fault:
            if "perf may not sample here" in str(fault):  # the machine's owner decides that
                pytest.skip(str(fault))
            raise
        finally:
            process.kill()
    if not recording.has_kernel:
        pytest.skip("perf may not look at the kernel here")
    classes = by_class(recording.functions)
    assert sum(classes.values()) > 0
    return classes.get(FunctionClass.SCHEDULING, 0) / sum(classes.values())


def test_threads_that_wait_for_one_another_are_told_from_one_that_computes(tmp_path: Path) -> None:
    if shutil.which("perf") is None:
        if os.environ.get("TDELTA_REQUIRE_ENGINES"):
            pytest.fail("there is no perf here: apt-get install linux-perf")
        pytest.skip("there is no perf here")
    assert share(HANDS_OVER, tmp_path / "hands-over.data") > 0.2  # the rest are pipes, Python and its own locks
    assert share(COMPUTES, tmp_path / "computes.data") < 0.1

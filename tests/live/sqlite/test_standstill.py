"""Runs of which a part is stopped by a signal: the block is void, and the run ends well, whoever goes on or not."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from support.codes import cautions
from support.refused import Part, check_messages
from support.running import (
    ANSWERED,
    PATIENCE_SECONDS,
    SELDOM,
    Place,
    end,
    read_until,
    waited_for,
    workers_left,
    workers_of,
)

TRIAL_SECONDS = 1.5
OPTIONS = (
    *("--size", "3MB", "--workload", "point-select", "--no-aa", "--no-bb"),
    *("--trial-time", f"{TRIAL_SECONDS}s", *SELDOM),
)
LONG = ("run", "--json", *OPTIONS, "--blocks", "2", "--rounds", "1..1", "--max-time", "300s")


@pytest.fixture
def process(place: Place) -> Iterator[subprocess.Popen[str]]:
    process = place.start(*LONG)
    read_until(process, "round 1: 2 blocks")
    time.sleep(TRIAL_SECONDS / 3)
    yield process
    if process.poll() is None:
        process.kill()


def tell(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        os.kill(pid, number)


def trials(document: Any) -> tuple[int, int]:
    return document["counts"]["blocks"], document["counts"]["trials"]


def test_a_worker_that_is_stopped_for_ever_is_ended_and_made_up_for(process: subprocess.Popen[str]) -> None:
    tell(workers_of(process.pid)[-1:], signal.SIGSTOP)
    ran = waited_for(process, 3 * PATIENCE_SECONDS)
    assert ran.code in ANSWERED, ran.err
    assert not cautions(ran.document, "block-void")
    lost = {"round": 1, "void_code": "block", "why_code": "stopped-by-signal", "why": Part(" 10 s")}
    check_messages(cautions(ran.document, "server-lost"), "server-lost", **lost)
    assert trials(ran.document) == (2, 4)
    assert workers_left(process.pid) == []


def test_ctrl_c_does_not_wait_for_a_worker_that_is_stopped(process: subprocess.Popen[str]) -> None:
    tell(workers_of(process.pid), signal.SIGSTOP)
    began = time.monotonic()
    ran = end(process, signal.SIGINT)
    assert ran.code == 130, ran.err
    assert time.monotonic() - began < 8.0
    assert workers_left(process.pid) == []


@pytest.mark.parametrize("who", ["all", "workers", "tdelta"])
def test_a_pause_voids_the_block_which_is_run_again(process: subprocess.Popen[str], who: str) -> None:
    workers = workers_of(process.pid)
    stopped = {"all": [process.pid, *workers], "workers": workers, "tdelta": [process.pid]}[who]
    tell(stopped, signal.SIGSTOP)
    time.sleep(3.0)
    tell(stopped, signal.SIGCONT)
    ran = waited_for(process, 3 * PATIENCE_SECONDS)
    assert ran.code in ANSWERED, ran.err
    assert not cautions(ran.document, "server-lost")
    (said,) = cautions(ran.document, "block-void")
    assert (said.parameters["round"], said.parameters["block"], said.parameters["why_code"]) == (1, 1, "stood-still")
    assert re.search(r"\b[23] s$", str(said.parameters["why"]))
    assert trials(ran.document) == (2, 4)

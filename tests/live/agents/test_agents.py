"""Load agents on a Ray of this machine with a private server: one of them is killed, and the run goes on."""

import os
import signal
from pathlib import Path

import pytest

from support.processes import eventually
from support.running import ANSWERED, Place, read_until, waited_for
from tdelta.processes.process_tree import living

PATIENCE_SECONDS = 1000.0
AGENTS = 2
RUN = (
    *("run", "--json", "--engine", "mariadb", "--workload", "point-select", "--size", "3MB", "--agents", str(AGENTS)),
    *("--threads", "2", "--rate", "50", "--trial-time", "3s", "--warmup", "0s"),
    *("--blocks", "3", "--rounds", "1..1", "--no-aa", "--no-bb", "--max-time", "900s"),
)
"""Paced, so that agents keep together whatever each of them does."""


def agents_of(pid: int) -> list[int]:
    return [one for one in living(pid) if Path(f"/proc/{one}/cmdline").read_bytes().startswith(b"ray::Agent")]


def are_gone(pids: tuple[int, ...], seconds: float = 20.0) -> bool:
    return eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), seconds)


@pytest.mark.alone
@pytest.mark.timeout(1200)
def test_a_run_whose_agent_is_killed_goes_on_to_its_answer_and_leaves_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    process = place.start(*RUN)
    read_until(process, "round 1:")
    below = living(process.pid)
    first, *others = agents_of(process.pid)
    assert len(others) == AGENTS - 1
    assert os.getpriority(os.PRIO_PROCESS, first) == os.getpriority(os.PRIO_PROCESS, process.pid)
    os.kill(first, signal.SIGKILL)
    read_until(process, "lost:")
    ran = waited_for(process, PATIENCE_SECONDS)
    assert ran.code in ANSWERED, ran.err
    codes = {code["code"] for code in ran.document["caution_codes"]}
    assert "server-lost" in codes
    found = ran.document["agents"]
    assert [one["agent"] for one in found["agents"]] == ["1", "2"]
    done = [one["operations"] for one in found["agents"]]
    assert done[0] == done[1] > 0
    assert found["overlap"]["low"] >= 0.95
    assert are_gone(below)
    assert not list(Path("/tmp").glob(f"tdelta-ray-{process.pid}-*"))  # noqa: S108 - sockets' paths are short there

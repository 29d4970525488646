"""Closed loops on a Ray of this machine: agents of different speed do every operation of a trial once.

How well they overlap depends on the machine; `tests/unit/on_ray/test_chunks.py` simulates that.
"""

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.refused import refused
from tdelta.errors import ServerLost
from tdelta.processes import TrialJob
from tdelta.ray.bridge import NodesRequest
from tdelta.ray.load_agents import AgentLoad, AgentPool, AgentsTrial

HERE = Path(__file__).parent
OPERATIONS, DISCARD = 1500, 100
PATIENCE_SECONDS = 300.0
TRIALS = 2
WORK = {"transactions": [{"name": "nap", "weight": 1.0, "text": "SELECT :op;"}], "constants": {}}


def ran(load: AgentLoad, stream: int) -> AgentsTrial:
    job = TrialJob(7, stream, OPERATIONS, 0, PATIENCE_SECONDS, discard=DISCARD)
    return load.trial(job.as_json(), PATIENCE_SECONDS)


def done(folder: Path, stream: int) -> list[int]:
    """The operations of a trial, those that are not recorded included."""
    return sorted(op for one in folder.glob(f"done-{stream}-*") for op in json.loads(one.read_text()))


@pytest.mark.alone
@pytest.mark.timeout(1200)
def test_agents_of_different_speed_share_a_closed_loop_and_go_on_after_one_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]))
    pool = AgentPool(NodesRequest(2))
    try:
        load = pool.twin(program="sleeping")
        load.connect({"folder": str(tmp_path)}, 4, WORK)
        for stream in range(TRIALS):
            trialled = ran(load, stream)
            assert done(tmp_path, stream) == list(range(OPERATIONS))
            assert sum(part.operations for part in trialled.agents.values()) == OPERATIONS - DISCARD
            assert {name.partition("/")[0] for name in trialled.histograms} == {"agent:1", "agent:2"}
            assert all(part.operations for part in trialled.agents.values())
        slow = int((tmp_path / "slow").readlink().name)
        with ThreadPoolExecutor() as threads:
            running = threads.submit(ran, load, TRIALS)
            while not (tmp_path / f"begun-{TRIALS}-{slow}").exists():
                assert not running.done()
                time.sleep(0.01)
            os.kill(slow, signal.SIGKILL)
            with refused(ServerLost, "agent-lost"):
                running.result(PATIENCE_SECONDS)
        ran(load, TRIALS + 1)
        assert done(tmp_path, TRIALS + 1) == list(range(OPERATIONS))
    finally:
        pool.end()

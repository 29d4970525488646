"""A load agent whose trial is given chunks: what it hands on, and when it says that more are wanted."""

import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tdelta.driver.agents import load_agents
from tdelta.driver.agents.load_agents import Agent, Wishes
from tdelta.errors import WorkerFault
from tdelta.messages import Refusal

PATIENCE_SECONDS = 60.0


class FakeWorker:
    pid = 1

    def __init__(self, **_options: Any) -> None:
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.lines: queue.SimpleQueue[dict[str, Any] | Exception] = queue.SimpleQueue()

    def send(self, do: str, **order: Any) -> None:
        self.sent.append((do, order))
        if do in ("connect", "observe", "prepare"):
            self.lines.put({"ok": {}})

    def hear(self, _seconds: float) -> dict[str, Any]:
        said = self.lines.get(timeout=PATIENCE_SECONDS)
        if isinstance(said, Exception):
            raise said
        return said

    def kill(self) -> None:
        pass

    def end(self) -> None:
        pass


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> tuple[Agent, FakeWorker]:
    monkeypatch.setattr(load_agents, "Worker", FakeWorker)
    agent = Agent()
    agent.open("t", {"program": "p", "connect": {}, "observe": {}, "work": {}, "patience_seconds": 1.0})
    worker: Any = agent._workers["t"]
    worker.sent.clear()
    return agent, worker


FED = {"number": 3, "chunks": [[0, 5]], "is_complete": False}


def test_an_agent_says_when_its_trial_wants_more_and_hands_on_what_it_is_given(
    opened: tuple[Agent, FakeWorker],
) -> None:
    agent, worker = opened
    with ThreadPoolExecutor() as threads:
        asked = threads.submit(agent.feed, "t", 3, None, is_next=False)  # Ray may begin this one first
        running = threads.submit(agent.trial, "t", {"seed": 1}, 7, 1.0, FED)
        worker.lines.put({"wants": 3})
        assert asked.result(PATIENCE_SECONDS) is True
        given = threads.submit(agent.feed, "t", 3, [5, 9], is_next=True)
        worker.lines.put({"wants": 3})
        assert given.result(PATIENCE_SECONDS) is True
        last = threads.submit(agent.feed, "t", 3, None, is_next=True)
        worker.lines.put({"ok": {"outcome": 1}})
        assert running.result(PATIENCE_SECONDS) == {"ok": {"outcome": 1}}
        assert last.result(PATIENCE_SECONDS) is False
    feeds = [order for do, order in worker.sent if do == "feed"]
    assert feeds == [{"number": 3, "chunk": [5, 9]}, {"number": 3, "chunk": None}]
    assert ("trial", {"trial": {"seed": 1}, "begin_ns": 7, "fed": FED}) in worker.sent
    assert agent.feed("t", 3, None, is_next=False) is False, "it is over"


def test_an_agent_whose_worker_dies_wants_nothing_more(opened: tuple[Agent, FakeWorker]) -> None:
    agent, worker = opened
    with ThreadPoolExecutor() as threads:
        asked = threads.submit(agent.feed, "t", 3, None, is_next=False)
        worker.lines.put(WorkerFault(Refusal.of("process-silent", process="it", seconds=1.0)))
        assert "lost" in agent.trial("t", {"seed": 1}, 7, 1.0, FED)
        assert asked.result(PATIENCE_SECONDS) is False


def test_what_an_earlier_trial_wanted_is_not_the_next_ones() -> None:
    wishes = Wishes()
    wishes.add(1)
    wishes.end(1)
    assert wishes.take(1) is False
    taken: list[bool] = []
    waiting = threading.Thread(target=lambda: taken.append(wishes.take(2)))
    waiting.start()
    wishes.add(2)
    waiting.join(PATIENCE_SECONDS)
    assert taken == [True]

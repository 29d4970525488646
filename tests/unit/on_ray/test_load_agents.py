"""Load agents, with a Ray that is made up: where agents go, what of those that are lost, how starts are set."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refused import refused
from tdelta.errors import EnvironmentFault, WorkerFault
from tdelta.messages import Refusal
from tdelta.ray import load_agents
from tdelta.ray.bridge import machine
from tdelta.ray.chunks import LEAST_SECONDS
from tdelta.ray.cluster import Cluster, NodeRefused, NoNode, words
from tdelta.ray.load_agents import Agent, LoadAgents, Wishes, segments

from .answers import answer
from .test_fleet import Died
from .test_fleet import FakeRay as FakeRayOfSites

CLOCK_AHEAD_NS = 5_000_000_000


@dataclass
class FakeActor:
    ray: FakeRay
    node: str
    is_killed: bool = False
    opened: list[str] = field(default_factory=list)
    trials: list[dict[str, Any]] = field(default_factory=list)
    stops: int = 0
    done: list[tuple[int, int]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        def remote(*args: Any) -> Callable[[], Any]:
            def get() -> Any:
                if self.is_killed or self.node not in self.ray.alive:
                    raise Died(f"line\nthe actor on {self.node} is dead")
                return getattr(self, f"on_{name}")(*args)

            return get

        if name.startswith(("on_", "__")):
            raise AttributeError(name)
        return SimpleNamespace(remote=remote)

    def on_hello(self) -> dict[str, Any]:
        on = machine() if self.node in self.ray.own_machine else f"machine of {self.node}"
        return {"node": self.node, "machine": on, "network": on, "version": "1", "pid": 1}

    def on_clock_ns(self) -> int:
        return time.monotonic_ns() + CLOCK_AHEAD_NS

    def on_open(self, twin: str, _order: dict[str, Any]) -> dict[str, Any]:
        self.opened.append(twin)
        return {"ok": {"pid": 1}}

    def on_trial(
        self, _twin: str, trial: dict[str, Any], begin_ns: int, _seconds: float, fed: dict[str, Any] | None
    ) -> dict[str, Any]:
        self.trials.append(trial)
        self.done += [] if fed is None else fed["chunks"]
        if self.node in self.ray.lost_in_trial:
            self.ray.lost_in_trial.discard(self.node)
            return {"lost": "its worker was killed"}
        late_ns = self.ray.late_ns
        began_ns = begin_ns + late_ns
        return {"ok": answer([1000], began_ns=began_ns, ended_ns=began_ns + 10**9, waited_ns=self.ray.waited_ns)}

    def on_feed(self, _twin: str, number: int, chunk: tuple[int, int] | None, is_next: bool) -> bool:
        self.numbers.append(number)
        if is_next and chunk is not None:
            self.done.append(chunk)
        return chunk is not None or not is_next

    def on_stop(self) -> None:
        self.stops += 1

    def on_close(self, twin: str) -> None:
        self.opened.remove(twin)

    def on_end(self) -> None:
        self.opened.clear()


@dataclass
class FakeRay(FakeRayOfSites):
    cpus: dict[str, float] = field(default_factory=dict)
    """The CPUs of nodes that have not one."""

    own_machine: set[str] = field(default_factory=set)
    lost_in_trial: set[str] = field(default_factory=set)
    late_ns: int = 0
    waited_ns: int = 0
    loses_first: bool = False
    """Whether what was called first returns last."""

    kind = FakeActor

    @property
    def actors(self) -> list[Any]:
        return self.sites

    def nodes(self) -> list[dict[str, Any]]:
        return [{**node, "Resources": {"CPU": self.cpus.get(node["NodeID"], 1.0)}} for node in super().nodes()]

    def wait(self, refs: list[Any], **_more: Any) -> tuple[list[Any], list[Any]]:
        return (refs[-1:], refs[:-1]) if self.loses_first else (refs[:1], refs[1:])


def started(ray: FakeRay, agents: int) -> LoadAgents:
    made = LoadAgents(Cluster(ray, "once more"))
    made.begin(agents)
    return made


def opened(made: LoadAgents, agents: int) -> dict[str, Any]:
    return made.open("t", "p", {}, agents, {}, 5.0)


def connected(ray: FakeRay, agents: int) -> LoadAgents:
    made = started(ray, agents)
    opened(made, agents)
    return made


OPEN: dict[str, Any] = {"seed": 1, "discard": 0, "operations": 1000, "pace": {"kind": "poisson"}}
CLOSED: dict[str, Any] = {**OPEN, "discard": 100, "pace": {"kind": "closed"}}


def trial(made: LoadAgents, job: dict[str, Any] = OPEN) -> dict[str, Any]:
    return made.trial("t", job, 5.0)


def test_agents_are_spread_over_the_nodes_that_have_cpus() -> None:
    ray = FakeRay(["head", "a", "b"], cpus={"head": 0.0})
    started(ray, 5)
    assert sorted(actor.node for actor in ray.actors) == ["a", "a", "a", "b", "b"]


def test_all_agents_are_begun_before_any_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay(["a", "b"])
    there: list[int] = []
    monkeypatch.setattr(ray, "get", lambda ref, timeout=None: (there.append(len(ray.actors)), ref())[1])
    started(ray, 3)
    assert there == [3, 3, 3]


def test_agents_whose_node_dies_while_they_are_placed_go_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay(["a", "b", "c"])
    get = ray.get

    def dies(ref: Any, timeout: float | None = None) -> Any:
        ray.alive[:] = ["a", "c"]
        return get(ref, timeout)

    monkeypatch.setattr(ray, "get", dies)
    made = started(ray, 4)
    assert sorted(agent.node_id for agent in made._agents.values()) == ["a", "a", "c", "c"]
    assert [actor.node for actor in ray.actors if actor.is_killed] == ["b"]


def test_of_agents_that_a_living_node_does_not_take_none_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay(["a", "b"])

    def get(ref: Any, timeout: float | None = None) -> Any:
        del timeout
        if (found := ref())["node"] == "b":
            raise Died("no tdelta there")
        return found

    monkeypatch.setattr(ray, "get", get)
    with pytest.raises(NodeRefused, match="node b: no tdelta there"):
        started(ray, 3)
    assert all(actor.is_killed for actor in ray.actors)


def test_every_agent_is_given_its_segment_of_one_trial() -> None:
    ray = FakeRay(["a", "b"])
    made = connected(ray, 2)
    assert [one["node"] for one in trial(made).values()] == ["a", "b"]
    assert [actor.trials for actor in ray.actors] == [
        [{**OPEN, "segment": {"from": 0, "to": 1, "of": 2}}],
        [{**OPEN, "segment": {"from": 1, "to": 2, "of": 2}}],
    ]
    assert not any(actor.done for actor in ray.actors), "of an open loop nothing is handed out"


def operations(chunks: list[tuple[int, int]]) -> list[int]:
    return [at for first, last in sorted(chunks) for at in range(first, last)]


def test_the_operations_of_a_closed_loop_are_handed_out_but_those_that_are_not_recorded() -> None:
    ray = FakeRay(["a", "b"])
    made = connected(ray, 2)
    trial(made, CLOSED)
    assert operations([chunk for actor in ray.actors for chunk in actor.done]) == list(range(100, 1000))
    assert all(actor.done for actor in ray.actors)
    assert {number for actor in ray.actors for number in actor.numbers} <= {1}
    trial(made, CLOSED)
    assert {number for actor in ray.actors for number in actor.numbers} <= {1, 2}, "each trial has its number"


def test_chunks_are_larger_after_a_trial_whose_agents_waited_for_them() -> None:
    ray = FakeRay(["a"], waited_ns=50_000_000)
    made = connected(ray, 1)
    trial(made, CLOSED)
    assert made._chunk_seconds == 2 * LEAST_SECONDS
    for _ in range(5):
        trial(made, CLOSED)
    assert made._chunk_seconds == load_agents._MOST_CHUNK, "of a trial of a second"
    ray.waited_ns = 0
    for _ in range(20):
        trial(made, CLOSED)
    assert made._chunk_seconds == LEAST_SECONDS


def test_nothing_is_handed_out_any_more_when_an_agent_is_lost() -> None:
    ray = FakeRay(["a", "b"], lost_in_trial={"a"}, loses_first=True)
    made = connected(ray, 2)
    assert "lost" in trial(made, CLOSED)["1"]
    assert 0 < len(operations([chunk for actor in ray.actors for chunk in actor.done])) < 900
    assert 1 not in made._per_second, "another agent will be placed for it"
    ray.loses_first = False
    before = [len(actor.done) for actor in ray.actors]
    made.go_on()
    assert all("ok" in one for one in trial(made, CLOSED).values())
    done = [chunk for actor, count in zip(ray.actors, [*before, 0], strict=True) for chunk in actor.done[count:]]
    assert operations(done) == list(range(100, 1000))


def test_starts_are_told_by_one_clock_whatever_the_clock_of_a_node_says() -> None:
    ray = FakeRay(["a", "b"], own_machine={"a"}, late_ns=7)
    made = connected(ray, 2)
    here, there = trial(made).values()
    assert (here["ok"]["began_ns"], here["ok"]["clock_error_ns"]) == (7, 0)
    assert there["ok"]["began_ns"] == 7
    assert abs(made._agents[2].offset_ns - CLOCK_AHEAD_NS) < 1_000_000_000
    assert there["ok"]["clock_error_ns"] >= 0


def test_the_next_start_is_set_later_where_an_agent_heard_of_one_too_late() -> None:
    ray = FakeRay(["a"], own_machine={"a"}, late_ns=300_000_000)
    made = connected(ray, 1)
    before = made._lead_ns
    trial(made)
    assert made._lead_ns >= 2 * before + 300_000_000
    for _ in range(20):
        trial(made)
    assert made._lead_ns == load_agents._MOST_LEAD_NS


def test_an_agent_that_is_lost_is_said_and_another_is_placed_and_connected_for_it() -> None:
    ray = FakeRay(["a", "b"], lost_in_trial={"b"})
    made = connected(ray, 2)
    found = trial(made)
    assert "ok" in found["1"]
    assert found["2"] == {"lost": "its worker was killed", "node": "b"}
    assert all("ok" in one for one in trial(made).values())
    assert len(ray.actors) == 3
    assert ray.actors[2].opened == ["t"]
    assert ray.actors[1].is_killed


def test_the_agents_of_a_node_that_died_go_to_another() -> None:
    ray = FakeRay(["a", "b"])
    made = connected(ray, 2)
    ray.alive.remove("b")
    assert "the actor on b is dead" in trial(made)["2"]["lost"]
    assert [one["node"] for one in trial(made).values()] == ["a", "a"]


def test_no_node_that_is_left_is_refused_as_such() -> None:
    ray = FakeRay(["a"])
    made = connected(ray, 1)
    ray.alive.clear()
    trial(made)
    with pytest.raises(NoNode):
        trial(made)


def test_a_head_that_does_not_answer_is_refused_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay(["a"], lost_in_trial={"a"})
    made = connected(ray, 1)
    trial(made)

    def silent() -> None:
        raise Died("the head is silent")

    monkeypatch.setattr(ray, "nodes", silent)
    with refused(EnvironmentFault, "ray-head-lost", said="the head is silent", command="once more"):
        opened(made, 1)


def test_closing_a_twin_closes_it_on_every_agent_that_has_it() -> None:
    ray = FakeRay(["a", "b"])
    made = connected(ray, 2)
    made.close("t")
    assert [actor.opened for actor in ray.actors] == [[], []]
    made.close("t")  # once more does nothing


def test_a_twin_is_closed_and_all_ends_while_an_agent_is_lost() -> None:
    ray = FakeRay(["a", "b"], lost_in_trial={"b"})
    made = connected(ray, 2)
    assert "lost" in trial(made)["2"]
    made.close("t")
    assert ray.actors[0].opened == []
    assert ray.actors[2].opened == [], "it was placed for the one that was lost, and never had the twin"
    opened(made, 2)
    ray.lost_in_trial = {"a"}
    trial(made)
    made.cluster.end(made.handles(), 1.0)
    assert all(actor.is_killed for actor in ray.actors)


@pytest.mark.parametrize("text", ["", "\n  \n"])
def test_a_fault_of_ray_that_says_nothing_is_called_by_its_name(text: str) -> None:
    assert words(Died(text)) == "Died"


@given(st.data(), st.integers(1, 64))
def test_every_connection_is_one_agents_and_no_agent_has_two_more_than_another(
    data: st.DataObject, agents: int
) -> None:
    connections = data.draw(st.integers(agents, 300))
    made = segments(connections, agents)
    assert [place for one in made for place in range(one.first, one.last)] == list(range(connections))
    counts = {one.connections for one in made}
    assert len(made) == agents
    assert max(counts) - min(counts) <= 1
    assert {one.of for one in made} == {connections}


@pytest.mark.parametrize("agents", [0, 4])
def test_an_agent_without_a_connection_is_refused(agents: int) -> None:
    with pytest.raises(ValueError, match="3 connections"):
        segments(3, agents)


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
def agent_and_worker(monkeypatch: pytest.MonkeyPatch) -> tuple[Agent, FakeWorker]:
    monkeypatch.setattr(load_agents, "Worker", FakeWorker)
    agent = Agent()
    agent.open("t", {"program": "p", "options": {}, "connections": 1, "work": {}, "patience_seconds": 1.0})
    worker: Any = agent._workers["t"]
    worker.sent.clear()
    return agent, worker


FED = {"number": 3, "chunks": [[0, 5]], "is_complete": False}


def test_an_agent_says_when_its_trial_wants_more_and_hands_on_what_it_is_given(
    agent_and_worker: tuple[Agent, FakeWorker],
) -> None:
    agent, worker = agent_and_worker
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


def test_an_agent_whose_worker_dies_wants_nothing_more(agent_and_worker: tuple[Agent, FakeWorker]) -> None:
    agent, worker = agent_and_worker
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

"""The carrier, with a Ray that is made up: one actor on each node, calls and answers as bytes."""

import base64
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tdelta.driver.agents import carrier as module
from tdelta.driver.agents import cluster
from tdelta.driver.agents.carrier import Carrier

from .test_dispatcher import FakeRay, FakeSite


@dataclass
class FakeActor(FakeSite):
    """An actor that answers a call with what it was called with, its node before it."""

    stops: int = 0

    @property
    def call(self) -> Any:
        return self._call(lambda payload: f"{self.node} ".encode() + payload)

    @property
    def stop(self) -> Any:
        def stop() -> None:
            self.stops += 1

        return SimpleNamespace(remote=stop)


@dataclass
class FakeCluster(FakeRay):
    sites: list[FakeActor] = field(default_factory=list)  # type: ignore[assignment]

    def remote(self, _kind: type) -> Any:
        def made(node: str) -> FakeActor:
            self.sites.append(FakeActor(self, node))
            return self.sites[-1]

        return SimpleNamespace(
            options=lambda **options: SimpleNamespace(remote=lambda: made(options["scheduling_strategy"]))
        )


def begun(ray: FakeCluster, monkeypatch: pytest.MonkeyPatch, nodes: int = 2) -> tuple[Carrier, Any]:
    monkeypatch.setattr(module, "joined", lambda _address, _folder, _cpus: ray)
    monkeypatch.setattr(cluster, "end_all", lambda: None)
    made = Carrier()
    order = {"do": "start", "address": "head:1", "folder": "", "nodes": nodes, "actor": "builtins:object"}
    return made, made.answer(order)


def called(made: Carrier, *numbers: int) -> Any:
    calls = {str(number): base64.b64encode(b"x").decode() for number in numbers}
    return made.answer({"do": "call", "calls": calls})["ok"]


def test_nodes_have_an_actor_each_in_the_order_of_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeCluster(["c", "b", "a"])
    made, said = begun(ray, monkeypatch)
    assert [one["node"] for one in said["ok"]["nodes"]] == ["a", "b"]
    answers = {number: base64.b64decode(one["ok"]) for number, one in called(made, 0, 1).items()}
    assert answers == {"0": b"a x", "1": b"b x"}


def test_too_few_nodes_are_refused_with_how_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    _, said = begun(FakeCluster(["a"]), monkeypatch)
    assert said == {"error": ["too_few_nodes", "1"]}


def test_nodes_that_take_nothing_are_all_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    _, said = begun(FakeCluster(["a", "b", "c"], dying={"a", "c"}), monkeypatch, nodes=3)
    kind, words = said["error"]
    assert kind == "agent"
    assert [node for node in "abc" if f"node {node}: " in words] == ["a", "c"]


def test_a_node_that_died_is_lost_and_the_others_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeCluster(["a", "b"])
    made, _ = begun(ray, monkeypatch)
    ray.alive.remove("a")
    assert "lost" in called(made, 0)["0"]
    assert "ok" in called(made, 1)["1"]


def test_a_node_that_died_of_its_head_is_not_what_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeCluster(["a", "b"])
    made, _ = begun(ray, monkeypatch)

    def silent() -> None:
        raise OSError("the head does not answer")

    monkeypatch.setattr(ray, "nodes", silent)
    ray.alive.clear()
    said = made.answer({"do": "call", "calls": {"0": base64.b64encode(b"x").decode()}})
    assert said["error"][0] == "head_lost"


def test_at_the_end_actors_stop_what_they_are_at_end_and_are_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeCluster(["a", "b"])
    made, _ = begun(ray, monkeypatch)
    made.leave()
    made.end()
    assert [(one.stops, one.is_killed) for one in ray.sites] == [(1, True), (1, True)]
    assert ray.is_shut

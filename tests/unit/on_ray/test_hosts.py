"""Hosts, with a Ray that is made up: one actor on each node, calls and answers."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from support.refused import refused
from tdelta.errors import EnvironmentFault
from tdelta.ray import cluster
from tdelta.ray.bridge import packed, unpacked
from tdelta.ray.cluster import BridgeHost, Cluster, NodeRefused
from tdelta.ray.hosts import Hosts, Lost

from .test_fleet import FakeRay, FakeSite


@dataclass
class FakeActor(FakeSite):
    """An actor that answers a call with what it was called with, its node before it."""

    stops: int = 0

    @property
    def call(self) -> Any:
        return self._call(lambda sent: f"{self.node} {sent}")

    @property
    def stop(self) -> Any:
        def stop() -> None:
            self.stops += 1

        return SimpleNamespace(remote=stop)


class FakeCluster(FakeRay):
    kind = FakeActor


def begun(ray: FakeCluster, nodes: int = 2) -> tuple[Hosts, Any]:
    made = Hosts(Cluster(ray, "once more"))
    return made, made.begin(nodes, "builtins:object")


def test_nodes_have_an_actor_each_in_the_order_of_their_names() -> None:
    made, said = begun(FakeCluster(["c", "b", "a"]))
    assert [one["node"] for one in said] == ["a", "b"]
    assert made.carry({0: "x", 1: "x"}) == {0: "a x", 1: "b x"}


def test_too_few_nodes_are_refused_with_how_many_there_are() -> None:
    with refused(EnvironmentFault, "too-few-hosts", expected=2, found=1):
        begun(FakeCluster(["a"]))


def test_nodes_that_take_nothing_are_all_named_at_once() -> None:
    with pytest.raises(NodeRefused) as caught:
        begun(FakeCluster(["a", "b", "c"], dying={"a", "c"}), nodes=3)
    assert [node for node in "abc" if f"node {node}: " in str(caught.value)] == ["a", "c"]


def test_a_node_that_died_is_lost_and_the_others_answer() -> None:
    ray = FakeCluster(["a", "b"])
    made, _ = begun(ray)
    ray.alive.remove("a")
    assert isinstance(made.carry({0: "x"})[0], Lost)
    assert made.carry({1: "x"}) == {1: "b x"}


def test_a_node_that_died_of_its_head_is_not_what_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeCluster(["a", "b"])
    made, _ = begun(ray)

    def silent() -> None:
        raise OSError("the head does not answer")

    monkeypatch.setattr(ray, "nodes", silent)
    ray.alive.clear()
    with refused(EnvironmentFault, "ray-head-lost"):
        made.carry({0: "x"})


def test_at_the_end_actors_stop_what_they_are_at_end_and_are_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster.tree, "kill", lambda *_: True)  # it kills what is below this process
    ray = FakeCluster(["a", "b"])
    host = BridgeHost()
    host._held, _ = begun(ray)
    host.end()
    assert [(one.stops, one.is_killed) for one in ray.sites if isinstance(one, FakeActor)] == [(1, True), (1, True)]
    assert ray.is_shut


def test_what_the_object_raises_is_answered_as_an_error_of_tdeltas() -> None:
    host = BridgeHost()
    host._held, _ = begun(FakeCluster(["a", "b"], dying={"c"}))
    call = {"do": "call", "call": packed(("begin", (9, "builtins:object")))}
    found = unpacked(host.do_call(call)["value"])
    assert [one.code for one in found.refusals] == ["too-few-hosts"]
    host._held.cluster.ray.dying = {"a"}
    found = unpacked(host.do_call({**call, "call": packed(("begin", (2, "builtins:object")))})["value"])
    assert [(one.code, one.parameters["what"]) for one in found.refusals] == [("node-unusable", "a host")]
    host._held.cluster.ray.alive = []
    found = unpacked(host.do_call({**call, "call": packed(("begin", (0, "builtins:object")))})["value"])
    assert [one.code for one in found.refusals] == ["no-node-left"]

"""A fleet, with a Ray that is made up: one run on a node at a time, and what of nodes that die."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from support.refused import Part, coded, refused
from tdelta.errors import EnvironmentFault
from tdelta.messages import Refusal
from tdelta.processes.rpc import ParentGone
from tdelta.ray import cluster
from tdelta.ray import fleet as module
from tdelta.ray.bridge import Bridge
from tdelta.ray.cluster import Cluster, NoNode
from tdelta.ray.fleet import Ended, Fleet, Sites


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is waited for that does not come."""
    monkeypatch.setattr(module, "NODE_SECONDS", 0.0)
    for name in ("LOOK_SECONDS", "_PAUSE_SECONDS"):
        monkeypatch.setattr(cluster, name, 0.001)
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.001)


class Died(Exception):
    pass


class ActorUnschedulableError(Exception):
    """As Ray's, where a node that was asked does not know the one that is meant."""


class RayActorError(Exception):
    """As Ray's, of an actor that has died; its class's own error where it failed as it was made."""

    actor_init_failed = False


class FailedAsMade(RayActorError):
    actor_init_failed = True


@dataclass
class FakeSite:
    ray: FakeRay
    node: str
    is_killed: bool = False
    is_ended: bool = False

    def _call(self, found: Callable[..., Any]) -> Any:
        def remote(*args: Any) -> Callable[[], Any]:
            def get() -> Any:
                if self.node not in self.ray.alive or self.node in self.ray.dying:
                    raise Died(f"the actor on {self.node} is dead")
                if self.ray.faults.get(self.node):
                    raise self.ray.faults[self.node].pop(0)
                return found(*args)

            return get

        return SimpleNamespace(remote=remote)

    @property
    def hello(self) -> Any:
        return self._call(lambda: {"node": self.node, "version": self.ray.versions.get(self.node, "1")})

    @property
    def run(self) -> Any:
        return self._call(lambda words: {"ok": {"code": 0, "run_id": words[0], "pack": "", "said": ""}})

    @property
    def end(self) -> Any:
        def remote() -> None:
            self.is_ended = True

        return SimpleNamespace(remote=remote)


@dataclass
class FakeRay:
    alive: list[str]
    dying: set[str] = field(default_factory=set)
    versions: dict[str, str] = field(default_factory=dict)
    sites: list[FakeSite] = field(default_factory=list)
    faults: dict[str, list[Exception]] = field(default_factory=dict)
    late: dict[str, int] = field(default_factory=dict)
    """How often it is asked for its nodes until it names these, too."""

    is_shut: bool = False
    kind: ClassVar[type[Any]] = FakeSite
    exceptions = SimpleNamespace(ActorUnschedulableError=ActorUnschedulableError, RayActorError=RayActorError)

    def nodes(self) -> list[dict[str, Any]]:
        self.late = {name: looks - 1 for name, looks in self.late.items()}
        self.alive += [name for name, looks in self.late.items() if looks == 0]
        return [
            {"NodeID": name, "NodeManagerHostname": name, "Alive": True, "Resources": {"CPU": 1}} for name in self.alive
        ]

    @property
    def util(self) -> Any:
        affinity = lambda node, soft: node  # noqa: E731
        return SimpleNamespace(scheduling_strategies=SimpleNamespace(NodeAffinitySchedulingStrategy=affinity))

    def remote(self, _kind: type) -> Any:
        def made(node: str) -> FakeSite:
            self.sites.append(self.kind(self, node))
            return self.sites[-1]

        return SimpleNamespace(
            options=lambda **options: SimpleNamespace(remote=lambda: made(options["scheduling_strategy"]))
        )

    def get(self, refs: Any, timeout: float | None = None) -> Any:
        del timeout
        return [ref() for ref in refs] if isinstance(refs, list) else refs()

    def wait(self, refs: list[Any], **_more: Any) -> tuple[list[Any], list[Any]]:
        return refs[:1], refs[1:]

    def kill(self, site: FakeSite) -> None:
        site.is_killed = True

    def shutdown(self) -> None:
        self.is_shut = True


def on(ray: FakeRay) -> Fleet:
    return Fleet(Cluster(ray, "the same command"))


def placed(made: Fleet, name: str) -> Any:
    found = made.place(name, [name], "1")
    return (found.code, found.parameters["what"]) if isinstance(found, Refusal) else found


def ended(made: Fleet) -> Any:
    return made.next(0.0)


OTHER, BROKEN = ("version-mismatch", "node n1"), ("node-unusable", "node n1")


def test_a_node_has_one_run_at_a_time() -> None:
    ray = FakeRay(["n1", "n2"])
    made = on(ray)
    assert [placed(made, name) for name in "abc"] == ["n1", "n2", None]
    assert ended(made) == Ended("a", "n1", run_id="a")
    assert ray.sites[0].is_killed
    assert placed(made, "c") == "n1"


def test_a_run_whose_node_dies_is_lost_and_where_none_is_left_it_is_refused() -> None:
    ray = FakeRay(["n1"])
    made = on(ray)
    placed(made, "a")
    ray.alive.clear()
    assert ended(made) == Ended("a", "n1", lost="the actor on n1 is dead")
    with pytest.raises(NoNode):
        placed(made, "b")


def test_a_node_that_takes_no_run_is_left_out_and_others_are_not() -> None:
    ray = FakeRay(["n1", "n2"], dying={"n1"})
    made = on(ray)
    assert [placed(made, name) for name in "aab"] == [BROKEN, "n2", None]
    assert len(ray.sites) == 2, "it is not tried again"


def test_a_node_with_another_tdelta_is_left_out_and_where_all_have_none_is_left() -> None:
    ray = FakeRay(["n1", "n2"], versions={"n1": "0.9"})
    made = on(ray)
    assert placed(made, "a") == OTHER
    assert ray.sites[0].is_killed
    assert placed(made, "a") == "n2"
    ray.alive.remove("n2")
    assert placed(made, "b") is None, "what is under way is heard of first"
    ended(made)
    left = coded("no-node-left", said=Part("n2"), command="the same command")
    with refused(EnvironmentFault, "version-mismatch", left):
        placed(made, "b")
    ray.alive.append("n3")
    assert placed(made, "b") == "n3"


def test_where_all_are_left_out_it_says_why() -> None:
    made = on(FakeRay(["n1"], versions={"n1": "0.9"}))
    placed(made, "a")
    with refused(EnvironmentFault, "version-mismatch"):
        placed(made, "a")


def test_a_node_that_is_left_out_is_said_once_and_the_next_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    why = Refusal.of("node-unusable", what="node n1", said="no module")
    answers = iter([why, "n2", None])
    monkeypatch.setattr(Bridge, "__init__", lambda _self, _address: None)
    monkeypatch.setattr(Bridge, "invoke", lambda _self, *_arguments, seconds: next(answers))
    made = Sites("auto")
    assert made.place("a", []) == "n2"
    assert made.left_out() == (why,)
    assert made.place("b", []) is None
    assert made.left_out() == ()


@pytest.mark.parametrize("there", [[], ["n1"]])
def test_a_node_that_ray_names_late_is_waited_for(there: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NODE_SECONDS", 60.0)
    ray = FakeRay(there, versions={"n1": "0.9"}, late={"n2": 9})
    made = on(ray)
    while (found := placed(made, "a")) == OTHER:
        pass
    assert found == "n2"
    assert ray.late["n2"] <= 0


@pytest.mark.parametrize("nodes", [["n1", "n2"], ["n2", "n1"]])
def test_what_has_no_place_and_why_does_not_depend_on_the_order_of_nodes(nodes: list[str]) -> None:
    ray = FakeRay(nodes, versions={"n1": "0.9"}, faults={"n2": [ActorUnschedulableError(), RayActorError()]})
    made = on(ray)
    assert placed(made, "a") == OTHER
    assert placed(made, "a") == "n2"


@pytest.mark.parametrize("fault", [ActorUnschedulableError, RayActorError])
def test_what_ray_loses_on_its_way_to_a_node_that_is_alive_is_placed_there_again(fault: type[Exception]) -> None:
    ray = FakeRay(["n1"], faults={"n1": [fault("another node died"), fault("once more")]})
    assert placed(on(ray), "a") == "n1"
    assert [site.is_killed for site in ray.sites] == [True, True, False]


def test_a_node_on_which_all_is_lost_for_a_while_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "AGAIN_SECONDS", 0.01)
    faults: list[Exception] = [RayActorError("its process crashed") for _ in range(1000)]
    ray = FakeRay(["n1"], faults={"n1": faults})
    assert placed(on(ray), "a") == BROKEN
    assert all(site.is_killed for site in ray.sites)
    assert 0 < len(faults) < 999, "it was tried again"


def test_a_node_without_tdelta_is_left_out_at_once() -> None:
    ray = FakeRay(["n1"], faults={"n1": [FailedAsMade("no module")]})
    assert placed(on(ray), "a") == BROKEN
    assert len(ray.sites) == 1


def test_what_does_not_answer_is_not_waited_for_when_nobody_asks_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay(["n1"])
    monkeypatch.setattr(FakeRay, "wait", lambda _self, refs, **_more: ([], refs))
    made = on(ray)
    threading.Timer(0.05, made.cluster.is_over.set).start()
    with pytest.raises(ParentGone):
        placed(made, "a")
    assert [site.is_killed for site in ray.sites] == [True]


def test_the_last_node_that_dies_while_a_run_is_placed_ends_nothing_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay(["n1"])

    def die(site: FakeSite) -> None:
        site.is_killed = True
        ray.alive.clear()

    monkeypatch.setattr(ray, "kill", die)
    ray.faults = {"n1": [RayActorError("its node has died")]}
    made = on(ray)
    assert placed(made, "a") is None
    ray.alive.append("n2")
    assert placed(made, "a") == "n2"


def test_nothing_is_waited_for_where_nothing_runs() -> None:
    assert ended(on(FakeRay(["n1"]))) is None


def test_runs_are_asked_to_end_before_their_places_are_killed() -> None:
    ray = FakeRay(["n1"])
    made = on(ray)
    placed(made, "a")
    made.cluster.end(made.handles(), 1.0)
    (site,) = ray.sites
    assert (site.is_ended, site.is_killed, ray.is_shut) == (True, True, True)

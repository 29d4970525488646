"""The dispatcher, with a Ray that is made up: one run on a node at a time, and what of nodes that die."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tdelta.driver.agents import dispatcher as module
from tdelta.driver.agents.dispatcher import Dispatcher


class Died(Exception):
    """As Ray's errors of an actor."""


@dataclass
class FakeSite:
    """A place for a run on a node."""

    ray: FakeRay
    node: str
    is_killed: bool = False
    is_ended: bool = False

    def _call(self, found: Callable[..., Any]) -> Any:
        def remote(*args: Any) -> Callable[[], Any]:
            def get() -> Any:
                if self.node not in self.ray.alive or self.node in self.ray.dying:
                    raise Died(f"the actor on {self.node} is dead")
                return found(*args)

            return get

        return SimpleNamespace(remote=remote)

    @property
    def hello(self) -> Any:
        return self._call(lambda: {"node": self.node, "version": self.ray.versions.get(self.node, "1")})

    @property
    def run(self) -> Any:
        return self._call(lambda words: {"ok": {"words": words}})

    @property
    def end(self) -> Any:
        def end() -> None:
            self.is_ended = True

        return self._call(end)


@dataclass
class FakeRay:
    """What the dispatcher uses of Ray."""

    alive: list[str]
    dying: set[str] = field(default_factory=set)
    versions: dict[str, str] = field(default_factory=dict)
    sites: list[FakeSite] = field(default_factory=list)
    is_shut: bool = False

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {"NodeID": name, "NodeManagerHostname": name, "Alive": True, "Resources": {"CPU": 1}} for name in self.alive
        ]

    @property
    def util(self) -> Any:
        affinity = lambda node, soft: node  # noqa: E731
        return SimpleNamespace(scheduling_strategies=SimpleNamespace(NodeAffinitySchedulingStrategy=affinity))

    def remote(self, _kind: type) -> Any:
        def made(node: str) -> FakeSite:
            self.sites.append(FakeSite(self, node))
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


def on(ray: FakeRay) -> Dispatcher:
    made = Dispatcher()
    made._ray = ray
    return made


def placed(made: Dispatcher, name: str) -> Any:
    return made.answer({"do": "place", "name": name, "words": [name], "version": "1"})


def ended(made: Dispatcher) -> Any:
    return made.answer({"do": "next", "patience_seconds": 0.0})["ok"]


def test_a_node_has_one_run_at_a_time() -> None:
    ray = FakeRay(["n1", "n2"])
    made = on(ray)
    nodes = [placed(made, name)["ok"]["node"] for name in "abc"]
    assert nodes == ["n1", "n2", None]
    assert ended(made) == {"name": "a", "node": "n1", "ok": {"words": ["a"]}}
    assert ray.sites[0].is_killed
    assert placed(made, "c")["ok"]["node"] == "n1"


def test_a_run_whose_node_dies_is_lost_and_where_none_is_left_it_is_refused() -> None:
    ray = FakeRay(["n1"])
    made = on(ray)
    placed(made, "a")
    ray.alive.clear()
    assert ended(made) == {"name": "a", "node": "n1", "lost": "the actor on n1 is dead"}
    assert placed(made, "b")["error"][0] == "no_node"


def test_a_node_that_takes_no_run_is_left_out_and_others_are_not() -> None:
    ray = FakeRay(["n1", "n2"], dying={"n1"})
    made = on(ray)
    assert placed(made, "a")["ok"] == {"left_out": {"node": "n1", "said": "the actor on n1 is dead"}}
    assert placed(made, "a")["ok"] == {"node": "n2"}
    assert placed(made, "b")["ok"] == {"node": None}
    assert len(ray.sites) == 2, "it is not tried again"


def test_a_node_with_another_tdelta_is_left_out_and_where_all_have_none_is_left() -> None:
    ray = FakeRay(["n1", "n2"], versions={"n1": "0.9"})
    made = on(ray)
    assert placed(made, "a")["ok"] == {"left_out": {"node": "n1", "version": "0.9"}}
    assert ray.sites[0].is_killed
    assert placed(made, "a")["ok"] == {"node": "n2"}
    ended(made)
    ray.alive.remove("n2")
    assert placed(made, "b")["ok"] == {"is_none_left": True}
    ray.alive.append("n3")
    assert placed(made, "b")["ok"] == {"node": "n3"}


def test_nothing_is_waited_for_where_nothing_runs() -> None:
    assert ended(on(FakeRay(["n1"]))) == {}


def test_runs_are_asked_to_end_before_their_places_are_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "end_all", lambda: None)  # it kills what is below this process
    ray = FakeRay(["n1"])
    made = on(ray)
    placed(made, "a")
    made.end()
    (site,) = ray.sites
    assert (site.is_ended, site.is_killed, ray.is_shut) == (True, True, True)

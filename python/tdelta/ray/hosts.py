"""Objects on several nodes, one actor on each: values go there and come back, and errors as they were raised there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from tdelta.errors import EnvironmentFault, TdeltaError
from tdelta.messages import Refusal
from tdelta.processes.workers import is_hurried
from tdelta.ray.bridge import Bridge, packed, unpacked
from tdelta.ray.cluster import Actor, OnCluster, next_free, words

_CALLS = 4
"""How many of an actor's methods Ray may run at once: a call, and a stop beside it."""

_CALL_SECONDS = 86_400.0
"""The called functions have time limits themselves, and Ray reports a node that is gone."""


@dataclass(frozen=True, slots=True)
class Call:
    """A method of an object on a node, with its arguments. ``twin`` names the object; None: all twins together."""

    method: str
    arguments: tuple[Any, ...] = ()
    twin: int | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    words: str


class Hosts(OnCluster):
    """The actors of one run, by their numbers from 0."""

    placed = "a host"
    gentle_seconds = 60.0  # servers are stopped, and folders removed

    _actors: tuple[Actor, ...] = ()

    def begin(self, count: int, actor: str = "") -> list[dict[str, Any]]:
        """Start an actor of a class (``module:Class``) on each of so many nodes."""
        found = len(self.cluster.nodes())
        if found >= count:
            module, _, name = actor.partition(":")

            def choose(nodes: Mapping[str, str], placed: Mapping[int, str]) -> str | None:
                return next_free(nodes, placed.values())  # by name, so that a resumed run numbers the same nodes alike

            placed = self.cluster.place(getattr(import_module(module), name), _CALLS, range(count), choose)
            self._actors = tuple(placed[number] for number in sorted(placed))
            found = len(self._actors)
        if found < count:
            raise EnvironmentFault(Refusal.of("too-few-hosts", expected=count, found=found))
        return [{**one.said, "id": one.node_id} for one in self._actors]

    def carry(self, calls: Mapping[int, str]) -> dict[int, str | Lost]:
        """Call actors by their numbers, all at once; calls and answers are packed.

        Nodes end without their head, too, so that the head is asked before a node is called lost.
        """
        pending = {self._actors[number].handle.call.remote(call): number for number, call in calls.items()}
        found: dict[int, str | Lost] = {}
        while pending and not self.cluster.is_over.is_set():
            for ref, value in self.cluster.returned(pending):
                number = pending.pop(ref)
                if isinstance(value, Exception):
                    self.cluster.nodes()
                    found[number] = Lost(words(value))
                    return found  # what the others do is of no use any more
                found[number] = value
        return found

    def stop(self) -> None:
        for one in self._actors:
            with contextlib.suppress(Exception):
                one.handle.stop.remote()

    def handles(self) -> list[Any]:
        return [one.handle for one in self._actors]


class Nodes(Bridge):
    """Nodes of a Ray cluster with an actor on each, in whose place the process that speaks to Ray is spoken to.

    The class of the actors, ``module:Class``, has ``hello``, ``call``, ``stop`` and ``end``.
    """

    called = "the carrier to the hosts"
    kind = f"{__name__}:Hosts"
    option = "--hosts"
    end_seconds = 90.0
    _are_hurried = False

    def __init__(self, address: str | None, count: int, actor: str) -> None:
        super().__init__(address, count, actor)
        names = [one["node"] for one in self.placed]
        self.names = tuple(
            name if names.count(name) == 1 else f"{name} ({one['id'][:8]})"
            for name, one in zip(names, self.placed, strict=True)
        )

    def call(self, number: int, call: Call) -> Any:
        """Make a call on one node: its value; raises what it raises there, and ``EnvironmentFault`` of a lost node."""
        return self.call_all(call, [number])[0]

    def call_all(self, call: Call, numbers: Iterable[int] | None = None) -> list[Any]:
        """The same on several nodes at once, or on all."""
        wanted = range(len(self.names)) if numbers is None else numbers
        found = self.answers(dict.fromkeys(wanted, call))
        for fault in found:
            if isinstance(fault, TdeltaError):
                raise fault
        return found

    def answers(self, calls: Mapping[int, Call]) -> list[Any]:
        """The values of calls on nodes, all at once and in their order, or errors that were raised there."""
        sent = {number: packed(call) for number, call in calls.items()}
        answers = self.invoke("carry", sent, seconds=_CALL_SECONDS)
        for number, answer in answers.items():
            if isinstance(answer, Lost):
                raise EnvironmentFault(Refusal.of("host-lost", node=self.names[number], why=answer.words))
        return [self._value(number, answers[number]) for number in calls]

    def look(self) -> None:
        """See whether the bridge stands stopped; after a Ctrl-C, have what is under way on the nodes end, too.

        A trial is asked to stop by its twin; a load, a start or the reading of rows is not a trial.
        """
        super().look()
        if is_hurried() and not self._are_hurried:
            self._are_hurried = True
            self.send("stop")

    def _value(self, number: int, answer: str) -> Any:
        found = unpacked(answer)
        if isinstance(found, TdeltaError):
            place = f"node {self.names[number]}"
            found.refusals = tuple(said.at(place) for said in found.refusals)
            found.args = (f"{place}: {found}",)
        return found

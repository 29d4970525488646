"""The session's side of actors on other nodes: values go there and come back, and errors as they were raised.

Values are pickled, as Ray itself does it: whoever can join the cluster can run programs on its nodes anyway.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tdelta.driver.agents.cluster import placing_seconds
from tdelta.driver.agents.host import tdelta_version
from tdelta.driver.agents.pool import RayWorker, ray_refused
from tdelta.driver.workers import is_hurried
from tdelta.errors import EnvironmentFault, TdeltaError
from tdelta.messages import Refusal

_CARRIER = "tdelta.driver.agents.carrier"
_START_SECONDS = 90.0
"""How long Ray may take to start, or to answer, beside what is placed."""

_END_SECONDS = 90.0
_CALL_SECONDS = 86_400.0
"""What is called has time limits itself, and Ray says when a node is gone."""


@dataclass(frozen=True, slots=True)
class Call:
    """A method of an object on a node, with its arguments. ``twin`` names the object; None: all twins together."""

    method: str
    arguments: tuple[Any, ...] = ()
    twin: int | None = None


def packed(value: object) -> bytes:
    return pickle.dumps(value)


def unpacked(payload: bytes) -> Any:
    return pickle.loads(payload)  # noqa: S301 - of a process of the user's cluster, see above


class Nodes(RayWorker):
    """Nodes of a Ray cluster with an actor on each, in whose place the carrier is spoken to. Call `end`.

    Args:
        actor: the class of the actors, ``module:Class``. It has ``hello``, ``call``, ``stop`` and ``end``.

    Raises:
        EnvironmentFault: Ray cannot be had, or there are fewer nodes; one has another version of tdelta.
    """

    called = "the carrier to the hosts"

    def __init__(self, address: str | None, count: int, actor: str) -> None:
        super().__init__(_CARRIER, address)
        self._are_hurried = False
        self._failed = lambda kind, said: _refused(kind, said, count)
        try:
            folder = "" if self.folder is None else str(self.folder)
            order = {"address": address, "folder": folder, "nodes": count, "actor": actor}
            said = self.request("start", _START_SECONDS + placing_seconds(count), **order)["nodes"]
            self.names = _distinct([(one["node"], one["id"]) for one in said])
            own = tdelta_version()
            others = [f"{one['version'] or 'unknown'} on {one['node']}" for one in said if one["version"] != own]
            if others:
                raise EnvironmentFault(
                    Refusal.of(
                        "version-mismatch",
                        what="--hosts",
                        expected=f"tdelta {own} on every node",
                        found=", ".join(others),
                    )
                )
        except BaseException:
            self.end()
            raise

    def call(self, number: int, call: Call) -> Any:
        """What a call on one node returns; raises what it raises there, and ``EnvironmentFault`` of a lost node."""
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
        """What calls on nodes return, all at once and in their order; what one raises there stands in its place.

        Raises:
            EnvironmentFault: a node was lost meanwhile.
        """
        sent = {str(number): base64.b64encode(packed(call)).decode() for number, call in calls.items()}
        answers = self.request("call", _CALL_SECONDS, calls=sent)
        for number in calls:
            if "lost" in answers.get(str(number), {}):
                why = answers[str(number)]["lost"]
                raise EnvironmentFault(Refusal.of("host-lost", node=self.names[number], why=why))
        return [self._value(number, answers[str(number)]) for number in calls]

    def look(self) -> None:
        """See whether the carrier stands stopped; after a Ctrl-C, have what is under way on the nodes end, too.

        A trial is asked to stop by its twin; a load, a start or the reading of rows is not a trial.
        """
        super().look()
        if is_hurried() and not self._are_hurried:
            self._are_hurried = True
            self.send("stop")

    def end(self) -> None:
        """End what runs on the nodes; nothing of it stays."""
        self.leave(_END_SECONDS)

    def _value(self, number: int, answer: Mapping[str, str]) -> Any:
        found = unpacked(base64.b64decode(answer["ok"]))
        if isinstance(found, TdeltaError):
            place = f"node {self.names[number]}"
            found.refusals = tuple(said.at(place) for said in found.refusals)
            found.args = (f"{place}: {found}",)
        return found


def _distinct(nodes: list[tuple[str, str]]) -> tuple[str, ...]:
    """The names of nodes; where several have the same, with what Ray calls them."""
    names = [name for name, _ in nodes]
    return tuple(name if names.count(name) == 1 else f"{name} ({of[:8]})" for name, of in nodes)


def _refused(kind: str, said: str, count: int) -> TdeltaError:
    if kind == "too_few_nodes":
        return EnvironmentFault(Refusal.of("too-few-hosts", expected=count, found=int(said)))
    if kind == "agent":
        return EnvironmentFault(Refusal.of("node-unusable", what="a host", said=said))
    return ray_refused(kind, said)

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
    """A value, or an error, as bytes."""
    return pickle.dumps(value)


def unpacked(payload: bytes) -> Any:
    """The value again."""
    return pickle.loads(payload)  # noqa: S301 - of a process of the user's cluster, see above


class Nodes(RayWorker):
    """Nodes of a Ray cluster with an actor on each, in whose place the carrier is spoken to. Call `end`.

    Args:
        address: of the cluster.
        count: how many nodes.
        actor: the class of the actors, ``module:Class``. It has ``hello``, ``call``, ``stop`` and ``end``.

    Raises:
        EnvironmentFault: Ray cannot be had, or there are fewer nodes; one has another version of tdelta.
    """

    called = "the carrier to the hosts"

    def __init__(self, address: str | None, count: int, actor: str) -> None:
        super().__init__(_CARRIER, address)
        self._failed = lambda kind, said: _refused(kind, said, count)
        try:
            folder = "" if self.folder is None else str(self.folder)
            order = {"address": address, "folder": folder, "nodes": count, "actor": actor}
            said = self.request("start", _START_SECONDS + placing_seconds(count), **order)["nodes"]
            self.names = _distinct([(one["node"], one["id"]) for one in said])
            own = tdelta_version()
            others = [f"{one['version'] or 'unknown'} on {one['node']}" for one in said if one["version"] != own]
            if others:
                raise EnvironmentFault(Refusal.of("hosts-of-other-version", own=own, found=", ".join(others)))
        except BaseException:
            self.end()
            raise

    def call(self, number: int, call: Call) -> Any:
        """What a call on one node returns; raises what it raises there, and ``EnvironmentFault`` of a lost node."""
        return self.call_all(call, [number])[0]

    def call_all(self, call: Call, numbers: Iterable[int] | None = None) -> list[Any]:
        """The same on several nodes at once, or on all."""
        wanted = list(range(len(self.names)) if numbers is None else numbers)
        payload = base64.b64encode(packed(call)).decode()
        answers = self.request("call", _CALL_SECONDS, calls=dict.fromkeys(map(str, wanted), payload))
        for number in wanted:
            if "lost" in answers.get(str(number), {}):
                raise EnvironmentFault(
                    Refusal.of("host-lost", node=self.names[number], why=answers[str(number)]["lost"])
                )
        return [self._value(number, answers[str(number)]) for number in wanted]

    def end(self) -> None:
        """End what runs on the nodes; nothing of it stays."""
        self.leave(_END_SECONDS)

    def _value(self, number: int, answer: Mapping[str, str]) -> Any:
        found = unpacked(base64.b64decode(answer["ok"]))
        if isinstance(found, TdeltaError):
            found.args = (f"node {self.names[number]}: {found}",)
            raise found
        return found


def _distinct(nodes: list[tuple[str, str]]) -> tuple[str, ...]:
    """The names of nodes; where several have the same, with what Ray calls them."""
    names = [name for name, _ in nodes]
    return tuple(name if names.count(name) == 1 else f"{name} ({of[:8]})" for name, of in nodes)


def _refused(kind: str, said: str, count: int) -> TdeltaError:
    if kind == "too_few_nodes":
        return EnvironmentFault(Refusal.of("too-few-hosts", expected=count, found=said))
    if kind == "agent":
        return EnvironmentFault(Refusal.of("host-not-usable", said=said))
    return ray_refused(kind, said)

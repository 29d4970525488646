"""The process that speaks to Ray, and the only one of tdelta's that imports it besides Ray's own.

It joins a cluster and holds one object, of a class that the session names (`OnCluster`), whose methods the session
calls (`tdelta.ray.bridge`). When its input ends, it ends what was placed on nodes, and a Ray that it started,
whose folder it removes. Nodes are those that have CPUs; a Ray head that is to have nothing placed on it is started with
``--num-cpus=0``.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from tdelta import own_folders
from tdelta.errors import EnvironmentFault, TdeltaError
from tdelta.messages import Refusal
from tdelta.processes import process_tree as tree
from tdelta.processes.rpc import Host, ParentGone, Reply, Request, serve
from tdelta.ray.bridge import (
    AGAIN_SECONDS,
    Node,
    hello_seconds,
    packed,
    placing_seconds,
    ray_missing,
    unpacked,
)

Name = TypeVar("Name", bound=Hashable)

STOP_SECONDS = 10.0
_STORE_BYTES = 80 << 20
"""Ray's own store of objects, which nothing of ours goes through; it takes no less than 75 MiB."""

NODE_SECONDS = 30.0
"""How long a node is waited for where there is none: as long as Ray gives one to register."""

_PAUSE_SECONDS = 0.5
LOOK_SECONDS = 0.5


class NodeRefused(Exception):
    """Nodes that are alive do not take what was to be placed on them: by their ids, their names and why."""

    def __init__(self, nodes: Mapping[str, tuple[str, str]]) -> None:
        super().__init__("; ".join(f"node {node}: {said}" for node, said in nodes.values()))
        self.nodes = nodes


class NoNode(Exception):
    """No node is left."""


@dataclass(frozen=True, slots=True)
class Actor:
    handle: Any
    node_id: str
    said: Mapping[str, Any]


def next_free(nodes: Mapping[str, str], taken: Collection[str]) -> str | None:
    """The first node by its name, then its id, that is not taken; ``nodes`` are names by ids."""
    free = (node for node in nodes if node not in taken)
    return min(free, key=lambda node: (nodes[node], node), default=None)


class Cluster:
    """A Ray cluster that was joined; ``resumed_by`` is how users go on where it is lost."""

    def __init__(self, ray: Any, resumed_by: str) -> None:
        self.ray = ray
        self.resumed_by = resumed_by
        self.is_over = threading.Event()
        """Set when nobody waits any more."""

    @classmethod
    def joined(cls, address: str | None, folder: str, cpus: int, resumed_by: str) -> Cluster:
        """Join a cluster; without an address one of this machine's, made in a folder."""
        try:
            ray: Any = importlib.import_module("ray")
            importlib.import_module("ray.util.scheduling_strategies")
        except ImportError as fault:
            raise ray_missing() from fault
        own = {"num_cpus": cpus, "include_dashboard": False, "object_store_memory": _STORE_BYTES, "_temp_dir": folder}
        try:
            ray.init(address=address or "local", log_to_driver=False, logging_level="ERROR", **({} if address else own))
        except Exception as fault:  # of many kinds, none of them documented
            raise EnvironmentFault(Refusal.of("ray-not-reached", said=words(fault))) from fault
        return cls(ray, resumed_by)

    def nodes(self) -> dict[str, str]:
        """The nodes that are alive and have CPUs: their names by their ids."""
        try:
            known = self.ray.nodes()
        except Exception as fault:  # of many kinds, none of them documented
            lost = Refusal.of("ray-head-lost", said=words(fault), command=self.resumed_by)
            raise EnvironmentFault(lost) from fault
        return {
            one["NodeID"]: one["NodeManagerHostname"]
            for one in known
            if one["Alive"] and one["Resources"].get("CPU", 0) > 0
        }

    def no_node_left(self, said: object) -> EnvironmentFault:
        return EnvironmentFault(Refusal.of("no-node-left", said=said, command=self.resumed_by))

    def returned(self, calls: Iterable[Any]) -> list[tuple[Any, Any]]:
        """The calls that have returned within a moment, each with its value; with an exception of Ray's in its place
        where the actor or its node is lost."""
        done, _ = self.ray.wait(list(calls), num_returns=1, timeout=LOOK_SECONDS)
        return [(call, self._value(call)) for call in done]

    def _value(self, call: Any) -> Any:
        try:
            return self.ray.get(call)
        except Exception as fault:
            return fault

    def kill(self, handle: Any) -> None:
        with contextlib.suppress(Exception):
            self.ray.kill(handle)

    def place(
        self,
        kind: type[Node],
        calls: int,
        names: Iterable[Name],
        choose: Callable[[Mapping[str, str], Mapping[Name, str]], str | None],
    ) -> dict[Name, Actor]:
        """Start actors at the same time, and again those that are lost meanwhile: elsewhere where their node died.

        So many ``calls`` of an actor's methods run at once; ``choose`` gives the next node, by the nodes' names by id
        and the nodes' ids by what is placed by now. Returns those for which there was one.

        Raises:
            NodeRefused: one that is alive does not take them; then none of them stays, nor in the following cases.
            NoNode: no node is left.
            ParentGone: nobody waits any more.
        """
        placed: dict[Name, Actor] = {}
        open_names = list(names)
        give_up = time.monotonic() + placing_seconds(len(open_names))
        since: dict[str, float] = {}
        try:
            while True:
                begun = self._begun(kind, calls, open_names, placed, choose)
                found, lost = self._greeted(begun, give_up)
                placed |= found
                if not lost:
                    return placed
                if self.is_over.is_set():
                    raise ParentGone
                self._require_again({begun[name].node_id: fault for name, fault in lost.items()}, since, give_up)
                open_names = list(lost)
                self.is_over.wait(_PAUSE_SECONDS)
        except BaseException:
            for one in placed.values():
                self.kill(one.handle)
            raise

    def _require_again(self, lost: Mapping[str, Exception], since: dict[str, float], give_up: float) -> None:
        """See that there is time for another try on nodes where something was lost, ``since`` when."""
        alive = self.nodes()
        now = time.monotonic()
        refusing = {}
        for node, fault in lost.items():
            if node in alive:
                end = min(give_up, since.setdefault(node, now) + AGAIN_SECONDS)
                if now >= end or not self._is_of_ray(fault):
                    refusing[node] = alive[node], words(fault)
        if refusing:
            raise NodeRefused(refusing)
        if now >= give_up:
            raise NoNode("every node on which something was to be placed has died")

    def _is_of_ray(self, fault: Exception) -> bool:
        """Whether Ray may have lost an actor for a cause that is not its node's.

        Ray may ask any node where an actor is to run: one that has just died takes the actor with it (an
        ``ActorDiedError``), and one that has just come does not know the others yet (``ActorUnschedulableError``; see
        https://github.com/ray-project/ray/issues/64285).
        """
        errors = self.ray.exceptions
        is_lost = isinstance(fault, (errors.ActorUnschedulableError, errors.RayActorError))
        return is_lost and not getattr(fault, "actor_init_failed", False)

    def _begun(
        self,
        kind: type[Node],
        calls: int,
        names: Sequence[Name],
        placed: Mapping[Name, Actor],
        choose: Callable[[Mapping[str, str], Mapping[Name, str]], str | None],
    ) -> dict[Name, Actor]:
        nodes = self.nodes()
        if not nodes:
            raise NoNode("no node of the Ray cluster that has CPUs is alive")
        chosen = {name: one.node_id for name, one in placed.items()}
        affinity = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        begun = {}
        for name in names:
            if (node := choose(nodes, chosen)) is None:
                continue
            chosen[name] = node
            made = self.ray.remote(kind).options(
                num_cpus=0, max_concurrency=calls, scheduling_strategy=affinity(node, soft=False)
            )
            begun[name] = Actor(made.remote(), node, {})
        return begun

    def _greeted(self, begun: Mapping[Name, Actor], give_up: float) -> tuple[dict[Name, Actor], dict[Name, Exception]]:
        """Those that answer, and what Ray says of the others, which are killed."""
        seconds = min(hello_seconds(len(begun)), max(0.0, give_up - time.monotonic()))
        end = time.monotonic() + seconds
        pending = {one.handle.hello.remote(): name for name, one in begun.items()}
        found: dict[Name, Actor] = {}
        lost: dict[Name, Exception] = {}
        while pending and not self.is_over.is_set() and time.monotonic() < end:
            for call, said in self.returned(pending):
                name = pending.pop(call)
                if isinstance(said, Exception):
                    lost[name] = said
                else:
                    found[name] = Actor(begun[name].handle, begun[name].node_id, said)
        lost |= {name: TimeoutError(f"no answer within {seconds:.0f} s") for name in pending.values()}
        for name in lost:
            self.kill(begun[name].handle)
        return found, lost

    def end(self, handles: Sequence[Any], seconds: float) -> None:
        """Have actors end what they have started, within so many seconds, and leave the cluster."""
        with contextlib.suppress(Exception):
            self.ray.wait([one.end.remote() for one in handles], num_returns=len(handles), timeout=seconds)
        for one in handles:
            self.kill(one)
        with contextlib.suppress(Exception):
            self.ray.shutdown()


class OnCluster:
    """An object that works with a cluster; its methods are called by the session, through the process that holds it."""

    placed: ClassVar[str]
    """A word for what it places on nodes."""

    gentle_seconds: ClassVar[float] = 5.0
    """How long its actors may take to end what they have started."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def begin(self, _count: int) -> list[dict[str, Any]]:
        """Place so many actors; returns what each says of itself."""
        return []

    def handles(self) -> list[Any]:
        raise NotImplementedError

    def stop(self) -> None:
        """Have what is under way end; called from another thread."""

    def go_on(self) -> None:
        """Go on after the end of a call that was stopped. Called from another thread."""


def words(fault: Exception) -> str:
    """Ray's own words, the last line of its traceback that says anything."""
    lines = [line.strip() for line in str(fault).splitlines() if line.strip()]
    return lines[-1] if lines else type(fault).__name__


class BridgeHost(Host):
    is_supervisor = True
    listens = True

    def __init__(self) -> None:
        super().__init__()
        self._held: OnCluster | None = None
        self._folder = ""

    def do_start(self, request: Request) -> Reply:
        """Join a cluster, or start a Ray of this machine's, and make the object whose methods are called."""
        self._folder = request["folder"]
        module, _, name = request["kind"].partition(":")

        def start() -> None:
            kind = getattr(importlib.import_module(module), name)
            self._held = kind(Cluster.joined(request["address"], self._folder, request["cpus"], request["resumed_by"]))

        return self._answered(start)

    def do_call(self, request: Request) -> Reply:
        method, arguments = unpacked(request["call"])
        return self._answered(lambda: getattr(self._held, method)(*arguments))

    def _answered(self, does: Callable[[], Any]) -> Reply:
        try:
            found = does()
        except TdeltaError as fault:
            found = fault
        except NodeRefused as fault:
            what = "" if self._held is None else self._held.placed
            found = EnvironmentFault(Refusal.of("node-unusable", what=what, said=str(fault)))
        except NoNode as fault:
            assert self._held is not None  # noqa: S101 - who looks for a node is there
            found = self._held.cluster.no_node_left(str(fault))
        return {"value": packed(found)}

    def now_stop(self, _request: Request) -> None:
        if self._held is not None:
            self._held.stop()

    def heard(self, _request: Request) -> None:
        if self._held is not None:
            self._held.go_on()

    def leave(self) -> None:
        if self._held is not None:
            self._held.cluster.is_over.set()

    def end(self) -> None:
        if self._held is not None:
            self.leave()
            self._held.stop()
            self._held.cluster.end(self._held.handles(), self._held.gentle_seconds)
        tree.kill(os.getpid(), STOP_SECONDS)
        if self._folder:
            own_folders.remove(Path(self._folder))


if __name__ == "__main__":
    from tdelta.ray import (
        cluster,  # this module as others import it, whose classes those of this name are not
    )

    serve(cluster.BridgeHost())

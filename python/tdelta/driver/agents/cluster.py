"""What coordinator, dispatcher and carrier share: a Ray cluster, what is placed on its nodes, and their service."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from tdelta import own_folders
from tdelta.driver.tree import living
from tdelta.driver.worker_protocol import Host, Reply, listen
from tdelta.measure.private import UMASK
from tdelta.measure.starting import raise_open_files

Name = TypeVar("Name", bound=Hashable)

STOP_SECONDS = 10.0
_STORE_BYTES = 80 << 20
"""Ray's own store of objects, which nothing of ours goes through; it takes no less than 75 MiB."""

_HELLO_SECONDS = 90.0
_HELLO_SECONDS_EACH = 15.0
"""How much longer may take for each that is placed: nodes may be on one machine, and busy."""

NODE_SECONDS = 30.0
"""How long a node is waited for where there is none: as long as Ray gives one to register."""

_AGAIN_SECONDS = 30.0
"""How long what Ray loses on its way to a node that is alive is placed there again."""

_PAUSE_SECONDS = 0.5
LOOK_SECONDS = 0.5
_REAP_SECONDS = 0.02
_PR_SET_CHILD_SUBREAPER = 36


class Refused(Exception):
    """An order that cannot be carried out, its kind first."""


def joined(address: str | None, folder: str, cpus: int) -> Any:
    """Ray, joined to a cluster; without an address to one of this machine's, made in a folder.

    Raises:
        Refused: Ray is not installed, or does not come up.
    """
    try:
        ray: Any = importlib.import_module("ray")
        importlib.import_module("ray.util.scheduling_strategies")
    except ImportError as fault:
        raise Refused("ray_missing", str(fault)) from fault
    local = {
        "num_cpus": cpus,
        "include_dashboard": False,
        "object_store_memory": _STORE_BYTES,
        "_temp_dir": folder,
    }
    try:
        ray.init(
            address=address or "local",
            log_to_driver=False,
            logging_level="ERROR",
            **({} if address else local),
        )
    except Exception as fault:  # of many kinds, none of them documented
        raise Refused("ray", words(fault)) from fault
    return ray


def nodes_of(ray: Any) -> dict[str, str]:
    """The nodes that are alive and have CPUs: their names by their ids.

    Raises:
        Refused: the head, which knows them, does not answer.
    """
    try:
        known = ray.nodes()
    except Exception as fault:  # of many kinds, none of them documented
        raise Refused("head_lost", words(fault)) from fault
    return {
        one["NodeID"]: one["NodeManagerHostname"]
        for one in known
        if one["Alive"] and one["Resources"].get("CPU", 0) > 0
    }


class NodeRefused(Refused):
    """Nodes that are alive do not take what was to be placed on them: by their ids, their names and why."""

    def __init__(self, nodes: Mapping[str, tuple[str, str]]) -> None:
        super().__init__("agent", "; ".join(f"node {node}: {said}" for node, said in nodes.values()))
        self.nodes = nodes


@dataclass(frozen=True, slots=True)
class Actor:
    """What was placed on a node, and what it said of itself."""

    handle: Any
    node_id: str
    said: Mapping[str, Any]


def hello_seconds(count: int) -> float:
    """How long so many that are placed at the same time may take until they answer."""
    return _HELLO_SECONDS + _HELLO_SECONDS_EACH * count


def placing_seconds(count: int) -> float:
    """How long `Placing.place` takes at the most."""
    return hello_seconds(count) + _AGAIN_SECONDS


def next_free(nodes: Mapping[str, str], taken: Collection[str]) -> str | None:
    """The first node by its name, then its id, that is not taken; ``nodes`` are names by ids."""
    free = (node for node in nodes if node not in taken)
    return min(free, key=lambda node: (nodes[node], node), default=None)


@dataclass(slots=True)
class Placing(Generic[Name]):
    """Places actors of one class, which answer ``hello``.

    Args:
        calls: how many of an actor's methods run at once.
        choose: which node is next, by the nodes' names by id and the nodes' ids by what is placed by now; None: none.
        is_over: set when nobody waits any more.
    """

    ray: Any
    kind: type
    calls: int
    choose: Callable[[Mapping[str, str], Mapping[Name, str]], str | None]
    is_over: threading.Event

    def place(self, names: Sequence[Name]) -> dict[Name, Actor]:
        """Start them all at the same time, and again those that are lost meanwhile: on another node where theirs died.

        Returns:
            Those for which there was a node.

        Raises:
            Refused: no node is left, or one that is alive does not take them (`NodeRefused`); then none of them stays.
        """
        placed: dict[Name, Actor] = {}
        open_names = list(names)
        give_up = time.monotonic() + placing_seconds(len(open_names))
        since: dict[str, float] = {}
        try:
            while True:
                begun = self._begun(open_names, placed)
                found, lost = self._heard(begun, give_up)
                placed |= found
                if not lost:
                    return placed
                if self.is_over.is_set():
                    raise Refused("over", "nobody waits for what is placed")
                self._require_again({begun[name].node_id: fault for name, fault in lost.items()}, since, give_up)
                open_names = list(lost)
                self.is_over.wait(_PAUSE_SECONDS)
        except Refused:
            for one in placed.values():
                kill(self.ray, one.handle)
            raise

    def _require_again(self, lost: Mapping[str, Exception], since: dict[str, float], give_up: float) -> None:
        """See that there is time for another try on nodes where something was lost, ``since`` when."""
        alive = nodes_of(self.ray)
        now = time.monotonic()
        refusing = {}
        for node, fault in lost.items():
            if node in alive:
                end = min(give_up, since.setdefault(node, now) + _AGAIN_SECONDS)
                if now >= end or not self._is_of_ray(fault):
                    refusing[node] = alive[node], words(fault)
        if refusing:
            raise NodeRefused(refusing)
        if now >= give_up:
            raise Refused("no_node", "every node on which something was to be placed has died")

    def _is_of_ray(self, fault: Exception) -> bool:
        """Whether Ray may have lost an actor for a cause that is not its node's.

        Ray may ask any node where an actor is to run: one that has just died takes the actor with it (an
        ``ActorDiedError``), and one that has just come does not know the others yet (``ActorUnschedulableError``; see
        https://github.com/ray-project/ray/issues/64285).
        """
        errors = self.ray.exceptions
        is_lost = isinstance(fault, (errors.ActorUnschedulableError, errors.RayActorError))
        return is_lost and not getattr(fault, "actor_init_failed", False)

    def _begun(self, names: Sequence[Name], placed: Mapping[Name, Actor]) -> dict[Name, Actor]:
        nodes = nodes_of(self.ray)
        if not nodes:
            raise Refused("no_node", "no node of the Ray cluster that has CPUs is alive")
        chosen = {name: one.node_id for name, one in placed.items()}
        affinity = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        begun = {}
        for name in names:
            if (node := self.choose(nodes, chosen)) is None:
                continue
            chosen[name] = node
            strategy = affinity(node, soft=False)
            made = self.ray.remote(self.kind).options(
                num_cpus=0, max_concurrency=self.calls, scheduling_strategy=strategy
            )
            begun[name] = Actor(made.remote(), node, {})
        return begun

    def _heard(self, begun: Mapping[Name, Actor], give_up: float) -> tuple[dict[Name, Actor], dict[Name, Exception]]:
        """Those that answer, and what Ray says of the others, which are killed."""
        seconds = min(hello_seconds(len(begun)), max(0.0, give_up - time.monotonic()))
        end = time.monotonic() + seconds
        pending = {one.handle.hello.remote(): name for name, one in begun.items()}
        found: dict[Name, Actor] = {}
        lost: dict[Name, Exception] = {}
        while pending and not self.is_over.is_set() and time.monotonic() < end:
            done, _ = self.ray.wait(list(pending), num_returns=1, timeout=LOOK_SECONDS)
            for ref in done:
                name = pending.pop(ref)
                try:
                    found[name] = Actor(begun[name].handle, begun[name].node_id, self.ray.get(ref))
                except Exception as fault:  # Ray's, of its actor or its node
                    lost[name] = fault
        lost |= {name: TimeoutError(f"no answer within {seconds:.0f} s") for name in pending.values()}
        for name in lost:
            kill(self.ray, begun[name].handle)
        return found, lost


def kill(ray: Any, actor: Any) -> None:
    """Kill an actor, which may be gone."""
    with contextlib.suppress(Exception):
        ray.kill(actor)


def end_with(ray: Any, actors: Sequence[Any], folder: str, seconds: float) -> None:
    """Leave nothing: neither actors, nor processes below this one, nor of a Ray of our own its folder.

    Args:
        ray: what was joined; None where nothing was.
        actors: those that are there. They have ``end``.
        folder: of a Ray of our own; empty without one.
        seconds: how long the actors may take to end what they have started.
    """
    if ray is not None:
        with contextlib.suppress(Exception):
            ray.wait([one.end.remote() for one in actors], num_returns=len(actors), timeout=seconds)
        for one in actors:
            kill(ray, one)
        with contextlib.suppress(Exception):
            ray.shutdown()
    end_all()
    if folder:
        own_folders.remove(Path(folder))


def end_all() -> None:
    """Kill whatever was started below this process, which adopts orphans, and wait until it is gone."""
    give_up = time.monotonic() + STOP_SECONDS
    while time.monotonic() < give_up:
        for pid in living(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(_REAP_SECONDS)


def words(fault: Exception) -> str:
    """What Ray says, its last line that says anything; its tracebacks are of many lines."""
    lines = [line.strip() for line in str(fault).splitlines() if line.strip()]
    return lines[-1] if lines else type(fault).__name__


class SpeaksToRay(Host, Protocol):
    """A host of orders that waits for Ray, and is to stop waiting when the input ends."""

    def leave(self) -> None:
        """Wait for nothing any more; called from another thread."""


def serve(host: SpeaksToRay) -> None:
    """Serve orders until the input ends, and leave nothing behind then."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.umask(UMASK)
    raise_open_files()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    orders: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()

    def hear() -> None:
        listen(sys.stdin, orders, host)
        host.leave()

    threading.Thread(target=hear, daemon=True).start()
    try:
        while (order := orders.get()) is not None:
            with contextlib.suppress(BrokenPipeError):
                answers.write(json.dumps(host.answer(order)) + "\n")
                answers.flush()
    finally:
        host.end()

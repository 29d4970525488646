"""What coordinator and dispatcher have in common: a Ray cluster, what is placed on its nodes, and their own service."""

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
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

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
    """A node that is alive does not take what was to be placed on it."""

    def __init__(self, node_id: str, node: str, said: str) -> None:
        super().__init__("agent", f"node {node}: {said}")
        self.node_id, self.node, self.said = node_id, node, said


@dataclass(frozen=True, slots=True)
class Actor:
    """What was placed on a node, and what it said of itself."""

    handle: Any
    node_id: str
    said: Mapping[str, Any]


def hello_seconds(count: int) -> float:
    """How long so many that are placed at the same time may take until they answer."""
    return _HELLO_SECONDS + _HELLO_SECONDS_EACH * count


@dataclass(slots=True)
class Placing(Generic[Name]):
    """Places actors of one class, which answer ``hello``.

    Args:
        ray: joined to a cluster.
        kind: their class.
        calls: how many of an actor's methods run at once.
        choose: which node is next, by the nodes' names by id and the nodes' ids by what is placed by now; None: none.
    """

    ray: Any
    kind: type
    calls: int
    choose: Callable[[Mapping[str, str], Mapping[Name, str]], str | None]

    def place(self, names: Sequence[Name]) -> dict[Name, Actor]:
        """Start them all at the same time, and those whose node dies meanwhile on another.

        Returns:
            Those for which there was a node.

        Raises:
            Refused: no node is left, or one that is alive does not take them (`NodeRefused`); then none of them stays.
        """
        placed: dict[Name, Actor] = {}
        open_names = list(names)
        try:
            for _ in range(1 + len(nodes_of(self.ray))):
                begun = self._begun(open_names, placed)
                found, lost = self._heard(begun)
                placed |= found
                alive = nodes_of(self.ray)
                for name, fault in lost.items():
                    if (node := begun[name].node_id) in alive:
                        raise NodeRefused(node, alive[node], words(fault)) from fault
                if not lost:
                    return placed
                open_names = list(lost)
        except Refused:
            for one in placed.values():
                kill(self.ray, one.handle)
            raise
        raise Refused("no_node", "every node on which something was to be placed has died")

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

    def _heard(self, begun: Mapping[Name, Actor]) -> tuple[dict[Name, Actor], dict[Name, Exception]]:
        """Those that answer, and what Ray says of the others, which are killed."""
        asked = {name: one.handle.hello.remote() for name, one in begun.items()}
        give_up = time.monotonic() + hello_seconds(len(begun))
        found: dict[Name, Actor] = {}
        lost: dict[Name, Exception] = {}
        for name, one in begun.items():
            try:
                said = self.ray.get(asked[name], timeout=max(0.0, give_up - time.monotonic()))
            except Exception as fault:  # Ray's, of its actor or its node
                kill(self.ray, one.handle)
                lost[name] = fault
            else:
                found[name] = Actor(one.handle, one.node_id, said)
        return found, lost


def kill(ray: Any, actor: Any) -> None:
    """Kill an actor, which may be gone."""
    with contextlib.suppress(Exception):
        ray.kill(actor)


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

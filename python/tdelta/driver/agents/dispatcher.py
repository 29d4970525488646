"""The process that places the runs of a fleet on the nodes of Ray, one on a node at a time.

It is spoken to as `tdelta.driver.agents.coordinator` is, and as that one it ends all that it started when its input
ends: runs are asked to end first, so that they tidy up after themselves.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from dataclasses import dataclass
from typing import Any

from tdelta.driver.agents.coordinator import Refused, end_all, joined, nodes_of, serve, words
from tdelta.driver.agents.site import Site
from tdelta.driver.agents.site_run import GRACE_SECONDS
from tdelta.driver.worker_protocol import Reply, Request

_LOOK_SECONDS = 0.5
_HELLO_SECONDS = 90.0
_GENTLE_SECONDS = GRACE_SECONDS + 10.0


@dataclass(slots=True)
class _Running:
    """A run where it is."""

    name: str
    node_id: str
    node: str
    actor: Any


class Dispatcher:
    """The runs of one fleet that are being made."""

    def __init__(self) -> None:
        self._ray: Any = None
        self._folder = ""
        self._running: dict[Any, _Running] = {}
        self._is_over = threading.Event()

    def answer(self, request: Request) -> Reply:
        """Carry out one order."""
        try:
            return {"ok": getattr(self, f"do_{request['do']}")(request)}
        except Refused as refusal:
            return {"error": list(refusal.args)}

    def do_start(self, request: Request) -> Reply:
        """Join a cluster, or start a Ray of this machine's."""
        self._folder = request["folder"]
        self._ray = joined(request["address"], self._folder, 1)
        return {"ray": self._ray.__version__}

    def do_place(self, request: Request) -> Reply:
        """Begin a run on a node that has none; ``{"node": null}`` where each has one, and some run is under way."""
        for _ in range(1 + len(nodes_of(self._ray))):
            nodes = nodes_of(self._ray)
            if not nodes:
                raise Refused("no_node", "no node of the Ray cluster that has CPUs is alive")
            taken = {one.node_id for one in self._running.values()}
            node = next((one for one in sorted(nodes) if one not in taken), None)
            if node is None:
                return {"node": None}
            affinity = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
            made = self._ray.remote(Site).options(num_cpus=0, max_concurrency=4, scheduling_strategy=affinity)
            actor = made.remote()
            try:
                said = self._ray.get(actor.hello.remote(), timeout=_HELLO_SECONDS)
            except Exception as fault:
                self._kill(actor)
                if node in nodes_of(self._ray):
                    raise Refused("agent", f"node {nodes[node]}: {words(fault)}") from fault
                continue
            self._running[actor.run.remote(request["words"])] = _Running(request["name"], node, said["node"], actor)
            return {"node": said["node"], "version": said["version"]}
        raise Refused("no_node", "every node on which a run was to be placed has died")

    def do_next(self, request: Request) -> Reply:
        """A run that has ended, within so many seconds: its name, node and answer; nothing where none has."""
        give_up = time.monotonic() + float(request["patience_seconds"])
        while self._running and not self._is_over.is_set():
            done, _ = self._ray.wait(list(self._running), num_returns=1, timeout=_LOOK_SECONDS)
            for ref in done:
                one = self._running.pop(ref)
                try:
                    found = self._ray.get(ref)
                except Exception as fault:  # Ray's, of its actor or its node
                    found = {"lost": words(fault)}
                self._kill(one.actor)
                return {"name": one.name, "node": one.node, **found}
            if time.monotonic() > give_up:
                break
        return {}

    def request_stop(self) -> None:
        """Runs are ended when the input ends."""

    def clear_stop(self) -> None:
        """Nothing was stopped."""

    def leave(self) -> None:
        """Wait for no run any more."""
        self._is_over.set()

    def end(self) -> None:
        """Have the runs end, and of a Ray of our own leave no process and no folder."""
        self._is_over.set()
        if self._ray is not None:
            with contextlib.suppress(Exception):
                asked = [one.actor.end.remote() for one in self._running.values()]
                self._ray.get(asked, timeout=_GENTLE_SECONDS)
            for one in self._running.values():
                self._kill(one.actor)
            with contextlib.suppress(Exception):
                self._ray.shutdown()
        end_all()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _kill(self, actor: Any) -> None:
        with contextlib.suppress(Exception):
            self._ray.kill(actor)


if __name__ == "__main__":
    serve(Dispatcher())

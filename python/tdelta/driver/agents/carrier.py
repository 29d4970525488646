"""The process that carries calls to actors of Ray's on other nodes, one on each, and their answers back.

It is spoken to as `tdelta.driver.agents.coordinator` is, and as that one it ends all that it started when its input
ends. What is called and answered are bytes that it does not look into; the actor's class is named in the order
(``module:Class``), so that it may be of a layer above this one.
"""

from __future__ import annotations

import base64
import contextlib
import importlib
import threading
from collections.abc import Mapping
from typing import Any

from tdelta.driver.agents.cluster import (
    LOOK_SECONDS,
    Actor,
    Placing,
    Refused,
    end_with,
    joined,
    next_free,
    nodes_of,
    serve,
    words,
)
from tdelta.driver.worker_protocol import Reply, Request

_CALLS = 4
"""How many of an actor's methods Ray may run at once: a call, and a stop beside it."""

_GENTLE_SECONDS = 60.0
"""How long what runs on a node may take to be ended by its actor: servers are stopped, and folders removed."""


class Carrier:
    """The actors of one run."""

    def __init__(self) -> None:
        self._ray: Any = None
        self._folder = ""
        self._actors: list[Actor] = []
        self._is_over = threading.Event()

    def answer(self, request: Request) -> Reply:
        try:
            return {"ok": getattr(self, f"do_{request['do']}")(request)}
        except Refused as refusal:
            return {"error": list(refusal.args)}

    def do_start(self, request: Request) -> Reply:
        """Join a cluster and start an actor on each of so many nodes; says what each says of itself."""
        self._folder, wanted = request["folder"], int(request["nodes"])
        self._ray = joined(request["address"], self._folder, 1)
        found = len(nodes_of(self._ray))
        if found < wanted:
            raise Refused("too_few_nodes", str(found))
        module, _, name = request["actor"].partition(":")
        kind = getattr(importlib.import_module(module), name)

        def choose(nodes: Mapping[str, str], placed: Mapping[int, str]) -> str | None:
            return next_free(nodes, placed.values())  # by name, so that a resumed run numbers the same nodes alike

        placed = Placing(self._ray, kind, _CALLS, choose, self._is_over).place(range(wanted))
        self._actors = [placed[number] for number in sorted(placed)]
        if len(self._actors) < wanted:
            raise Refused("too_few_nodes", str(len(self._actors)))
        return {"nodes": [{**one.said, "id": one.node_id} for one in self._actors]}

    def do_call(self, request: Request) -> Reply:
        """Call actors by their numbers, all at once; for each its answer, or ``{"lost": words}`` where it has died.

        Nodes end without their head, too, so that the head is asked before a node is called lost.
        """
        calls = {int(number): base64.b64decode(payload) for number, payload in request["calls"].items()}
        pending = {self._actors[number].handle.call.remote(payload): number for number, payload in calls.items()}
        found: Reply = {}
        while pending and not self._is_over.is_set():
            done, _ = self._ray.wait(list(pending), num_returns=1, timeout=LOOK_SECONDS)
            for ref in done:
                number = str(pending.pop(ref))
                try:
                    found[number] = {"ok": base64.b64encode(self._ray.get(ref)).decode()}
                except Exception as fault:  # Ray's, of its actor or its node
                    nodes_of(self._ray)
                    found[number] = {"lost": words(fault)}
                    pending.clear()  # what the others do is of no use any more
        return found

    def request_stop(self) -> None:
        for one in self._actors:
            with contextlib.suppress(Exception):
                one.handle.stop.remote()

    def clear_stop(self) -> None:
        """Whether a trial is to run at all is for the session to say."""

    def leave(self) -> None:
        self._is_over.set()

    def end(self) -> None:
        """Leave nothing on any node, and of a Ray of our own no process and no folder."""
        self._is_over.set()
        self.request_stop()
        end_with(self._ray, [one.handle for one in self._actors], self._folder, _GENTLE_SECONDS)


if __name__ == "__main__":
    serve(Carrier())

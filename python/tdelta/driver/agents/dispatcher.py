"""The process that places the runs of a fleet on the nodes of Ray, one on a node at a time.

It is spoken to as `tdelta.driver.agents.coordinator` is, and as that one it ends all that it started when its input
ends: runs are asked to end first, so that they tidy up after themselves.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tdelta.driver.agents.cluster import (
    LOOK_SECONDS,
    NODE_SECONDS,
    NodeRefused,
    Placing,
    Refused,
    end_with,
    joined,
    kill,
    next_free,
    nodes_of,
    serve,
    words,
)
from tdelta.driver.agents.host import machine, tdelta_version
from tdelta.driver.agents.site_run import GRACE_SECONDS
from tdelta.driver.worker_protocol import Reply, Request

_PROGRAM = "tdelta.driver.agents.site_run"
_MORE_SECONDS = 5.0


class Site:
    """One node's place for a run. Its methods are called by Ray, several at once."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def hello(self) -> dict[str, Any]:
        return {"node": platform.node(), "machine": machine(), "version": tdelta_version(), "pid": os.getpid()}

    def run(self, words: list[str]) -> dict[str, Any]:
        """Make one run: ``{"ok": …}`` as `tdelta.driver.agents.site_run` answers, or ``{"lost": words}``."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        assert self._process.stdin is not None  # noqa: S101 - a pipe
        assert self._process.stdout is not None  # noqa: S101 - a pipe
        try:
            self._process.stdin.write(json.dumps({"words": words}).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError as fault:
            line = str(fault).encode()
        code = self._process.wait()
        try:
            return {"ok": json.loads(line)}
        except ValueError:
            return {"lost": f"the run's process ended with status {code}"}

    def end(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_SECONDS + _MORE_SECONDS)


_CALLS = 4
"""How many of an actor's methods Ray may run at once."""

_GENTLE_SECONDS = GRACE_SECONDS + 10.0


@dataclass(slots=True)
class _Running:
    name: str
    node_id: str
    node: str
    actor: Any


class Dispatcher:
    def __init__(self) -> None:
        self._ray: Any = None
        self._folder = ""
        self._running: dict[Any, _Running] = {}
        self._left_out: set[str] = set()
        """The nodes that make no run, by their ids."""

        self._seen: dict[str, str] = {}
        """The nodes that were up, their names by their ids."""

        self._is_over = threading.Event()

    def answer(self, request: Request) -> Reply:
        try:
            return {"ok": getattr(self, f"do_{request['do']}")(request)}
        except Refused as refusal:
            return {"error": list(refusal.args)}

    def do_start(self, request: Request) -> Reply:
        self._folder = request["folder"]
        self._ray = joined(request["address"], self._folder, 1)
        return {"ray": self._ray.__version__}

    def do_place(self, request: Request) -> Reply:
        """Begin a run on a node that has none; ``{"node": null}`` where each has one, and some run is under way.

        A node that takes none, or has another version of tdelta, is left out from then on: ``{"left_out": …}`` says
        which, and the order is to be given again. ``{"is_none_left": true, "gone": […]}`` where all are, and no other
        comes for a while: ``gone`` names those that were up.
        """
        give_up = time.monotonic() + NODE_SECONDS
        while self._free(nodes := nodes_of(self._ray), {}) is None:
            self._seen |= nodes
            if self._running:
                return {"node": None}
            if self._is_over.is_set() or time.monotonic() >= give_up:
                if nodes:
                    return {"is_none_left": True, "gone": sorted({*self._seen.values()} - {*nodes.values()})}
                raise Refused("no_node", "no node of the Ray cluster that has CPUs is alive")
            self._is_over.wait(LOOK_SECONDS)
        self._seen |= nodes
        try:
            placed = Placing(self._ray, Site, _CALLS, self._free, self._is_over).place([request["name"]])
        except NodeRefused as refused:
            ((node_id, (node, said)),) = refused.nodes.items()  # one run was to be placed
            self._left_out.add(node_id)
            return {"left_out": {"node": node, "said": said}}
        except Refused as refused:
            if refused.args[0] != "no_node":
                raise
            placed = {}  # the last one has just died: where no other comes, the next order is refused
        if not placed:
            return {"node": None}
        (one,) = placed.values()
        node = one.said["node"]
        if one.said["version"] != request["version"]:
            kill(self._ray, one.handle)
            self._left_out.add(one.node_id)
            return {"left_out": {"node": node, "version": one.said["version"]}}
        ref = one.handle.run.remote(request["words"])
        self._running[ref] = _Running(request["name"], one.node_id, node, one.handle)
        return {"node": node}

    def do_next(self, request: Request) -> Reply:
        """A run that has ended, within so many seconds: its name, node and answer; nothing where none has."""
        seconds = float(request["patience_seconds"])
        if not self._running:
            self._is_over.wait(seconds)
        give_up = time.monotonic() + seconds
        while self._running and not self._is_over.is_set():
            done, _ = self._ray.wait(list(self._running), num_returns=1, timeout=LOOK_SECONDS)
            for ref in done:
                one = self._running.pop(ref)
                try:
                    found = self._ray.get(ref)
                except Exception as fault:  # Ray's, of its actor or its node
                    found = {"lost": words(fault)}
                kill(self._ray, one.actor)
                return {"name": one.name, "node": one.node, **found}
            if time.monotonic() > give_up:
                break
        return {}

    def _free(self, nodes: Mapping[str, str], _chosen: Mapping[str, str]) -> str | None:
        return next_free(nodes, {one.node_id for one in self._running.values()} | self._left_out)

    def request_stop(self) -> None:
        """Runs are ended when the input ends."""

    def clear_stop(self) -> None:
        """Nothing was stopped."""

    def leave(self) -> None:
        self._is_over.set()

    def end(self) -> None:
        """Have the runs end, and of a Ray of our own leave no process and no folder."""
        self._is_over.set()
        end_with(self._ray, [one.actor for one in self._running.values()], self._folder, _GENTLE_SECONDS)


if __name__ == "__main__":
    serve(Dispatcher())

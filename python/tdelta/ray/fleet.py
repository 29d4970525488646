"""The runs of a fleet on the nodes of a cluster, one on a node at a time.

At the end runs are asked to end first, so that they tidy up after themselves.
"""

from __future__ import annotations

import base64
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tdelta.errors import EnvironmentFault
from tdelta.messages import Refusal
from tdelta.ray.bridge import Bridge, Node, placing_seconds, tdelta_version
from tdelta.ray.cluster import (
    LOOK_SECONDS,
    NODE_SECONDS,
    Actor,
    Cluster,
    NodeRefused,
    NoNode,
    OnCluster,
    next_free,
    words,
)
from tdelta.ray.fleet_run import GRACE_SECONDS

_PROGRAM = "tdelta.ray.fleet_run"
_MORE_SECONDS = 5.0
_CALLS = 4
"""How many of an actor's methods Ray may run at once."""

_START_SECONDS = 180.0
"""How long Ray may take to answer, beside what is waited for."""

_PLACE_SECONDS = _START_SECONDS + NODE_SECONDS + placing_seconds(1)


class Site(Node):
    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, words: list[str]) -> dict[str, Any]:
        """Make one run: ``{"ok": …}`` as `tdelta.ray.fleet_run` answers, or ``{"lost": words}``."""
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


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that has ended.

    ``lost`` says why there is no answer of it (its node died); else ``code`` is its exit code, ``pack`` its pack where
    it has a result, and ``said`` what it wrote on standard error.
    """

    name: str
    node: str
    code: int = 0
    run_id: str = ""
    pack: bytes = b""
    said: str = ""
    lost: str = ""


class Fleet(OnCluster):
    placed = "a run"
    gentle_seconds = GRACE_SECONDS + 10.0

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._running: dict[Any, tuple[str, Actor]] = {}
        self._left_out: dict[str, Refusal] = {}
        """Why nodes make no run, by their ids."""

        self._seen: dict[str, str] = {}
        """The nodes that were up, their names by their ids."""

    def place(self, name: str, command: list[str], version: str) -> str | Refusal | None:
        """Begin a run on a node that has none; returns the node, or None where each has one, and some run is under way.

        A node that takes none, or has another version of tdelta, is left out from then on: why is returned, and the
        order is to be given again.
        """
        give_up = time.monotonic() + NODE_SECONDS
        while self._free(nodes := self.cluster.nodes(), {}) is None:
            self._seen |= nodes
            if self._running:
                return None
            if self.cluster.is_over.is_set() or time.monotonic() >= give_up:
                if not nodes:
                    raise NoNode("no node of the Ray cluster that has CPUs is alive")
                gone = ", ".join(sorted({*self._seen.values()} - {*nodes.values()}))
                died = self.cluster.no_node_left(f"{gone} died, the others cannot run").refusals if gone else ()
                raise EnvironmentFault(*self._left_out.values(), *died)
            self.cluster.is_over.wait(LOOK_SECONDS)
        self._seen |= nodes
        try:
            (one,) = self.cluster.place(Site, _CALLS, [name], self._free).values()
        except NodeRefused as refused:
            ((node_id, (node, said)),) = refused.nodes.items()  # one run was to be placed
            return self._left_out.setdefault(node_id, Refusal.of("node-unusable", what=f"node {node}", said=said))
        except (NoNode, ValueError):  # the last one has just died: where no other comes, the next order is refused
            return None
        node = str(one.said["node"])
        if (found := one.said["version"]) != version:
            self.cluster.kill(one.handle)
            expected = f"tdelta {version}"
            why = Refusal.of("version-mismatch", what=f"node {node}", expected=expected, found=found or "unknown")
            return self._left_out.setdefault(one.node_id, why)
        self._running[one.handle.run.remote(command)] = name, one
        return node

    def next(self, patience_seconds: float) -> Ended | None:
        if not self._running:
            self.cluster.is_over.wait(patience_seconds)
        give_up = time.monotonic() + patience_seconds
        while self._running and not self.cluster.is_over.is_set():
            for ref, value in self.cluster.returned(self._running):
                name, one = self._running.pop(ref)
                self.cluster.kill(one.handle)
                return _ended(name, str(one.said["node"]), value)
            if time.monotonic() > give_up:
                break
        return None

    def _free(self, nodes: Mapping[str, str], _chosen: Mapping[str, str]) -> str | None:
        return next_free(nodes, {one.node_id for _, one in self._running.values()} | self._left_out.keys())

    def handles(self) -> list[Any]:
        return [one.handle for _, one in self._running.values()]


def _ended(name: str, node: str, found: Any) -> Ended:
    lost = words(found) if isinstance(found, Exception) else found.get("lost")
    if lost is not None:
        return Ended(name, node, lost=lost)
    ok = found["ok"]
    return Ended(name, node, ok["code"], ok["run_id"], base64.b64decode(ok["pack"]), ok["said"])


class Sites(Bridge):
    """The nodes of a fleet, in whose place the process that speaks to Ray is spoken to."""

    called = "the dispatcher of the fleet"
    kind = f"{__name__}:Fleet"
    resumed_by = "the same command"
    end_seconds = GRACE_SECONDS + 30.0

    def __init__(self, address: str | None) -> None:
        self._left_out: list[Refusal] = []
        super().__init__(address)

    def place(self, name: str, words: list[str]) -> str | None:
        """Begin a run with the words of a command line; returns its node, None where every node has a run."""
        while True:
            found = self.invoke("place", name, words, tdelta_version(), seconds=_PLACE_SECONDS)
            if not isinstance(found, Refusal):
                return None if found is None else str(found)
            self._left_out.append(found)

    def left_out(self) -> tuple[Refusal, ...]:
        """Why nodes make no runs, of those found since the last call."""
        found, self._left_out = self._left_out, []
        return tuple(found)

    def next(self, seconds: float) -> Ended | None:
        found: Ended | None = self.invoke("next", seconds, seconds=seconds + _START_SECONDS)
        return found

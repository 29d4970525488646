"""The process that speaks to Ray, and the only one of tdelta's that imports it besides Ray's own.

It joins a cluster and holds one object, of a class that the session names (`OnCluster`), whose methods the session
calls (`tdelta.driver.agents.bridge`). When its input ends, it ends what was placed on nodes, and a Ray that it started,
whose folder it removes.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tdelta import own_folders
from tdelta.driver.agents.bridge import packed, unpacked
from tdelta.driver.agents.cluster import STOP_SECONDS, Cluster, NodeRefused, NoNode, OnCluster
from tdelta.driver.rpc import Host, Reply, Request, serve
from tdelta.driver.tree import living
from tdelta.errors import EnvironmentFault, TdeltaError
from tdelta.messages import Refusal

_REAP_SECONDS = 0.02


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
        end_all()
        if self._folder:
            own_folders.remove(Path(self._folder))


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


if __name__ == "__main__":
    serve(BridgeHost())

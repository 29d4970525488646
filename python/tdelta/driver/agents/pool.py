"""The session's side of load agents: the coordinator's process, and one twin's trials by all agents."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import secrets
import signal
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from tdelta import own_folders
from tdelta.driver import signals
from tdelta.driver.agents import merging
from tdelta.driver.agents.asked import AgentsRequest, require_head
from tdelta.driver.agents.cluster import placing_seconds
from tdelta.driver.agents.host import machine, network, tdelta_version
from tdelta.driver.workers import PROGRAM, Worker, failure
from tdelta.errors import EnvironmentFault, ServerLost, TdeltaError, UsageError
from tdelta.messages import Refusal
from tdelta.records.trials import AgentPart


@dataclass(frozen=True, slots=True)
class Segment:
    """The connections ``first`` up to ``last`` (not included), of ``of`` in all."""

    first: int
    last: int
    of: int

    @property
    def connections(self) -> int:
        return self.last - self.first

    def as_json(self) -> dict[str, int]:
        return {"from": self.first, "to": self.last, "of": self.of}


def segments(connections: int, agents: int) -> tuple[Segment, ...]:
    """Share connections among agents, as evenly as they go; each has one at least.

    Raises:
        ValueError: there are fewer connections than agents.
    """
    if not 1 <= agents <= connections:
        raise ValueError(f"expected 1 to {connections} agents for {connections} connections, found {agents}")
    edges = [connections * place // agents for place in range(agents + 1)]
    return tuple(Segment(first, last, connections) for first, last in pairwise(edges))


_COORDINATOR = "tdelta.driver.agents.coordinator"
_START_SECONDS = 90.0
"""How long Ray may take to start, or to answer, beside what is placed."""

_CONNECT_SECONDS = 60.0
_CONNECTIONS_A_SECOND = 50.0
_GRACE_SECONDS = 60.0
_END_SECONDS = 30.0
_FOLDERS = "tdelta-ray-"
"""How folders of a Ray of ours begin. They lie in /tmp, since paths of sockets below them may have 107 bytes."""

_HEAD_SILENT = re.compile(r"Failed to connect to GCS[^.\n]*")
"""What Ray says when it ends a process that cannot reach the head any more."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_ADDED = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}
"""Nothing is sent to Ray's makers."""

_OF_OWN = {"RAY_worker_niceness": "0"}
"""Of a Ray made for the run. Ray's default is 15, with which agents wait for all others' work."""


@dataclass(frozen=True, slots=True)
class Placed:
    name: str
    node: str
    machine: str
    network: str
    version: str


class RayWorker(Worker):
    """A process of tdelta's that speaks to Ray. Use as a context manager, or call `end`.

    Args:
        address: of the cluster; None: a Ray of this machine's is made, and ended with the process.

    Raises:
        UsageError: the address is malformed.
        EnvironmentFault: nothing listens there.
    """

    def __init__(self, program: str, address: str | None) -> None:
        if address is not None:
            require_head(address)
        _sweep()
        self._has_joined = False
        self.folder = None if address else Path(tempfile.mkdtemp(prefix=f"{_FOLDERS}{os.getpid()}-", dir="/tmp"))
        # Whoever is on this machine could join a Ray that asks for no token.
        added = {} if address else {**_OF_OWN, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        super().__init__({**_ADDED, **added}, program, ray_refused)
        self.is_patient = True
        self._asking, self._writing = threading.Lock(), threading.Lock()

    def request(self, do: str, seconds: float, **order: object) -> dict[str, Any]:
        """One order and its answer; twins are warmed up side by side, and wait for each other here."""
        with self._asking:
            found = self.ask(do, seconds=seconds, **order)
            self._has_joined = True
            return found

    def leave(self, seconds: float) -> None:
        """Close the process's input, and end what is there after so many seconds; a Ray made for it goes with it."""
        self.close(seconds)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # what a killed process left: it led its own process group
        if self.folder is not None:
            own_folders.remove(self.folder)

    def _write(self, line: bytes) -> None:
        with signals.held(), self._writing:  # a handler that sends, too, would wait for this lock without end
            super()._write(line)

    def _died(self) -> TdeltaError:
        return of_lost_head(super()._died(), has_joined=self._has_joined)

    def _silent(self, seconds: float) -> TdeltaError:
        silent = super()._silent(seconds)
        return silent if self._has_joined else EnvironmentFault(Refusal.of("ray-not-reached", said=silent))


class AgentPool(RayWorker):
    """The agents of one run, in whose place the coordinator is spoken to. Use as a context manager, or call `end`.

    Raises:
        EnvironmentFault: Ray, or a node of it, cannot be had; agents have another version of tdelta.
    """

    called = "the coordinator of the load agents"

    def __init__(self, asked: AgentsRequest) -> None:
        super().__init__(_COORDINATOR, asked.address)
        self._twins = itertools.count(1)
        self.count = asked.count
        self.start_seconds = _START_SECONDS + placing_seconds(asked.count)
        self.agents: tuple[Placed, ...] = ()
        try:
            started = self.request(
                "start",
                self.start_seconds,
                agents=asked.count,
                address=asked.address,
                folder="" if self.folder is None else str(self.folder),
            )
            fields = ("name", "node", "machine", "network", "version")
            self.agents = tuple(Placed(**{name: one[name] for name in fields}) for one in started["agents"])
            self._require_same_version()
        except BaseException:
            self.end()
            raise

    def twin(self, failed: Callable[[str, str], TdeltaError] = failure, program: str = PROGRAM) -> AgentLoad:
        """What runs the trials of one more twin; ``failed`` and ``program`` as those of its worker."""
        return AgentLoad(self, f"twin {next(self._twins)}", failed, program)

    def require_reach(self, options: Mapping[str, Any]) -> None:
        """See that every agent can mean the same server by these options of a connection.

        Raises:
            EnvironmentFault: one is on another machine, where a socket's path or 127.0.0.1 is something else.
        """
        host = options.get("host")
        if options.get("socket"):
            away, where = [one for one in self.agents if one.machine != machine()], str(options["socket"])
        elif host in _LOOPBACK:
            away, where = [one for one in self.agents if one.network != network()], str(host)
        else:
            return
        if away:
            names = ", ".join(f"{one.name} (node {one.node})" for one in away)
            raise EnvironmentFault(Refusal.of("agents-elsewhere", agents=names, address=where))

    def end(self) -> None:
        """End the agents, and Ray where it was made for the run; nothing of it stays."""
        self.leave(_END_SECONDS)

    def _require_same_version(self) -> None:
        own = tdelta_version()
        others = {f"{one.version or 'unknown'} on {one.node}" for one in self.agents if one.version != own}
        if others:
            raise EnvironmentFault(
                Refusal.of(
                    "version-mismatch",
                    what="--agents",
                    expected=f"tdelta {own} on every node",
                    found=", ".join(sorted(others)),
                )
            )


class AgentLoad:
    """One twin's side of trials by agents. Each agent has connections of its own to the twin's server."""

    def __init__(self, pool: AgentPool, name: str, failed: Callable[[str, str], TdeltaError], program: str) -> None:
        self._pool = pool
        self._name = name
        self._failed = failed
        self._program = program

    def connect(self, options: Mapping[str, Any], connections: int, work: Mapping[str, Any]) -> None:
        """Have every agent connect anew, and prepare the transactions.

        Raises:
            EnvironmentFault: an agent cannot reach the server.
            ServerLost: an agent died.
            TdeltaError: what the server said.
        """
        self._pool.require_reach(options)
        self.end()
        seconds = _CONNECT_SECONDS + connections / _CONNECTIONS_A_SECOND
        found = self._pool.request(
            "open",
            seconds + self._pool.start_seconds,
            twin=self._name,
            program=self._program,
            options=dict(options),
            segments=[segment.as_json() for segment in segments(connections, self._pool.count)],
            observe={"observed": {"watch": [], "counters": []}},
            work=dict(work),
            patience_seconds=seconds,
        )
        self._raise(found["answers"])

    def trial(self, trial: Mapping[str, Any], deadline_seconds: float) -> AgentsTrial:
        """Run one trial on all agents.

        Raises:
            ServerLost: an agent died, and another was placed for it; or agents did not do each operation once.
            TdeltaError: what the server said.
        """
        seconds = deadline_seconds + _GRACE_SECONDS
        answers = self._pool.request(
            "trial", seconds + self._pool.start_seconds, twin=self._name, trial=dict(trial), patience_seconds=seconds
        )["answers"]
        self._raise(answers)
        found = {name: one["ok"] for name, one in answers.items()}
        if (wrong := merging.not_once(trial, found)) is not None:
            raise ServerLost(wrong)  # what was done to this twin was done to no other
        agents = merging.parts(found, {name: one["node"] for name, one in answers.items()})
        return AgentsTrial(merging.added(list(found.values())), agents, merging.own_histograms(found))

    def stop(self) -> None:
        self._pool.send("stop")

    def end(self) -> None:
        with contextlib.suppress(TdeltaError):
            self._pool.request("close", self._pool.start_seconds, twin=self._name)

    def _raise(self, answers: Mapping[str, Mapping[str, Any]]) -> None:
        for name, one in answers.items():
            if "lost" in one:
                raise ServerLost(Refusal.of("agent-lost", agent=name, node=one["node"], why=one["lost"]))
        for name, one in answers.items():
            if "error" in one:
                kind, said = one["error"]
                raise self._failed(kind, f"agent {name} on node {one['node']}: {said}")


@dataclass(frozen=True, slots=True)
class AgentsTrial:
    """A trial by agents: their answers as one worker's, what each did, and the histograms of each."""

    answer: Mapping[str, Any]
    agents: Mapping[str, AgentPart]
    histograms: Mapping[str, bytes]


def ray_refused(kind: str, said: str) -> TdeltaError:
    if kind == "ray_missing":
        return UsageError(Refusal.of("library-missing", library="Ray", extra="ray", fault="80 MB, 250 MB on the disk"))
    if kind == "no_node":
        return EnvironmentFault(Refusal.of("no-node-left", said=said, command="`tdelta run --resume last`"))
    if kind == "head_lost":
        return EnvironmentFault(Refusal.of("ray-head-lost", said=said, command="`tdelta run --resume last`"))
    if kind == "agent":
        return EnvironmentFault(Refusal.of("node-unusable", what="a load agent", said=said))
    return EnvironmentFault(Refusal.of("ray-not-reached", said=said))


def of_lost_head(fault: TdeltaError, *, has_joined: bool = True) -> TdeltaError:
    """What the end of a process that spoke to Ray means: Ray ends it itself where its head, the GCS, stays silent."""
    said = next((str(one.parameters["words"]) for one in fault.refusals if one.code == "process-died"), "")
    found = _HEAD_SILENT.search(said)
    if found is None:
        return fault
    if not has_joined:
        return EnvironmentFault(Refusal.of("ray-not-reached", said=found[0]))
    return EnvironmentFault(Refusal.of("ray-head-lost", said=found[0], command="`tdelta run --resume last`"))


def _sweep() -> None:
    """Remove folders of Rays whose tdelta was killed together with its coordinator."""
    for folder in Path("/tmp").glob(f"{_FOLDERS}*"):  # noqa: S108 - see `_FOLDERS`; only this user's are removed
        owner = folder.name.removeprefix(_FOLDERS).partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            own_folders.remove(folder)

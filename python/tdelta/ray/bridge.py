"""The session's side of a Ray cluster: a process that speaks to Ray, and the calls to the object that it holds.

Values are pickled, as Ray itself does it: whoever can join the cluster can run programs on its nodes anyway.
"""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import os
import pickle
import platform
import re
import secrets
import signal
import socket
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar

from tdelta import own_folders
from tdelta.errors import EnvironmentFault, TdeltaError, UsageError
from tdelta.messages import Refusal
from tdelta.processes import signals
from tdelta.processes.workers import Worker

_PROGRAM = "tdelta.ray.cluster"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_NETWORK = Path("/proc/self/ns/net")
START_SECONDS = 90.0
"""How long Ray may take to start, or to answer, beside what is placed."""

_HELLO_SECONDS = 90.0
_HELLO_SECONDS_EACH = 15.0
"""How much longer may take for each that is placed: nodes may be on one machine, and busy."""

AGAIN_SECONDS = 30.0
"""How long what Ray loses on its way to a node that is alive is placed there again."""

_FOLDERS = "tdelta-ray-"
"""How folders of a Ray of ours begin. They lie in /tmp, since paths of sockets below them may have 107 bytes."""

_HEAD_SILENT = re.compile(r"Failed to connect to GCS[^.\n]*")
"""The message with which Ray ends a process that cannot reach the head any more."""

_ADDED = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}
"""Nothing is sent to Ray's makers."""

_OF_OWN = {"RAY_worker_niceness": "0"}
"""Of a Ray made for the run. Ray's default is 15, with which agents wait for all others' work."""

_AUTO = "auto"
_HEAD = re.compile(r"(?:ray://)?(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):(?P<port>[0-9]{1,5})")
_LAST_PORT = 65_535
_CONNECT_SECONDS = 10.0
"""How long a head may take to accept a connection; Ray itself tries for minutes, also where there is no such host."""


def machine() -> str:
    """A key that processes on one machine share, until it is started anew: one monotonic clock, one file system."""
    return _BOOT_ID.read_text().strip()


def network() -> str:
    """A key that processes of one machine share that reach each other by 127.0.0.1."""
    return f"{machine()} {_NETWORK.readlink()}"


def tdelta_version() -> str:
    try:
        return version("tdelta")
    except PackageNotFoundError:
        return ""


class Node:
    """An actor of Ray's on a node. Its methods are called by Ray, several at once and in any order."""

    def hello(self) -> dict[str, Any]:
        return {
            "node": platform.node(),
            "machine": machine(),
            "network": network(),
            "version": tdelta_version(),
            "pid": os.getpid(),
        }


@dataclass(frozen=True, slots=True)
class NodesRequest:
    """How many agents or hosts a run has, and the address of their Ray cluster; None: one made here for the run."""

    count: int
    address: str | None = None


def hello_seconds(count: int) -> float:
    """How long so many actors that are placed at the same time may take until they answer."""
    return _HELLO_SECONDS + _HELLO_SECONDS_EACH * count


def placing_seconds(count: int) -> float:
    return hello_seconds(count) + AGAIN_SECONDS


def ray_missing() -> UsageError:
    return UsageError(Refusal.of("library-missing", library="Ray", extra="ray", fault="80 MB, 250 MB on the disk"))


def require_ray() -> None:
    """Raise ``UsageError`` where Ray is not installed, without importing it."""
    if importlib.util.find_spec("ray") is None:
        raise ray_missing()


def require_address(address: str) -> None:
    """Raise ``UsageError`` where this is neither HOST:PORT nor ``auto``, without connecting to it."""
    if address != _AUTO:
        _host_and_port(address)


def require_head(address: str) -> None:
    """See that something listens where the head of a cluster is to be; what ``auto`` means only Ray knows."""
    if address == _AUTO:
        return
    try:
        socket.create_connection(_host_and_port(address), timeout=_CONNECT_SECONDS).close()
    except (OSError, UnicodeError) as fault:
        said = getattr(fault, "strerror", None) or fault
        raise EnvironmentFault(Refusal.of("ray-head-not-there", address=address, fault=said)) from fault


def _host_and_port(address: str) -> tuple[str, int]:
    found = _HEAD.fullmatch(address)
    if found is None or not 0 < int(found["port"]) <= _LAST_PORT:
        expected = "HOST:PORT of the head of a Ray cluster such as head:6379, or auto"
        raise UsageError(Refusal.of("unexpected", expected=expected, found=repr(address)).at("--ray"))
    return found["host"].strip("[]"), int(found["port"])


def packed(value: object) -> str:
    return base64.b64encode(pickle.dumps(value)).decode()


def unpacked(text: str) -> Any:
    return pickle.loads(base64.b64decode(text))  # noqa: S301 - of a process of the user's cluster, see above


class Bridge(Worker):
    """A process that speaks to Ray (`tdelta.ray.cluster`), at an address or one of this machine's that ends with it.

    It begins with ``count`` actors. Use as a context manager, or call `end`.
    """

    kind: ClassVar[str]
    """The class of the object that the process holds, ``module:Class``; a `tdelta.ray.cluster.OnCluster`."""

    option: ClassVar[str] = ""
    """How users asked for its actors."""

    resumed_by: ClassVar[str] = "`tdelta run --resume last`"
    """How users go on where the cluster was lost."""

    end_seconds: ClassVar[float] = 30.0

    def __init__(self, address: str | None, count: int = 0, *more: object) -> None:
        if address is not None:
            require_head(address)
        own_folders.remove_of_dead(Path("/tmp"), _FOLDERS)  # noqa: S108 - see `_FOLDERS`
        self._has_joined = False
        self.folder = None if address else Path(tempfile.mkdtemp(prefix=f"{_FOLDERS}{os.getpid()}-", dir="/tmp"))
        # Whoever is on this machine could join a Ray that asks for no token.
        added = {} if address else {**_OF_OWN, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        super().__init__({**_ADDED, **added}, _PROGRAM)
        self.is_patient = True
        self._asking, self._writing = threading.Lock(), threading.Lock()
        self.start_seconds = START_SECONDS + placing_seconds(count)
        order = {"address": address, "folder": str(self.folder or ""), "cpus": max(1, count)}
        try:
            self._request("start", START_SECONDS, **order, kind=self.kind, resumed_by=self.resumed_by)
            self.placed: list[dict[str, Any]] = self.invoke("begin", count, *more, seconds=self.start_seconds)
            """The report of each actor on itself."""

            _require_same_version(self.placed, self.option)
        except BaseException:
            self.end()
            raise

    def invoke(self, method: str, *arguments: object, seconds: float) -> Any:
        """Call a method of the object that the process holds; returns and raises what that does."""
        return self._request("call", seconds, call=packed((method, arguments)))

    def _request(self, do: str, seconds: float, **order: object) -> Any:
        """One order and its answer; twins are warmed up side by side, and wait for each other here."""
        with self._asking:
            found = unpacked(self.ask(do, seconds=seconds, **order)["value"])
        if isinstance(found, TdeltaError):
            raise found
        self._has_joined = True
        return found

    def end(self) -> None:
        """End what runs on the nodes, and Ray where it was made for this; nothing of it stays."""
        self.close(self.end_seconds)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # what a killed process left: it led its own process group
        if self.folder is not None:
            own_folders.remove(self.folder)

    def _write(self, line: bytes) -> None:
        with signals.held(), self._writing:  # a handler that sends, too, would wait for this lock without end
            super()._write(line)

    def _died(self) -> TdeltaError:
        """As any worker's; but Ray itself ends a process where its head, the GCS, stays silent."""
        fault = super()._died()
        words = next((str(one.parameters["words"]) for one in fault.refusals if one.code == "process-died"), "")
        if (found := _HEAD_SILENT.search(words)) is None:
            return fault
        if not self._has_joined:
            return EnvironmentFault(Refusal.of("ray-not-reached", said=found[0]))
        return EnvironmentFault(Refusal.of("ray-head-lost", said=found[0], command=self.resumed_by))

    def _silent(self, seconds: float) -> TdeltaError:
        silent = super()._silent(seconds)
        return silent if self._has_joined else EnvironmentFault(Refusal.of("ray-not-reached", said=silent))


def _require_same_version(nodes: Sequence[Mapping[str, Any]], option: str) -> None:
    """Raise ``EnvironmentFault`` where what was placed, by what it says of itself, is of another version of tdelta."""
    own = tdelta_version()
    others = {f"{one['version'] or 'unknown'} on {one['node']}" for one in nodes if one["version"] != own}
    if others:
        expected, found = f"tdelta {own} on every node", ", ".join(sorted(others))
        raise EnvironmentFault(Refusal.of("version-mismatch", what=option, expected=expected, found=found))

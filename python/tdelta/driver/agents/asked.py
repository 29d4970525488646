"""What was asked of load agents, and whether Ray is there: for whoever plans a run, and so in need of little."""

from __future__ import annotations

import importlib.util
import re
import socket
from dataclasses import dataclass

from tdelta.errors import EnvironmentFault, UsageError
from tdelta.messages import Refusal

_AUTO = "auto"
_HEAD = re.compile(r"(?:ray://)?(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):(?P<port>[0-9]{1,5})")
_LAST_PORT = 65_535
_CONNECT_SECONDS = 10.0
"""How long a head may take to accept a connection; Ray itself tries for minutes, also where there is no such host."""


@dataclass(frozen=True, slots=True)
class AgentsRequest:
    """How many agents a run has, and the address of the Ray cluster; None: one of this machine's, made for the run."""

    count: int
    address: str | None = None


@dataclass(frozen=True, slots=True)
class HostsRequest:
    """How many hosts a run's twins change between, and the address of the Ray cluster whose nodes they are."""

    count: int
    address: str | None


def require_ray() -> None:
    """See that Ray is installed, without importing it.

    Raises:
        UsageError: it is not; the message says how to get it.
    """
    if importlib.util.find_spec("ray") is None:
        raise UsageError(Refusal.of("library-missing", library="Ray", extra="ray", fault="80 MB, 250 MB on the disk"))


def require_address(address: str) -> None:
    """See that this can be the address of a cluster, without connecting to it.

    Raises:
        UsageError: it is neither HOST:PORT nor ``auto``.
    """
    if address != _AUTO:
        _host_and_port(address)


def require_head(address: str) -> None:
    """See that something listens where the head of a cluster is to be; what ``auto`` means only Ray knows.

    Raises:
        UsageError: this is not an address.
        EnvironmentFault: nothing accepts connections there.
    """
    if address == _AUTO:
        return
    try:
        socket.create_connection(_host_and_port(address), timeout=_CONNECT_SECONDS).close()
    except (OSError, UnicodeError) as fault:
        said = getattr(fault, "strerror", None) or str(fault)
        raise EnvironmentFault(Refusal.of("ray-head-not-there", address=address, fault=said)) from fault


def _host_and_port(address: str) -> tuple[str, int]:
    found = _HEAD.fullmatch(address)
    if found is None or not 0 < int(found["port"]) <= _LAST_PORT:
        raise UsageError(
            Refusal.of(
                "unexpected",
                expected="HOST:PORT of the head of a Ray cluster such as head:6379, or auto",
                found=repr(address),
            ).at("--ray")
        )
    return found["host"].strip("[]"), int(found["port"])

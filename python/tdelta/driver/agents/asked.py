"""What was asked of load agents, and whether Ray is there: for whoever plans a run, and so in need of little."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

from tdelta.errors import UsageError
from tdelta.messages import Refusal


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
        raise UsageError(Refusal.of("ray-missing"))

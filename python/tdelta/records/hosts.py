"""Load agents, and hosts that twins change between: descriptive; verdicts have the hosts taken out already."""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.records.conditions import Condition
from tdelta.records.findings import Estimate, Finding, Typical


@dataclass(frozen=True, slots=True)
class AgentUse:
    """One agent over all trials that count. ``cpu_share`` is of one core, ``late_seconds`` how late it began.

    ``waited_seconds`` is how long a connection of it waited in a trial for operations to be handed out, on average.
    """

    agent: str
    nodes: tuple[str, ...]
    operations: int
    cpu_share: Typical
    late_seconds: Typical
    waited_seconds: Typical


@dataclass(frozen=True, slots=True)
class SeenOverhead:
    """Whether all agents, or all hosts, see the same overhead of one condition.

    ``ratios`` are the condition over its baseline, by each agent in the same blocks, or on each host in the same
    rounds: geometric means over so many ``repeats``. ``between_sd`` is the standard deviation of an agent's or host's
    own effect on that ratio, as a share, beyond what chance makes them differ by (0: none to be seen). ``is_apart``:
    they differ by more than chance does in 99 of 100 runs in which they are alike (an F test; None where it takes more
    repeats to say).
    """

    condition: Condition
    repeats: int
    ratios: tuple[float, ...]
    between_sd: float
    is_apart: bool | None


@dataclass(frozen=True, slots=True)
class LoadAgents(Finding):
    """The agents of a run.

    ``overlap`` is the share of a trial in which all were at work, ``skew_seconds`` how far its first start and its last
    are apart, ``clock_error_seconds`` how well that is known, at the worst.
    """

    FINDING = "agents"
    IS_SINGLE = True

    trials: int
    overlap: Typical
    skew_seconds: Typical
    clock_error_seconds: float
    agents: tuple[AgentUse, ...]
    effects: tuple[SeenOverhead, ...]


@dataclass(frozen=True, slots=True)
class HostEffect:
    """What the same costs on one host: ``estimate`` is over ``versus``, for the conditions compared with a baseline.

    ``rounds`` of trials on all hosts are what it is of.
    """

    baseline: Condition
    host: str
    versus: str
    rounds: int
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Hosts(Finding):
    """The hosts that the twins of a run changed between.

    ``confounded`` are the conditions that cannot be separated from the hosts they were on: no plain twin was on those,
    and they were on no plain twin's.
    """

    FINDING = "hosts"
    IS_SINGLE = True

    names: tuple[str, ...]
    effects: tuple[HostEffect, ...]
    overheads: tuple[SeenOverhead, ...]
    confounded: tuple[Condition, ...] = ()

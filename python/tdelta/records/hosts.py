"""What the hosts of a run are worth where its twins change hosts: descriptive; verdicts have it taken out already."""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.records.conditions import Condition
from tdelta.records.estimates import Estimate
from tdelta.records.findings import Finding


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
class HostOverhead:
    """Whether the overhead of one condition is the same on all hosts, from the rounds in which each had both twins.

    ``ratios`` are over the plain twins by host, in the hosts' order, geometric means over ``rounds``. ``between_sd`` is
    the standard deviation of a host's effect on that ratio, as a share, beyond what chance makes them differ by.
    ``is_apart``: they differ by more than chance does in 99 of 100 runs whose hosts are alike (an F test; None where it
    takes more rounds to say).
    """

    condition: Condition
    rounds: int
    ratios: tuple[float, ...]
    between_sd: float
    is_apart: bool | None


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
    overheads: tuple[HostOverhead, ...]
    confounded: tuple[Condition, ...] = ()

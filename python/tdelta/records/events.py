"""Events of a running session for whoever watches: values, never text to print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tdelta.records.conditions import Condition
from tdelta.records.findings import Estimate
from tdelta.records.results import RunSettings
from tdelta.records.trials import Trial


@dataclass(frozen=True, slots=True)
class RunPlanned:
    """The run is laid out; nothing has been measured."""

    settings: RunSettings
    blocks_per_round: int
    rounds_min: int
    trial_seconds: float
    deadline_seconds: float
    directory: str


@dataclass(frozen=True, slots=True)
class Phase:
    """A stage other than measuring has begun.

    ``load``, ``calibrate``, ``copy``, ``warm-up``, ``evidence``, ``profile``, ``checksum``, ``judge``,
    ``lost`` (a server that died), ``server check``;
    ``done`` of ``total`` steps (0 of 0 where it cannot be known); ``detail`` is for people.
    """

    name: str
    detail: str = ""
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """Fresh twins are up. ``round`` counts from 0."""

    round: int
    blocks: int


@dataclass(frozen=True, slots=True)
class TrialDone:
    trial: Trial
    trials_done: int


@dataclass(frozen=True, slots=True)
class BlockDone:
    """Every condition has run once more. ``elapsed_seconds`` is wall clock since the start, set-up included."""

    round: int
    block: int
    elapsed_seconds: float


@dataclass(frozen=True, slots=True)
class InterimAnalysis:
    """A look at a round's end: the primary posterior of each judged condition so far, and the width aimed at.

    ``estimates`` pairs each condition with its estimate and the target width of its 95% HDI (a difference of ratios).
    ``stop`` says that this look is the last, ``is_late`` that the time is the reason.
    """

    round: int
    estimates: tuple[tuple[Condition, Estimate, float], ...]
    seconds_left: float
    stop: bool
    is_late: bool = False


Event: TypeAlias = RunPlanned | Phase | RoundStarted | TrialDone | BlockDone | InterimAnalysis

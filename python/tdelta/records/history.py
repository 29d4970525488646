"""Several runs of the same experiment: how much its overhead changed, and when."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tdelta.records.conditions import Condition
from tdelta.records.findings import Estimate
from tdelta.records.results import Decision, Metric


class Change(StrEnum):
    """Whether an overhead is another than before, by more than the tolerance. ``invalid``: one of the runs is."""

    LARGER = "larger"
    SMALLER = "smaller"
    UNCHANGED = "unchanged"
    UNDECIDED = "undecided"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class OverheadChange:
    """How much larger an overhead is than an earlier one: a difference of ratios, 0.10 for 10% that became 20%.

    ``mass_above_zero`` is the posterior probability that it is larger at all.
    """

    median: float
    hdi95: tuple[float, float]
    mass_above_zero: float
    change: Change


@dataclass(frozen=True, slots=True)
class AgainstRun:
    condition: Condition
    metric: Metric
    earlier: Estimate
    later: Estimate
    difference: OverheadChange


@dataclass(frozen=True, slots=True)
class Against:
    """A run beside an earlier one.

    ``differing`` says what else the two differ in, as (name, earlier, later): then the difference is of that, too.
    ``tolerance`` is the difference not cared about, the later run's.
    """

    run_id: str
    earlier_id: str
    tolerance: float
    conditions: tuple[AgainstRun, ...]
    differing: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """One run of a series. ``version`` is the library or server under test, as the run found it."""

    run_id: str
    created_unix_seconds: float
    labels: tuple[str, ...]
    version: str
    ratio: Estimate
    decision: Decision


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """Where the overhead changed: the first run with the new one, and both sides' mean ratios.

    ``difference`` is of the means. ``probability`` is how probable so large a change is where there is none, as the
    detector has it: the two-sided tail of the difference of means.
    """

    at: int
    run_id: str
    before: float
    after: float
    difference: OverheadChange
    probability: float


@dataclass(frozen=True, slots=True)
class Series:
    """The runs of one condition of one experiment, in order, and where its overhead changed.

    ``between_runs_sd`` is what runs of one stretch differ by beyond their own uncertainty, the posterior median, a
    share; None where a stretch of one run each says nothing of it.
    """

    condition: Condition
    points: tuple[HistoryPoint, ...]
    changes: tuple[ChangePoint, ...]
    between_runs_sd: float | None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A run that would be in a history, and why it is not, as a code: ``invalid``, ``no-data``."""

    run_id: str
    why: str


@dataclass(frozen=True, slots=True)
class History:
    """All series of one experiment. ``order`` is what the runs are ordered and named by: date, version or label."""

    name: str
    engine: str
    study: str
    workload: str
    metric: Metric
    tolerance: float
    order: str
    series: tuple[Series, ...]
    left_out: tuple[LeftOut, ...] = ()

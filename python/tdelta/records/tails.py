"""Tails of response times, a condition beside its baseline. Shown for orientation; nothing here decides anything.

Two figures: the share of transactions that took longer than a threshold of the user's (the exceedance), and the 99th
percentile. ``docs/statistics.md`` says what their intervals rest on.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tdelta.messages import Reason
from tdelta.records.conditions import Condition
from tdelta.records.findings import Finding


class TailUnit(StrEnum):
    """What an interval takes as independent of each other."""

    ROUND = "round"
    RUN = "run"


@dataclass(frozen=True, slots=True)
class TailRatio:
    """A quotient of condition over baseline and its 95% interval, from so many ``units`` of one kind."""

    ratio: float
    interval95: tuple[float, float]
    unit: TailUnit
    units: int


@dataclass(frozen=True, slots=True)
class Exceeding:
    """One side: ``longer`` of ``transactions`` took longer than the threshold, in ``blocks_with`` of the blocks."""

    DERIVED = ("share",)

    longer: int
    transactions: int
    blocks_with: int

    @property
    def share(self) -> float:
        return self.longer / max(1, self.transactions)


@dataclass(frozen=True, slots=True)
class BadTrials:
    """How many trials had any transaction beyond the threshold, and the ratio of the two sides' rates of them.

    A trial is one twin's part of a block, so two plain twins have two a block. ``low`` and ``high`` are the ends of the
    ratio's 95% interval: ``high`` is None where nothing bounds it (no bad trial on the baseline), and both are where
    there is no interval at all (no bad trial, or most of them).
    """

    DERIVED = ("quotient",)

    condition_bad: int
    condition_trials: int
    baseline_bad: int
    baseline_trials: int
    rounds: int
    low: float | None = None
    high: float | None = None

    @property
    def quotient(self) -> float | None:
        """The condition's rate over the baseline's; None where either has no bad trial."""
        if not self.condition_bad or not self.baseline_bad:
            return None
        return (self.condition_bad / self.condition_trials) / (self.baseline_bad / self.baseline_trials)


@dataclass(frozen=True, slots=True)
class Exceedance:
    """How often a threshold was exceeded on either side.

    A histogram counts in bins: what is counted took ``counted_from_ns`` or longer, the first edge of a bin above
    ``threshold_ns``, on both sides alike. ``quotient`` is of the two shares, None where either is zero. ``ratio`` is
    None where there are too few for an interval, or one round only; ``reason`` then says why.
    ``bad_trials`` counts trials with any, which stalls that come in clumps need.
    """

    threshold_ns: int
    counted_from_ns: int
    baseline: Exceeding
    condition: Exceeding
    quotient: float | None
    ratio: TailRatio | None
    reason: Reason | None = None
    bad_trials: BadTrials | None = None


@dataclass(frozen=True, slots=True)
class Percentile99:
    """The 99th percentile of either side over all blocks, and its ratio with an *approximate* interval.

    ``ratio`` is None with fewer than three rounds; ``reason`` then says why.
    """

    DERIVED = ("quotient",)

    baseline_ns: int
    condition_ns: int
    ratio: TailRatio | None
    reason: Reason | None = None

    @property
    def quotient(self) -> float:
        return self.condition_ns / self.baseline_ns


@dataclass(frozen=True, slots=True)
class Percentile:
    """A percentile over all complete blocks, for orientation: it has no interval. ``quantile`` is a share (0.95)."""

    DERIVED = ("quotient",)

    quantile: float
    baseline_ns: int
    condition_ns: int

    @property
    def quotient(self) -> float:
        return self.condition_ns / self.baseline_ns


@dataclass(frozen=True, slots=True)
class TailMeasure(Finding):
    """The tail of one condition beside its baseline, over ``blocks`` complete blocks of ``rounds`` rounds.

    The baseline are both plain twins together; of an A/A twin it is the other one. ``transaction`` is ``all`` for the
    mix, which every run has for its judged conditions, with its ``percentiles`` where enough transactions lie beyond.
    ``exceedance`` is None without a threshold (``--latency-limit``), ``p99`` where there are too few blocks or
    transactions.
    """

    FINDING = "tails"

    condition: Condition
    baseline: Condition
    transaction: str
    blocks: int
    rounds: int
    exceedance: Exceedance | None = None
    p99: Percentile99 | None = None
    percentiles: tuple[Percentile, ...] = ()


@dataclass(frozen=True, slots=True)
class ObservedSide:
    """One condition's part of a tail that another tool measured.

    ``longer_at_least`` values took `ObservedTail.counted_from_ms` or longer; up to ``longer_at_most`` took longer than
    the threshold, since the bins that it lies in say no more. ``p99_within_ms`` are the edges between which the 99th
    percentile lies, None where fewer than ten values lie beyond it. ``runs`` are those of which there are response
    times at all.
    """

    DERIVED = ("share",)

    condition: str
    runs: int
    count: int
    longer_at_least: int | None
    longer_at_most: int | None
    p99_within_ms: tuple[float, float] | None

    @property
    def share(self) -> float | None:
        """The share of values that took `ObservedTail.counted_from_ms` or longer; None without a threshold."""
        return None if self.longer_at_least is None else self.longer_at_least / max(1, self.count)


@dataclass(frozen=True, slots=True)
class ObservedTail:
    """Tails of two conditions that another tool measured, the quotients being of condition over baseline.

    ``counted_from_ms`` is the first edge, from the threshold on, that cuts no bin of any run on either side: from there
    on values are counted, on both sides alike. ``longer_quotient`` is of these shares, ``p99_quotient`` of the upper
    ends. Ratios with an interval are None where there is none to give; the reasons
    then say why.
    """

    threshold_ms: float | None
    counted_from_ms: float | None
    baseline: ObservedSide
    condition: ObservedSide
    longer_quotient: float | None
    longer_ratio: TailRatio | None
    p99_quotient: float | None
    p99_ratio: TailRatio | None
    longer_reason: Reason | None = None
    p99_reason: Reason | None = None

"""Findings: what a run found beside its verdicts, each a record of its own; `tdelta.findings` declares the kinds."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from typing import ClassVar

from tdelta.messages import Reason
from tdelta.records.conditions import Condition


@dataclass(frozen=True, slots=True)
class Estimate:
    """A posterior in a few figures; all are quotients, e.g. ``hdi95 = (1.024, 1.038)``."""

    median: float
    hdi95: tuple[float, float]
    hdi99: tuple[float, float]
    mass_above_tolerance: float
    mass_in_tolerance: float
    mass_below_tolerance: float


@dataclass(frozen=True, slots=True)
class Typical:
    """A quantity over the trials of one condition: its median between the quartiles."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Typical:
        """Of at least one value."""
        found = list(values)
        if len(found) == 1:
            return cls(*found, *found, *found)
        return cls(*statistics.quantiles(found, n=4, method="inclusive"))

    @classmethod
    def of_any(cls, values: Iterable[float]) -> Typical | None:
        """None of no value."""
        found = list(values)
        return cls.of(found) if found else None


class Finding:
    """The base of findings. A run has any number of one kind; of one with ``IS_SINGLE``, one at most.

    ``FINDING`` is what a kind is called in stored results and in the JSON output.
    """

    __slots__ = ()

    FINDING: ClassVar[str]
    IS_SINGLE: ClassVar[bool] = False


FINDINGS: dict[str, type[Finding]] = {}
"""The record of every kind that was declared; `known_findings` has them all."""


def known_findings() -> Mapping[str, type[Finding]]:
    """The record of every kind of finding, by its name: what stored results are read with.

    The package that declares them is imported by its name, as an engine's is, since it builds on all that reads them.
    """
    import_module("tdelta.findings")
    return FINDINGS


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
    """The cost on one host: ``estimate`` is over ``versus``, for the conditions compared with a baseline.

    ``rounds`` is the number of rounds of trials on all hosts.
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


class FunctionClass(StrEnum):
    """The purpose of a function, as far as its symbol tells.

    ``crypto`` is the rest of a library of ciphers: what stands around them, and functions whose symbol the file does
    not tell, so that they may be a cipher or a hash. An encrypting file system's process is all of that class.
    ``library`` is the C and C++ libraries, which the database and its ciphers call alike.
    """

    CIPHER = "cipher"
    HASH = "hash"
    CRYPTO = "crypto"
    CHECKSUM = "checksum"
    COMPRESSION = "compression"
    DATABASE = "database"
    LIBRARY = "library"
    KERNEL = "kernel"
    CLIENT = "client"


@dataclass(frozen=True, slots=True)
class Sampled:
    """The samples in one function: ``cpu_ns`` is its samples times the time between two of them.

    ``dso`` is the file that holds it, without folders, or the kernel's name in brackets; ``symbol`` is empty where that
    file does not tell it.
    """

    dso: str
    symbol: str
    samples: int
    cpu_ns: int
    is_kernel: bool = False


@dataclass(frozen=True, slots=True)
class ProfiledSide:
    """The trials of one condition that were sampled. ``operations`` are all that were executed meanwhile."""

    condition: Condition
    trials: int
    operations: int
    samples: int
    cpu_ns: float


@dataclass(frozen=True, slots=True)
class FunctionShare:
    """One function: its CPU time per operation in the plain and in the encrypted twin, ns, and the difference."""

    function: str
    dso: str
    function_class: FunctionClass
    plain_ns: float
    encrypted_ns: float
    difference_ns: float
    plain_samples: int
    encrypted_samples: int


@dataclass(frozen=True, slots=True)
class ClassShare:
    """All functions of one class: CPU time per operation, ns; ``interval95`` is of the difference.

    ``share`` is its part of the whole difference (a class that became cheaper has a negative one, and then others have
    more than all); None where the whole difference is within what so many samples show by chance.
    """

    function_class: FunctionClass
    plain_ns: float
    encrypted_ns: float
    difference_ns: float
    interval95: tuple[float, float]
    share: float | None
    share_interval95: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class CpuProfile(Finding):
    """The CPU time of one condition beside its baseline's, out of trials that were sampled and not measured.

    ``difference_ns`` is of an operation, all functions together, with its 95% interval, which knows of the number of
    samples and nothing else: not of the effects of these two instances. ``functions`` are those of the largest
    differences and times, the largest first.
    """

    FINDING = "profiles"

    baseline: ProfiledSide
    condition: ProfiledSide
    difference_ns: float
    interval95: tuple[float, float]
    classes: tuple[ClassShare, ...] = field(metadata={"inside": {"function_class": "class"}})
    functions: tuple[FunctionShare, ...] = field(metadata={"inside": {"function_class": "class"}})


class ComponentKind(StrEnum):
    """A line of a breakdown.

    ``cipher``: pages decrypted and encrypted. ``integrity``: their MAC. ``log``: log and binary log encrypted.
    ``io``: pages, bytes or system time beyond the plain twins'. ``residual``: what the components do not explain; it is
    negative where they add up to more than was measured.
    """

    CIPHER = "cipher"
    INTEGRITY = "integrity"
    IO = "io"
    RESIDUAL = "residual"


@dataclass(frozen=True, slots=True)
class Amount:
    """A time of one operation, µs, and its 95% HDI."""

    us: float
    hdi95: tuple[float, float]


@dataclass(frozen=True, slots=True)
class CostItem:
    """One product in a component: ``count`` of ``what`` per operation, at ``unit_cost_us`` each, with its quartiles."""

    what: str
    count: float
    unit_cost_us: float
    unit_cost_quartiles: tuple[float, float]


@dataclass(frozen=True, slots=True)
class TimedCalls:
    """Calls of one cipher in one direction: ``starts`` are those that brought a key or an initialization vector.

    ``kind`` is ``cipher``, ``mac``, ``random`` or ``context``, ``direction`` ``encrypt`` or ``decrypt``.
    """

    name: str
    kind: str
    direction: str
    starts: float
    calls: float
    bytes: float
    us: float

    def times(self, factor: float) -> TimedCalls:
        counts = (self.starts, self.calls, self.bytes, self.us)
        return TimedCalls(self.name, self.kind, self.direction, *(factor * count for count in counts))


@dataclass(frozen=True, slots=True)
class CostComponent:
    """One component. ``share`` is of the CPU difference, None where that is not surely above zero.

    ``items`` are empty where a component is not a product of counts and unit costs; ``source`` says what the unit costs
    are of. ``is_timed``: they are what the engine's own calls took where they happened.
    """

    kind: ComponentKind
    amount: Amount
    share: float | None
    share_hdi95: tuple[float, float] | None
    items: tuple[CostItem, ...] = ()
    source: str = ""
    is_timed: bool = False


@dataclass(frozen=True, slots=True)
class CostBreakdown(Finding):
    """The cost of one condition beyond the baseline of its stratum, per operation, and the components of that.

    ``cpu`` is the difference in CPU time, ``components`` its parts in the order of `ComponentKind`, the residual last;
    their medians need not add up exactly. ``elapsed`` is the difference in response time and ``off_cpu`` that less
    ``cpu``: the longer waits, those for a CPU included. ``unattributed`` lists the costs without a component, and
    why. Where the residual is large, ``functions`` are those that a profile attributes it to, the largest difference
    first, and ``where_unknown`` says why there are none.
    """

    FINDING = "cost_breakdown"

    condition: Condition
    baseline: Condition
    cpu: Amount
    components: tuple[CostComponent, ...]
    elapsed: Amount | None
    off_cpu: Amount | None
    unattributed: tuple[Reason, ...] = ()
    functions: tuple[FunctionShare, ...] = ()
    where_unknown: Reason | None = None

    def component(self, kind: ComponentKind) -> CostComponent | None:
        """One component, or None where it is absent."""
        return next((one for one in self.components if one.kind is kind), None)


class TailUnit(StrEnum):
    """The units that an interval takes as independent of each other."""

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

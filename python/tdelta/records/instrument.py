"""The answers of ``tdelta calibrate`` and ``tdelta plan``: the noise of this machine, and what can be detected when.

Standard deviations are of a log cost, which for small ones is a share (0.02 is 2%). Overheads and tolerances are
shares. A *machine calibration* is of one machine, engine and workload; how many operations fill a trial is another
thing (`tdelta.session.trial_size`). Metrics of a calibration are named by their values (``response_time``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tdelta.messages import Caution, Reason
from tdelta.records.findings import Finding
from tdelta.records.parts import part
from tdelta.records.results import CalibrationUsed, Decision, DetectableEffect, InstanceEffectPrior, Metric


@dataclass(frozen=True, slots=True)
class Counted:
    """So many of so many runs, with the exact 95% interval of the share (Clopper and Pearson)."""

    count: int
    of: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class IdenticalTally:
    """Identical twins, judged as if they were conditions.

    ``false_calls`` were called slower, faster or invalid; ``held`` is how often the 95% HDI held 0; ``apart`` is the
    root mean square of the overheads read, a share.
    """

    false_calls: Counted
    held: Counted
    apart: float


@dataclass(frozen=True, slots=True)
class InjectedTally:
    """One injected cost, read by one metric over the runs. All costs are quotients, all biases their differences.

    ``bias`` is the mean of what was read less what was actual, ``bias_interval`` its 95% interval (None of a single
    run). ``held`` is how often the 95% HDI held the actual cost, ``found`` how often it lay above 0. Where
    ``is_truth`` is False the actual cost is not the truth of that metric, so nothing is held against it.
    """

    injected: float
    metric: str
    is_truth: bool
    actual: float
    bias: float
    bias_interval: tuple[float, float] | None
    held: Counted
    found: Counted
    width: float


@dataclass(frozen=True, slots=True)
class MetricNoise:
    """The noise and instance effects of one metric, pooled over the runs; shares.

    ``trial_sd`` is of one trial, ``pair_sd`` of the log ratio of two in a block; ``instance_sd`` the posterior median
    of the standard deviation of instance effects, ``instance_sd_interval`` its 95% interval, over so many
    ``instances``; ``prior`` is what later runs begin with.
    """

    metric: str
    trial_sd: float
    pair_sd: float
    instance_sd: float
    instance_sd_interval: tuple[float, float]
    instances: int
    prior: InstanceEffectPrior


@dataclass(frozen=True, slots=True)
class CalibrationKey:
    """Properties that a run shares with a calibration that it uses. ``work`` is a digest of data and transactions."""

    machine: Mapping[str, object]
    engine: str
    library: str
    workload: str
    work: str
    options: Mapping[str, object]
    tdelta: str


@dataclass(frozen=True, slots=True)
class MachineCalibration:
    """The outcome of ``tdelta calibrate``.

    ``faults`` say why the instrument is not to be believed here; ``minimum_detectable_effect`` is of response time.
    ``tolerance`` is the overhead not cared about, a share, that the calls were made with.
    """

    calibration_id: str
    created_unix_seconds: float
    seed: int
    key: CalibrationKey
    run_ids: tuple[str, ...]
    rounds_per_run: int
    blocks_per_round: int
    elapsed_seconds: float
    tolerance: float
    identical: IdenticalTally
    injected: tuple[InjectedTally, ...]
    noise: tuple[MetricNoise, ...]
    minimum_detectable_effect: tuple[DetectableEffect, ...]
    faults: tuple[Reason, ...] = ()
    cautions: tuple[Caution, ...] = ()
    interrupted: bool = False
    machine: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_valid(self) -> bool:
        return not self.faults

    def used(self) -> CalibrationUsed:
        return CalibrationUsed(
            calibration_id=self.calibration_id,
            created_unix_seconds=self.created_unix_seconds,
            runs=len(self.run_ids),
            noise_floor=self.identical.apart,
            instance_effect={noise.metric: noise.prior for noise in self.noise},
            minimum_detectable_effect=self.minimum_detectable_effect,
        )


@dataclass(frozen=True, slots=True)
class ShareEffect:
    """An effect on a cost, a share of it, with its 95% interval."""

    share: float
    interval95: tuple[float, float]


@dataclass(frozen=True, slots=True)
class CarryOver(Finding):
    """The effect of the twin before on a trial, a share of its cost.

    Attributes:
        after_encrypted: a trial right after an encrypted twin's over one after a plain twin's, with its 95% interval;
            None where no encrypted twin ran, or trials leave more than 90% of the prior's standard deviation.
        unknown: what these data cannot say, and why.
    """

    FINDING = "order_effect"
    IS_SINGLE = True

    after_encrypted: ShareEffect | None
    unknown: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class ScaleNoise:
    """The mean of ``trials`` trials in consecutive blocks, against the mean of the next as many (Allan deviation).

    ``sd`` is of such a mean. ``excess`` is its variance over that of independent trials, ``1`` where longer measuring
    averages noise away as it should, with a 95% interval.
    """

    trials: int
    sd: float
    excess: float
    excess95: tuple[float, float]


@dataclass(frozen=True, slots=True)
class NoiseAtLength:
    """The noise of trials of one length, in one stratum.

    Attributes:
        run_id: the run.
        where: the stratum's levels where there are several: ``threads 4``; else empty.
        trial_seconds: how long a plain trial was, its head included, median.
        slot_seconds: wall clock of a trial with all that goes with it: switch, checkpoint, slower twins.
        rounds: rounds of fresh twins.
        blocks: complete blocks.
        cost: geometric mean cost of an operation on plain twins, in the metric's unit.
        sd: a trial's noise as it counts for an instance's mean.
        sd95: its 95% interval.
        time_for_same: the wall clock that equal precision takes, over that of the length that takes least; instance
            effects aside.
        scales: how the noise averages out over blocks.
    """

    run_id: str
    where: str
    trial_seconds: float
    slot_seconds: float
    rounds: int
    blocks: int
    cost: float
    sd: float
    sd95: tuple[float, float]
    time_for_same: float
    scales: tuple[ScaleNoise, ...]


@dataclass(frozen=True, slots=True)
class InstanceEffect:
    """The effect of an instance, the same in all blocks of its round: posterior median and 95% interval."""

    sd: float
    sd95: tuple[float, float]
    instances: int


@dataclass(frozen=True, slots=True)
class TimeCosts:
    """Where wall clock goes: once, for each round of fresh twins, and for each trial.

    A trial takes ``switch_seconds + stretch`` times its own length; the latter is 1 where nothing grows with it.
    """

    set_up_seconds: float
    round_seconds: float
    switch_seconds: float
    stretch: float

    def slot_seconds(self, trial_seconds: float) -> float:
        return self.switch_seconds + self.stretch * trial_seconds


@dataclass(frozen=True, slots=True)
class Layout:
    """The run that is planned: conditions of a stratum and of a block, plain twins, trial, blocks, wall clock."""

    DERIVED = ("whole_round_seconds",)

    conditions: int
    block_conditions: int
    plain: int
    trial_seconds: float
    blocks_per_round: int
    set_up_seconds: float
    round_seconds: float
    block_seconds: float

    @property
    def whole_round_seconds(self) -> float:
        """Wall clock of a round: its fresh twins and its blocks."""
        return self.round_seconds + self.blocks_per_round * self.block_seconds

    def seconds(self, rounds: float) -> float:
        """Wall clock of so many rounds, set-up included."""
        return self.set_up_seconds + rounds * self.whole_round_seconds

    def rounds_within(self, seconds: float) -> int:
        return max(0, int((seconds - self.set_up_seconds) / self.whole_round_seconds + 1e-9))


@dataclass(frozen=True, slots=True)
class Advice:
    """Trial length and blocks per round that decide soonest, among those that the data can speak of.

    ``trial_gain`` and ``blocks_gain`` are the time to decide the primary targets over that of the run as it was, 1
    where it stays as it was. ``trial_seconds`` is None where a single length was measured.
    """

    trial_seconds: float | None
    trial_gain: float
    trial_words: str
    blocks_per_round: int
    blocks_gain: float
    blocks_words: str


class Attainability(StrEnum):
    REACHED = "reached"
    TOO_LONG = "too long"
    EDGE = "on the edge"


@dataclass(frozen=True, slots=True)
class Point:
    """A run of so many rounds: the chance that it decides rightly, and that it decides wrongly."""

    rounds: int
    seconds: float
    assurance: float
    wrong: float


@dataclass(frozen=True, slots=True)
class Target:
    """A true overhead that a run should decide against a tolerance.

    ``decision`` is the right one, None on the tolerance's edge. ``rounds`` and ``seconds`` are the least that reach the
    assurance asked for, None where none of the curve does; ``reason`` then says why.
    """

    effect: float
    tolerance: float
    decision: Decision | None
    attainability: Attainability
    rounds: int | None
    seconds: float | None
    reason: Reason | None
    curve: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Width:
    """How wide the 95% HDI of the ratio will be after so many rounds, as shares: median, and what 80% lie between.

    ``instance_share`` is the part of its variance that instance effects makes, which more blocks do not lessen.
    """

    rounds: int
    seconds: float
    width: float
    width80: tuple[float, float]
    instance_share: float


@dataclass(frozen=True, slots=True)
class Grounds:
    """Measurements of this machine: noise at each length of trial, instance effects, carry-over, time."""

    lengths: tuple[NoiseAtLength, ...]
    instance_effect: InstanceEffect
    carry_over: CarryOver
    times: TimeCosts


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """How long one must measure here. ``primary_targets`` are those that were requested, or stand for them.

    ``options`` are those of the run that is advised, by the field names of a run's request; ``again`` those of `tdelta
    plan` that belong to these runs and to what was asked besides overheads and tolerances, ``assurance`` among them.
    ``simulated`` is how many runs each curve rests on; ``pilot_seconds`` is None where stored runs were read.
    """

    engine: str
    workload: str
    metric: Metric
    run_ids: tuple[str, ...]
    pilot_seconds: float | None
    assurance: float
    max_seconds: float | None
    grounds: Grounds = part()
    layout: Layout
    advice: Advice
    widths: tuple[Width, ...]
    targets: tuple[Target, ...]
    primary_targets: tuple[Target, ...]
    advised_rounds: int | None
    simulated: int
    cautions: tuple[Caution, ...]
    options: Mapping[str, object] = field(default_factory=dict)
    again: Mapping[str, object] = field(default_factory=dict)

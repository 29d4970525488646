"""The findings of ``tdelta calibrate`` about the instrument: its noise, its instance effects, and its accuracy.

A *machine calibration* is of one machine, engine and workload; how many operations fill a trial is another thing
(`tdelta.session.trial_size`). Metrics are named by their values (``response_time``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from tdelta.messages import Caution, Reason


@dataclass(frozen=True, slots=True)
class InstanceEffectPrior:
    """The prior of an instance effect (tau_i, an sd of a log cost) before a run.

    Lognormal with this median (a share) and ``log_sd``; but with probability ``vague_share`` as little is known as
    without a calibration.
    """

    median: float
    log_sd: float
    vague_share: float


@dataclass(frozen=True, slots=True)
class DetectableEffect:
    """The smallest effect that a run of that length detects. ``rounds`` is how many fit into it.

    ``critical_log_ratio`` is by how much a log ratio must exceed a limit to be called slower (the 95% HDI above the
    limit, with few rounds the 99% HDI) with a probability of 0.9; None where not one round fits.
    """

    minutes: float
    rounds: int
    critical_log_ratio: float | None

    def overhead(self, limit: float) -> float | None:
        """The smallest overhead that such a run finds to be more than ``limit``; both are shares."""
        return None if self.critical_log_ratio is None else (1.0 + limit) * math.exp(self.critical_log_ratio) - 1.0


@dataclass(frozen=True, slots=True)
class CalibrationUsed:
    """The machine calibration that a run takes its priors from; ``instance_effect`` is by metric.

    ``noise_floor`` is how far apart identical twins were read, a share (root mean square over the runs).
    """

    calibration_id: str
    created_unix_seconds: float
    runs: int
    noise_floor: float
    instance_effect: Mapping[str, InstanceEffectPrior]
    minimum_detectable_effect: tuple[DetectableEffect, ...]


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
class Pace:
    """How long a usual run takes here: its set-up, and each round of a baseline, its A/A twin and one condition."""

    set_up_seconds: float
    round_seconds: float


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
    pace: Pace
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

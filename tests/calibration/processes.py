"""Machines and databases that an author of a model would rather not meet, and the trials they produce.

Each `Process` is one way in which the cost of a trial comes about; its truth is the ratio of mean costs. Where noise
has no mean (t2, Cauchy, on the log scale) both twins have the same noise and the truth is the ratio that multiplies
it. An odd instance has two truths, and both are looked at: without it (``typical_truth``), and the mean over instances.

Trials go through the same entrance as measured ones, in tdelta's own block orders.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibration.simulation import ENCRYPTED, TWINS
from tdelta.design import block_order
from tdelta.records import Condition, Measurement, SpanTotals, Trial

Array: TypeAlias = NDArray[np.float64]
Noise: TypeAlias = Literal["normal", "t2", "t4", "cauchy", "gamma", "skewed"]
InstanceEffect: TypeAlias = Literal["normal", "two-point"]
Who: TypeAlias = Literal["all", "encrypted", "plain", "any"]

_OPERATIONS = 1_000_000
_LARGEST_LOG = 10.0


@dataclass(frozen=True)
class Process:
    """How costs come about; all sds are of a log cost.

    Attributes:
        noise: the law of a trial's noise (``skewed``: a centred exponential).
        sd: its sd (for t and Cauchy its scale).
        encrypted_noise: how many times as much of it encrypted twins have.
        luck_sd: sd of instance effects, ``encrypted_luck`` times as much on encrypted twins.
        luck: their law (``two-point``: every instance is either the one or the other, as with two memory layouts).
        stall_share: the share of trials of ``stalled`` twins that cost ``stall_factor`` times as much, in runs of
            ``stall_run`` trials of a twin.
        stall_stays: how likely a stalled twin is stalled in its next trial, too, so that a run of stalls ends by chance
            (``stall_run`` is 1 then).
        burst_share: the share of all trials that a burst hits, ``burst_length`` trials in a row, times
        ``burst_factor``. growth: the machine slows down by this share over the run (1.0: to half its speed).
        step: it slows down by this share at some moment.
        ar: autocorrelation of neighbouring trials' drift, which has an sd of 5 %.
        odd_factor: one instance of ``odd`` twins in each ``odd_one_of`` rounds costs so many times as much.
        place: what each place in the block adds to a log cost.
        round_sd: sd of what a round adds to all its encrypted twins alike.
        block_sd: sd of what a block adds to its encrypted twins alike, ``block_ar`` its autocorrelation over blocks.
        period: every so many trials, whoever runs, cost ``period_factor`` times as much; 0 for none.
        time_step: the step of the clock, as a share of a trial's typical cost; 0 for a clock without steps.
        carried: what an encrypted twin's trial adds to the log cost of the next trial of its round, whoever runs.
        log_ratio: of the encrypted twins.
    """

    noise: Noise = "normal"
    sd: float = 0.03
    encrypted_noise: float = 1.0
    instance_sd: float = 0.005
    encrypted_luck: float = 1.0
    instance_effect: InstanceEffect = "normal"
    stall_share: float = 0.0
    stall_factor: float = 1.0
    stalled: Who = "all"
    stall_run: int = 1
    stall_stays: float = 0.0
    burst_share: float = 0.0
    burst_length: int = 0
    burst_factor: float = 1.0
    growth: float = 0.0
    step: float = 0.0
    ar: float | None = None
    odd_factor: float = 1.0
    odd_one_of: int = 0
    odd: Who = "encrypted"
    place: float = 0.0
    round_sd: float = 0.0
    block_sd: float = 0.0
    block_ar: float = 0.0
    period: int = 0
    period_factor: float = 1.0
    time_step: float = 0.0
    carried: float = 0.0
    log_ratio: float = 0.0
    rounds: int = 5
    blocks: int = 6
    conditions: tuple[Condition, ...] = TWINS

    @property
    def typical_truth(self) -> float:
        """The true log ratio of mean costs, odd instances left out."""
        stalls = np.log1p(self.stall_share * (self.stall_factor - 1.0)) if self.stalled == "encrypted" else 0.0
        noise = _log_mean(self.noise, self.sd * self.encrypted_noise) - _log_mean(self.noise, self.sd)
        # Equal for both laws to the fourth power of the sd.
        instance_effect = 0.5 * self.instance_sd**2 * (self.encrypted_luck**2 - 1.0)
        return float(self.log_ratio + stalls + noise + instance_effect)

    @property
    def has_odd_instances(self) -> bool:
        return self.odd_one_of > 0

    @property
    def has_shared_effects(self) -> bool:
        return self.round_sd > 0.0 or self.block_sd > 0.0

    @property
    def event_share(self) -> float:
        """The share of a stalled twin's trials at which a stall begins."""
        return self.stall_share * (1.0 - self.stall_stays) / self.stall_run

    @property
    def expected_stalls(self) -> float:
        """How many stalls encrypted twins are expected to meet, a run of them being one."""
        encrypted = sum(c.role in ENCRYPTED for c in self.conditions)
        hit = self.event_share if self.stalled in ("all", "encrypted") else 0.0
        return hit * encrypted * self.rounds * self.blocks


def _log_mean(noise: Noise, sd: float) -> float:
    """Log of the mean of the exponential of noise; 0 where it has none, or is made to have the mean 1."""
    if noise == "normal":
        return 0.5 * sd**2
    return float(-sd - np.log1p(-sd)) if noise == "skewed" else 0.0


def simulate(process: Process, rng: np.random.Generator) -> list[Trial]:
    costs, places = log_costs(process, rng)
    trials = []
    for block, row in enumerate(costs.tolist()):
        for at, condition in enumerate(process.conditions):
            elapsed = round(1e9 * float(np.exp(np.clip(row[at], -_LARGEST_LOG, _LARGEST_LOG))))
            spans = {"all": SpanTotals(_OPERATIONS, elapsed)}
            measured = Measurement(_OPERATIONS, elapsed, spans, {})
            name, round_ = f"{block // process.blocks}-{condition.key}", block // process.blocks
            trials.append(Trial(round_, block, int(places[block, at]), condition, name, 0.0, measured))
    return trials


def log_costs(process: Process, rng: np.random.Generator) -> tuple[Array, NDArray[np.intp]]:
    """Log costs and places of all trials, each of shape (blocks, twins)."""
    twins, blocks = len(process.conditions), process.rounds * process.blocks
    is_encrypted = np.array([c.role in ENCRYPTED for c in process.conditions])
    seed = int(rng.integers(1 << 62))
    orders = np.array([block_order(seed, block, twins) for block in range(blocks)])
    places = np.argsort(orders, axis=1)
    costs = _noise(process, rng, is_encrypted, blocks) + process.log_ratio * is_encrypted
    costs += np.repeat(_instance_effect(process, rng, is_encrypted), process.blocks, axis=0)
    costs += _stalls(process, rng, is_encrypted, blocks) + process.place * places
    costs += _shared(process, rng)[:, None] * is_encrypted
    course = _course(process, rng, costs.size).reshape(costs.shape)
    costs += np.take_along_axis(course, places, axis=1)
    costs += process.carried * _follows_encrypted(process, orders, is_encrypted)
    if process.time_step:
        steps = np.round(np.exp(costs) / process.time_step)
        costs = np.log(process.time_step * np.maximum(steps, 1.0))
    return costs, places


def _follows_encrypted(process: Process, orders: NDArray[np.intp], is_encrypted: NDArray[np.bool_]) -> Array:
    """1 for each trial that an encrypted twin's came right before in its round, shape (blocks, twins)."""
    ran = is_encrypted[orders].reshape(process.rounds, -1)
    before = np.concatenate([np.zeros((process.rounds, 1)), ran[:, :-1]], axis=1).reshape(orders.shape)
    return np.take_along_axis(before, np.argsort(orders, axis=1), axis=1)


def _noise(process: Process, rng: np.random.Generator, is_encrypted: NDArray[np.bool_], blocks: int) -> Array:
    size = (blocks, len(is_encrypted))
    sd = process.sd * np.where(is_encrypted, process.encrypted_noise, 1.0)
    match process.noise:
        case "normal":
            drawn = sd * rng.normal(size=size)
        case "t2":
            drawn = sd * rng.standard_t(2.0, size)
        case "t4":
            drawn = sd / np.sqrt(2.0) * rng.standard_t(4.0, size)
        case "cauchy":
            drawn = sd * rng.standard_cauchy(size)
        case "skewed":
            drawn = sd * (rng.exponential(size=size) - 1.0)
        case "gamma":
            drawn = np.log(rng.gamma(1.0 / sd**2, sd**2, size))
    return np.asarray(drawn, dtype=np.float64)


def _instance_effect(process: Process, rng: np.random.Generator, is_encrypted: NDArray[np.bool_]) -> Array:
    sd = process.instance_sd * np.where(is_encrypted, process.encrypted_luck, 1.0)
    size = (process.rounds, len(is_encrypted))
    instance_effect = sd * (
        rng.normal(size=size) if process.instance_effect == "normal" else rng.choice([-1.0, 1.0], size)
    )
    if process.odd_one_of:
        first = {"encrypted": int(np.argmax(is_encrypted)), "plain": 0}.get(process.odd)
        for start in range(0, process.rounds, process.odd_one_of):
            within = min(process.odd_one_of, process.rounds - start)
            twin = int(rng.integers(len(is_encrypted))) if first is None else first
            instance_effect[start + int(rng.integers(within)), twin] += np.log(process.odd_factor)
    return np.asarray(instance_effect, dtype=np.float64)


def _shared(process: Process, rng: np.random.Generator) -> Array:
    """The effect of the round and the block on all encrypted twins alike, a value for each block."""
    of_rounds = np.repeat(process.round_sd * rng.normal(size=process.rounds), process.blocks)
    return np.asarray(of_rounds + _wandering(rng, len(of_rounds), process.block_sd, process.block_ar), dtype=np.float64)


def _wandering(rng: np.random.Generator, count: int, sd: float, ar: float) -> Array:
    level = rng.normal(0.0, sd)
    found = np.empty(count)
    for at, shock in enumerate(rng.normal(0.0, sd * np.sqrt(1.0 - ar**2), count)):
        level = ar * level + shock
        found[at] = level
    return found


def _stalls(process: Process, rng: np.random.Generator, is_encrypted: NDArray[np.bool_], blocks: int) -> Array:
    hit = np.stack(
        [_stalled(rng, blocks, process) & bool(of or process.stalled == "all") for of in is_encrypted],
        axis=1,
    )
    return np.asarray(np.log(process.stall_factor) * hit, dtype=np.float64)


def _stalled(rng: np.random.Generator, blocks: int, process: Process) -> NDArray[np.bool_]:
    if not process.stall_stays:
        return _runs(rng, blocks, process.stall_share, process.stall_run)
    starts = process.stall_share * (1.0 - process.stall_stays) / (1.0 - process.stall_share)
    hit = np.empty(blocks, dtype=np.bool_)
    is_hit = rng.random() < process.stall_share
    for at, drawn in enumerate(rng.random(blocks)):
        is_hit = drawn < (process.stall_stays if is_hit else starts)
        hit[at] = is_hit
    return hit


def _runs(rng: np.random.Generator, count: int, share: float, length: int) -> NDArray[np.bool_]:
    """Which of so many trials in a row are hit, in runs of a length, about this share of them."""
    hit = np.zeros(count + 2 * length, dtype=np.bool_)
    for start in np.flatnonzero(rng.random(count + length) < share / max(1, length)):
        hit[start : start + length] = True
    return hit[length : length + count]


def _course(process: Process, rng: np.random.Generator, trials: int) -> Array:
    """Changes of the machine from trial to trial, whoever runs."""
    course = np.log1p(process.growth) * np.arange(trials) / trials
    course += np.log1p(process.step) * (np.arange(trials) > trials * rng.random())
    if process.burst_length:
        course += np.log(process.burst_factor) * _runs(rng, trials, process.burst_share, process.burst_length)
    if process.period:
        course += np.log(process.period_factor) * (
            (np.arange(trials) + rng.integers(process.period)) % process.period == 0
        )
    if process.ar is not None:
        course += _wandering(rng, trials, 0.05, process.ar)
    return np.asarray(course, dtype=np.float64)

"""A machine that drifts, twins with luck of their own, and trials as the store would hand them over.

Simulated experiments go through the same entrance as measured ones, `analyze_run` and `interim_estimates`. What is
simulated is what was found to fool others: slow drift (an AR process of 60 s), a session's random walk, instances that
differ by 0.3 % or 1 %, trials with heavy tails or skewed like sums of gamma response times. And what the model assumes
away: a treatment whose trials are noisier, or whose instances are less alike, than the plain twins'.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tdelta.records import Condition, Measurement, Metric, Role, RunSettings, SpanTotals, Trial, Usage

Array: TypeAlias = NDArray[np.float64]
Noise: TypeAlias = Literal["t", "gamma"]
NOISES: tuple[Noise, ...] = ("t", "gamma")

BASELINE = Condition((("cipher", "none"),), Role.BASELINE)
AA = Condition((("cipher", "none"),), Role.AA)
TREATMENT = Condition((("cipher", "aes-256"),), Role.TREATMENT)
BB = Condition((("cipher", "aes-256"),), Role.BB)
TWINS = (BASELINE, AA, TREATMENT, BB)
THREE = (BASELINE, AA, TREATMENT)

ENCRYPTED = (Role.TREATMENT, Role.BB)
HEAVIER = Condition((("cipher", "aes-256-heavier"),), Role.TREATMENT)

OTHERS = tuple(Condition((("cipher", f"none-{i}"),), Role.IDENTICAL) for i in range(3))

_OPERATIONS = 1_000_000
_TRIAL_SECONDS = 0.3
_AR_SECONDS = 60.0


@dataclass(frozen=True)
class Machine:
    """Effects on a trial besides its condition; all figures are standard deviations of a log cost.

    The last two are factors: how many times as much noise and instance effects the *treatment* has.
    """

    trial_sd: float = 0.06
    noise: Noise = "t"
    instance_sd: float = 0.003
    drift_sd: float = 0.03
    walk_sd: float = 0.05
    treatment_noise: float = 1.0
    treatment_luck: float = 1.0

    @property
    def name(self) -> str:
        unequal = {"noise": self.treatment_noise, "luck": self.treatment_luck}
        behind = "".join(f", treatment's {what} × {factor:g}" for what, factor in unequal.items() if factor != 1.0)
        return f"{self.noise}, trial {100 * self.trial_sd:g} %, luck {100 * self.instance_sd:g} %{behind}"


def settings(
    conditions: Sequence[Condition] = TWINS, *, tolerance: float = 0.02, budget: float | None = None
) -> RunSettings:
    return RunSettings(
        run_id="simulated",
        seed=0,
        study="simulated",
        engine="none",
        workload="none",
        conditions=tuple(conditions),
        tolerance=tolerance,
        budget=budget,
        metric=Metric.RESPONSE_TIME,
    )


def generator(index: int, *cell: object) -> np.random.Generator:
    """Every experiment of every cell draws from a seed of its own."""
    return np.random.default_rng([zlib.crc32(repr(cell).encode()), index])


def _noise(rng: np.random.Generator, machine: Machine, size: int) -> Array:
    sd = machine.trial_sd
    if machine.noise == "t":
        return np.asarray(sd / np.sqrt(2.0) * rng.standard_t(4.0, size), dtype=np.float64)
    return np.asarray(np.log(rng.gamma(1.0 / sd**2, sd**2, size)), dtype=np.float64)


def drifting(rng: np.random.Generator, sd: float, trials: int) -> Array:
    memory = np.exp(-_TRIAL_SECONDS / _AR_SECONDS)
    shocks = rng.normal(0.0, sd * np.sqrt(1.0 - memory**2), trials)
    drift = np.empty(trials)
    level = rng.normal(0.0, sd)
    for i, shock in enumerate(shocks):
        level = memory * level + shock
        drift[i] = level
    return drift


def trial(condition: Condition, round_: int, block: int, position: int, spans: dict[str, float]) -> Trial:
    """A trial whose transactions took so many microseconds on average, each run as often as the others."""
    each = _OPERATIONS // len(spans)
    totals = {name: SpanTotals(each, round(1e3 * each * cost)) for name, cost in spans.items()}
    elapsed = sum(t.total_ns for t in totals.values())
    measurement = Measurement(each * len(spans), elapsed, totals, {}, usage=Usage(cpu_user_seconds=0.8e-9 * elapsed))
    return Trial(round_, block, position, condition, f"{round_}-{condition.key}", 0.0, measurement)


def simulate(
    rng: np.random.Generator,
    machine: Machine,
    log_ratios: Sequence[float],
    *,
    rounds: int,
    blocks: int = 6,
    conditions: Sequence[Condition] = TWINS,
    own_luck: float = 0.5,
    aa_log_ratio: float = 0.0,
    heavier: float = 0.0,
) -> list[Trial]:
    """One experiment, every block in a freshly drawn order.

    Types of the mix, one for each of a treatment's ``log_ratios``, share half of their noise's variance, as they run in
    the same trials; ``own_luck`` is the share of an instance effect (its variance) that is a type's own. `HEAVIER`
    costs ``heavier`` more than the other treatment.
    """
    treated = np.array([c.role in ENCRYPTED for c in conditions])
    noisier = np.where(treated, machine.treatment_noise, 1.0)
    luckier = np.where(treated, machine.treatment_luck, 1.0)[:, None]
    aside = np.array([{AA: aa_log_ratio, HEAVIER: heavier}.get(c, 0.0) for c in conditions])
    types = len(log_ratios)
    together, apart = (1.0, 0.0) if types == 1 else (0.5, 0.5)
    lucky_together, lucky_apart = (1.0, 0.0) if types == 1 else (1.0 - own_luck, own_luck)
    names = [f"type{i}" for i in range(types)]
    count = rounds * blocks * len(conditions)
    drift = drifting(rng, machine.drift_sd, count)
    drift += np.cumsum(rng.normal(0.0, machine.walk_sd / np.sqrt(count), count))
    trials: list[Trial] = []
    for round_ in range(rounds):
        instance_effect = np.sqrt(lucky_together) * rng.normal(size=(len(conditions), 1))
        instance_effect = (
            machine.instance_sd
            * luckier
            * (instance_effect + np.sqrt(lucky_apart) * rng.normal(size=(len(conditions), types)))
        )
        for block in range(round_ * blocks, (round_ + 1) * blocks):
            order = rng.permutation(len(conditions))
            drawn = _noise(rng, machine, len(conditions) * (1 + types)).reshape(len(conditions), 1 + types)
            noise = np.sqrt(together) * drawn[:, :1] + np.sqrt(apart) * drawn[:, 1:]
            effect = treated[order, None] * np.asarray(log_ratios)
            drifted = drift[block * len(conditions) :][: len(conditions), None]
            logs = instance_effect[order] + noisier[order, None] * noise + drifted + effect + aside[order, None]
            costs = (100.0 * np.exp(logs)).tolist()
            trials += [
                trial(conditions[k], round_, block, position, dict(zip(names, costs[position], strict=True)))
                for position, k in enumerate(order)
            ]
    return trials

"""Simulated runs that begin with a calibration of their machine: one that is right, one that is wrong, one simulated.

A calibration is told here by its prior of luck alone; a simulated one is made of simulated runs by the shipped code.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, islice

import numpy as np

from calibration.harness import TOLERANCE, Pair, Tally, tally
from calibration.simulation import AA, BASELINE, THREE, TREATMENT, Machine, generator, settings, simulate
from tdelta.inference.decisions import decide
from tdelta.inference.instrument.calibration import InstrumentNoise, critical_log_ratio, pooled_noise
from tdelta.inference.instrument.measured import MeasuredRun, StratumNoise, strata_of
from tdelta.inference.run_analysis import interim_estimates
from tdelta.records import (
    CalibrationUsed,
    Condition,
    Decision,
    DetectableEffect,
    InstanceEffectPrior,
    Metric,
    Role,
    RunSettings,
)

IDENTICAL = Condition(BASELINE.levels, Role.IDENTICAL)
INJECTED = Condition(BASELINE.levels, Role.INJECTED, injected=0.05)
SERIES = (BASELINE, AA, IDENTICAL, INJECTED)

BLOCKS = 6


def begun_with(instance_effect: InstanceEffectPrior | None) -> RunSettings:
    """Settings of a run whose calibration knows this of luck."""
    if instance_effect is None:
        return settings()
    used = CalibrationUsed("cal-simulated", 0.0, 14, 0.0, {Metric.RESPONSE_TIME.value: instance_effect}, ())
    return replace(settings(), calibration=used)


def simulated_calibration(machine: Machine, index: int, runs: int = 14) -> InstrumentNoise:
    """The shipped code's result on a series of runs on this machine, of three rounds each."""
    strata: list[StratumNoise] = []
    for run in range(runs):
        rng = generator(index, "calibration", machine.name, run)
        trials = simulate(rng, machine, [0.0], rounds=3, blocks=BLOCKS, conditions=SERIES)
        strata += strata_of(MeasuredRun(settings(SERIES), tuple(trials), 0.0), Metric.RESPONSE_TIME)
    return pooled_noise(strata, Metric.RESPONSE_TIME)


def answers_with(
    machine: Machine,
    instance_effect: Sequence[InstanceEffectPrior | None],
    *,
    log_ratio: float = 0.0,
    rounds: Sequence[int] = (3, 4, 5, 6, 7, 8),
) -> Iterator[Pair]:
    """Experiments that begin with one of these priors in turn, the same trials whatever the priors; without end."""
    for index in count():
        rng = generator(index, "known luck", machine.name, log_ratio, tuple(rounds))
        trials = simulate(rng, machine, [log_ratio], rounds=rounds[index % len(rounds)], blocks=BLOCKS)
        found = {
            c: e for c, e, _ in interim_estimates(trials, begun_with(instance_effect[index % len(instance_effect)]))
        }
        yield log_ratio, found[TREATMENT]


def with_luck(
    machine: Machine,
    instance_effect: Sequence[InstanceEffectPrior | None],
    experiments: int,
    *,
    rounds: Sequence[int] = (3, 4, 5, 6, 7, 8),
) -> Tally:
    return tally(islice(answers_with(machine, instance_effect, rounds=rounds), experiments))


def called_slower(machine: Machine, experiments: int, *, rounds: int, at: float = 1.0) -> tuple[float, float]:
    """How often ``at`` times what a simulated calibration calls visible is called slower, and that overhead.

    Runs have no B/B twin, as the calibration's promise has none; with one they see more.
    """
    noise = simulated_calibration(machine, 0)
    far = at * critical_log_ratio(noise, rounds=rounds, blocks=BLOCKS)
    overhead = DetectableEffect(5.0, rounds, far).overhead(TOLERANCE)
    assert overhead is not None
    found = 0
    for index in range(experiments):
        rng = generator(index, "slower", machine.name, rounds, at)
        trials = simulate(rng, machine, [float(np.log1p(overhead))], rounds=rounds, blocks=BLOCKS, conditions=THREE)
        ((_, estimate, _),) = interim_estimates(trials, replace(begun_with(noise.prior), conditions=THREE))
        found += decide(estimate, TOLERANCE) is Decision.SLOWER
    return found / experiments, overhead

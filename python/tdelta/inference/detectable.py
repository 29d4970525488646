"""The smallest overhead that a run of a given length can show on this instrument, by `tdelta.inference.assurance`.

Instance effects are drawn from what calibration knows of it, so the share of simulated runs that show an overhead is an
assurance, not a power at one guess.

One series at an overhead of 0 serves every overhead and every limit: but for the wide prior of theta, the posterior of
a log ratio moves with the truth and keeps its shape. The interval then lies above a limit as often as the distance from
truth to limit exceeds that from truth to the interval's lower end (the *reach*).
"""

from __future__ import annotations

import numpy as np

from tdelta.inference.assurance import Draws, RoundsDesign, predict
from tdelta.inference.instance_effect import instance_sd_quantiles
from tdelta.inference.instrument import InstrumentNoise
from tdelta.inference.noise import SMALLEST_SD
from tdelta.records import DetectableEffect, InstanceEffectPrior, Pace

ASSURANCE = 0.9
"""How often an overhead that is called detectable is found. At 0.8 fewer than 8 of 10 runs would find it one time in
three (binomial); at 0.9 one time in fourteen."""

MINUTES = (5.0, 20.0, 60.0)
MOST_ROUNDS = 400
"""Rounds beyond which nothing is simulated: by then the instance effect is known as well as it need be."""

_EXPERIMENTS = 300


def critical_log_ratio(noise: InstrumentNoise, prior: InstanceEffectPrior | None, *, rounds: int, blocks: int) -> float:
    """By how much a log ratio must exceed a limit to be called costly, nine times in ten, where no trial is odd.

    The run is a usual one: a baseline, its A/A twin, one condition.

    Args:
        noise: the instrument's.
        prior: of the run's instance effects; None without a calibration.
        rounds: of the run, at least 1.
        blocks: in each round.
    """
    known = Draws(
        variance=np.full(_EXPERIMENTS, max(noise.trial_sd, SMALLEST_SD) ** 2),
        instance_effect=instance_sd_quantiles(
            noise.instance_sd_grid, noise.instance_sd_weights, (np.arange(_EXPERIMENTS) + 0.5) / _EXPERIMENTS
        ),
        df_share=noise.df_share,
    )
    simulated = predict(known, RoundsDesign(conditions=3, plain=2, blocks=blocks), [rounds], prior=prior)
    return float(np.quantile(-np.log(simulated.decisive[:, 0, 0]), ASSURANCE))


def detectable_effects(
    noise: InstrumentNoise, prior: InstanceEffectPrior | None, pace: Pace, *, blocks: int
) -> tuple[DetectableEffect, ...]:
    """What runs of 5, 20 and 60 minutes can show, if they use their time and do not end at a precision before."""
    return tuple(_detectable(noise, prior, pace, minutes, blocks) for minutes in MINUTES)


def rounds_in(pace: Pace, minutes: float) -> int:
    """How many rounds a run of that length holds."""
    left = 60.0 * minutes - pace.set_up_seconds
    return max(0, min(MOST_ROUNDS, int(left / pace.round_seconds)))


def _detectable(
    noise: InstrumentNoise, prior: InstanceEffectPrior | None, pace: Pace, minutes: float, blocks: int
) -> DetectableEffect:
    rounds = rounds_in(pace, minutes)
    return DetectableEffect(
        minutes, rounds, critical_log_ratio(noise, prior, rounds=rounds, blocks=blocks) if rounds else None
    )

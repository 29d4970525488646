"""The smallest overhead that a run of a given length can show on this instrument, by simulation.

What is simulated are the means of instances, which is all that stage 2 sees of a run; from there on it is the verdicts'
own code. Luck is drawn anew for each experiment from what calibration knows of it, so the share of experiments that
show an overhead is an assurance (O'Hagan, Stevens and Campbell 2005, Pharmaceutical Statistics 4:187), not a power at
one guess.

One series at an overhead of 0 serves every overhead and every limit: but for the wide prior of theta, the posterior of
a log ratio moves with the truth and keeps its shape. The interval then lies above a limit as often as the distance from
truth to limit exceeds that from truth to the interval's lower end (the *reach*).
"""

from __future__ import annotations

import math

import numpy as np

from tdelta.inference.instrument import InstrumentNoise
from tdelta.inference.noise import SMALLEST_SD, InstanceMeans
from tdelta.inference.posterior import posterior
from tdelta.inference.rounds import fit_rounds
from tdelta.records import LuckPrior, Pace, Visible

ASSURANCE = 0.9
"""How often an overhead that is called visible is found. At 0.8 fewer than 8 of 10 runs would find it one time in three
(binomial); at 0.9 one time in fourteen."""

MINUTES = (5.0, 20.0, 60.0)
MOST_ROUNDS = 400
"""Rounds beyond which nothing is simulated: by then luck is known as well as it need be."""

_EXPERIMENTS = 300
_PLAIN = np.array([True, True, False])
"""A usual run: the baseline, its A/A twin, one condition."""


def reach(noise: InstrumentNoise, prior: LuckPrior | None, *, rounds: int, blocks: int, seed: int = 0) -> float:
    """By how much a log ratio must exceed a limit for the 95 % HDI to lie above it, nine times in ten.

    Args:
        noise: the instrument's.
        prior: of the run's luck; None without a calibration.
        rounds: of the run, at least 1.
        blocks: in each round.
        seed: draws the experiments.
    """
    rng = np.random.default_rng([seed, rounds, blocks])
    tau = rng.choice(noise.luck_grid, size=_EXPERIMENTS, p=noise.luck_weights)
    distances = [-math.log(_lower_end(rng, noise, prior, float(luck), rounds, blocks)) for luck in tau]
    return float(np.quantile(distances, ASSURANCE))


def visible(noise: InstrumentNoise, prior: LuckPrior | None, pace: Pace, *, blocks: int) -> tuple[Visible, ...]:
    """What runs of 5, 20 and 60 minutes can show, if they use their time and do not end at a precision before."""
    return tuple(_visible(noise, prior, pace, minutes, blocks) for minutes in MINUTES)


def rounds_in(pace: Pace, minutes: float) -> int:
    """How many rounds a run of that length holds."""
    left = 60.0 * minutes - pace.set_up_seconds
    return max(0, min(MOST_ROUNDS, int(left / pace.round_seconds)))


def _visible(noise: InstrumentNoise, prior: LuckPrior | None, pace: Pace, minutes: float, blocks: int) -> Visible:
    rounds = rounds_in(pace, minutes)
    return Visible(minutes, rounds, reach(noise, prior, rounds=rounds, blocks=blocks) if rounds else None)


def _lower_end(
    rng: np.random.Generator, noise: InstrumentNoise, prior: LuckPrior | None, luck: float, rounds: int, blocks: int
) -> float:
    """The lower end of the 95 % HDI of one simulated run whose truth is a ratio of 1."""
    conditions = len(_PLAIN)
    trial_sd = max(noise.trial_sd, SMALLEST_SD)
    means = rng.normal(0.0, math.hypot(luck, trial_sd / math.sqrt(blocks)), (rounds, conditions))
    means -= means.mean(axis=1, keepdims=True)
    df = rounds * (blocks - 1) * (conditions - 1) * noise.df_share
    variance = trial_sd**2 * float(rng.chisquare(df)) / df if df else 0.0
    seen = InstanceMeans(means, np.full(rounds, float(blocks)), variance, df, np.zeros((0, conditions)))
    fit = fit_rounds([seen], [_PLAIN], luck=prior)
    return posterior(fit.strata[0].mixture(0)).ratio_hdi(0.95)[0]

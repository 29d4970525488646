"""Simulated runs of the instrument: the chance that so many rounds decide, over what is not known of noise and luck.

`tdelta plan` asks it how long to measure, `tdelta calibrate` what a run of some length shows. Each simulated run has a
noise and a luck of its own, drawn from their posterior. What stage 1 would leave of it is drawn directly (instances'
means and the variance of a trial, which for normal noise are sufficient); the shipped stage 2 and the shipped decision
do the rest. Stage 1 says somewhat more noise than there is (docs/statistics.md), and here instances scatter by as much
as it says: chances come out a little too low.

A run is simulated once, without an overhead, and its HDI is then scaled by each true overhead: shifting a log ratio
scales the shortest interval of the ratio exactly. What that leaves out is that the prior t3(0, 0.5) is not shifted; at
an overhead of 10 % and an HDI 4 points wide it moves the HDI by less than 0.02 points (held in the tests). Of a run of
many strata one is simulated, though all would inform the luck.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tdelta.design.randomness import stream
from tdelta.inference.decisions import decide
from tdelta.inference.noise import InstanceMeans
from tdelta.inference.posterior import FloatArray, posterior
from tdelta.inference.rounds import COARSE, fit_rounds
from tdelta.records import Decision, Estimate, LuckPrior

SEED = 19490802
"""Fixed, so that the same trials give the same plan."""

_NOT_LOOKED_AT = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Draws:
    """What is known of a machine's noise, as draws from its posterior.

    Attributes:
        variance: shape (N,), of a trial's log cost as it counts for an instance's mean
        (`InstanceMeans.pooled_variance`). luck: shape (N,), standard deviation of an instance's luck.
        df_share: degrees of freedom of a variance over those of normal noise, at most 1.
    """

    variance: FloatArray
    luck: FloatArray
    df_share: float = 1.0

    @classmethod
    def known(cls, variance: float, luck: float, count: int, df_share: float = 1.0) -> Draws:
        """A machine whose noise and luck are known: then what is computed is power."""
        return cls(np.full(count, variance), np.full(count, luck), df_share)


@dataclass(frozen=True, slots=True)
class RoundsDesign:
    """A stratum's part of a round: its conditions, how many of them are plain twins, its blocks, and B/B twins.

    The B/B twins, ``encrypted_twins`` of them, come on top of the conditions and are of the first one beside the plain.
    """

    conditions: int
    plain: int
    blocks: int
    encrypted_twins: int = 0

    @property
    def thetas(self) -> NDArray[np.intp]:
        """Which theta each twin has: 0 for plain ones."""
        own = np.maximum(np.arange(self.conditions) - self.plain + 1, 0)
        return np.concatenate([own, np.ones(self.encrypted_twins, dtype=np.intp)])


@dataclass(frozen=True, slots=True)
class Prediction:
    """Simulated runs of several lengths, the longer ones the shorter ones gone on with.

    Attributes:
        rounds: G numbers of rounds.
        hdi95: shape (N, G, 2), the 95 % HDI of the ratio of a condition without an overhead.
    """

    rounds: tuple[int, ...]
    hdi95: FloatArray

    def decided(self, effect: float, rope: float, decision: Decision) -> FloatArray:
        """The share of runs that say so where this is the true overhead, shape (G,)."""
        said = [
            [decide(_estimate(low, high), rope) is decision for low, high in run]
            for run in ((1.0 + effect) * self.hdi95).tolist()
        ]
        return np.asarray(np.mean(said, axis=0), dtype=np.float64)

    def wrong(self, effect: float, rope: float) -> FloatArray:
        """The share of runs that decide, and wrongly, shape (G,). On the edge every decision is counted as wrong."""
        right = right_decision(effect, rope)
        others = [d for d in (Decision.COSTLY, Decision.NEGLIGIBLE, Decision.FASTER) if d is not right]
        return np.asarray(sum(self.decided(effect, rope, other) for other in others), dtype=np.float64)

    @property
    def widths(self) -> FloatArray:
        """Widths of the HDI, shape (N, G)."""
        return np.asarray(self.hdi95[..., 1] - self.hdi95[..., 0], dtype=np.float64)


def right_decision(effect: float, rope: float) -> Decision | None:
    """What a run should say of a true overhead; None on the ROPE's edge, which cannot be decided."""
    if abs(abs(effect) - rope) < 1e-9:
        return None
    if effect > rope:
        return Decision.COSTLY
    return Decision.NEGLIGIBLE if effect > -rope else Decision.FASTER


def predict(
    draws: Draws, design: RoundsDesign, rounds: Sequence[int], seed: int = SEED, *, prior: LuckPrior | None = None
) -> Prediction:
    """Simulate one run for each draw, and look at it after so many rounds.

    Args:
        draws: of noise and luck.
        design: what a round is.
        rounds: after how many rounds to look, increasing.
        seed: draws everything.
        prior: of luck, with which the runs begin; None without a calibration.
    """
    pairs = zip(draws.variance.tolist(), draws.luck.tolist(), strict=True)
    runs = (
        _simulated(variance, luck, draws.df_share, design, rounds, stream(seed, "assurance", number))
        for number, (variance, luck) in enumerate(pairs)
    )
    return Prediction(tuple(rounds), np.array([[_hdi(seen, design, prior) for seen in run] for run in runs]))


def _simulated(
    variance: float,
    luck: float,
    df_share: float,
    design: RoundsDesign,
    rounds: Sequence[int],
    rng: np.random.Generator,
) -> Iterator[InstanceMeans]:
    """What stage 1 would leave of one run after each number of rounds."""
    most, thetas = rounds[-1], design.thetas
    drawn = rng.normal(0.0, np.sqrt(luck**2 + variance / design.blocks), (most, len(thetas)))
    means = drawn - drawn.mean(axis=1, keepdims=True)
    kinds = np.minimum(thetas, 1)
    columns = np.bincount(kinds)
    df = np.asarray(df_share * (design.blocks - 1) * columns * (1.0 - 1.0 / len(thetas)), dtype=np.float64)
    squares = np.cumsum(2.0 * rng.gamma(df / 2.0, size=(most, len(df))), axis=0) if df.min() > 0 else None
    nothing = np.zeros((0, len(thetas)))
    for count in rounds:
        yield InstanceMeans(
            means=means[:count],
            blocks=np.full((count, len(thetas)), float(design.blocks)),
            kinds=kinds,
            variance=variance * squares[count - 1] / (df * count) if squares is not None else np.zeros(len(df)),
            df=df * count,
            rounds=np.zeros(0, dtype=np.intp),
            there=nothing > 0,
            residual=nothing,
            influence=nothing,
            weight=nothing,
            places=np.zeros(1),
        )


def _hdi(seen: InstanceMeans, design: RoundsDesign, prior: LuckPrior | None) -> tuple[float, float]:
    """The 95 % HDI of the first condition beside the plain ones."""
    fit = fit_rounds([seen], [design.thetas], prior, nodes=COARSE)
    return posterior(fit.strata[0].mixture(0)).ratio_hdi(0.95)


def _estimate(low: float, high: float) -> Estimate:
    """As much of an estimate as the decision looks at."""
    return Estimate(0.5 * (low + high), (low, high), _NOT_LOOKED_AT, 0.0, 0.0, 0.0)

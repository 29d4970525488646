"""Simulated runs of the instrument: the chance that so many rounds decide, given the uncertainty of noise and effects.

`tdelta plan` asks it how long to measure, `tdelta calibrate` what a run of some length shows. Each simulated run has a
noise and its own instance effect, drawn from their posterior. What stage 1 would leave of it is drawn directly
(instances' means and the variance of a trial, which for normal noise are sufficient); stage 2, in the closed form that
it has for like rounds, and the shipped decision do the rest: with few rounds the 99% HDI must decide, and with an odd
trial it must lie beyond the tolerance. Stage 1 says somewhat more noise than there is (docs/statistics.md), and here
instances scatter by as much as it says: chances come out a little too low. How much stalls widen an interval is not
simulated, nor an effect of the round on encryption.

A run is simulated once, without an overhead, and its HDI is then scaled by each true overhead: shifting a log ratio
scales the shortest interval of the ratio exactly. What that leaves out is that the prior t3(0, 0.5) is not shifted; at
an overhead of 10% and an HDI 4 points wide it moves the HDI by less than 0.02 points (held in the tests). Of a run of
many strata one is simulated, though all would inform the instance effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tdelta.design.randomness import stream
from tdelta.inference.decisions import FEWEST_ROUNDS
from tdelta.inference.posterior import FloatArray, Mixture, mixture, posterior
from tdelta.inference.rounds import (
    COARSE,
    Nodes,
    log_instance_sd_density,
    rho_nodes,
    round_effect_nodes,
    scale_for,
    sigma_nodes,
    tau_grid,
)
from tdelta.records import Decision, InstanceEffectPrior

# Stage 2 in closed form for many like runs at once: the same answer as `tdelta.inference.rounds`, much sooner.
#
# Where every round has the same twins and as many blocks, the weights of the twins are the same in every round. Then
# the estimate of a log ratio is the same at every node of the grid, the difference of two means over rounds, and five
# sums of squares hold all that the rounds say of instance effects and noise. Simulated runs are like that, and there
# are thousands of them. Twins are of two kinds, plain ones and treated ones.


@dataclass(frozen=True, slots=True)
class BalancedRuns:
    """Summary after stage 1 of N runs of R rounds alike."""

    means: FloatArray  # shape (N, R, K), typical log costs of instances
    thetas: NDArray[np.intp]  # shape (K,), which theta each column has: 0 for plain twins, 1 … J for treated ones
    blocks: int
    variance: FloatArray  # shape (N, 2), of one trial of a plain and of a treated twin; any number where ``df`` is 0
    df: tuple[float, float]  # behind each of the two

    @property
    def rounds(self) -> int:
        return int(self.means.shape[1])


def first_ratios(runs: BalancedRuns, instance_effect: InstanceEffectPrior | None, nodes: Nodes) -> Iterator[Mixture]:
    """The likelihood of each run's first log ratio, before its prior."""
    of_plain, of_first = (runs.thetas == theta for theta in (0, 1))
    contrasts = runs.means[..., of_first].mean(axis=2) - runs.means[..., of_plain].mean(axis=2)
    of_kinds = runs.means[..., ~of_plain].mean(axis=2) - runs.means[..., of_plain].mean(axis=2)
    scatter = of_kinds.std(axis=1, ddof=1) if runs.rounds > 1 else np.zeros(len(contrasts))
    omega, omega_weights = round_effect_nodes(scatter, runs.rounds, nodes.omega)
    omega2 = omega[:, None, None, None, None] ** 2
    log_weights, plain, treated = _nodes(runs, instance_effect, nodes)
    logs = (
        log_weights[..., None]
        + omega_weights[:, None, None, None, None]
        + _log_likelihood(runs, plain, treated, omega2)
    )
    variance = (treated / of_first.sum() + plain / of_plain.sum() + omega2) / runs.rounds
    for log, found, of in zip(logs, contrasts.mean(axis=1).tolist(), variance, strict=True):
        yield mixture(np.exp(log - log.max()).ravel(), np.full(log.size, found), np.broadcast_to(of, log.shape).ravel())


def _nodes(
    runs: BalancedRuns, instance_effect: InstanceEffectPrior | None, nodes: Nodes
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Log prior weights, shape (N, tau, rho, sigma, sigma), and variances of a plain and of a treated instance.

    The variances have one more axis, of length 1, for omega.
    """
    tau = tau_grid(nodes.tau)
    rho2, rho_weights = rho_nodes(nodes.rho)
    plain, plain_weights = sigma_nodes(runs.variance[:, 0], runs.df[0], nodes.sigma)
    treated, treated_weights = sigma_nodes(runs.variance[:, 1], runs.df[1], nodes.sigma)
    log_weights = (
        log_instance_sd_density(tau, scale_for(runs.rounds), instance_effect)[:, None, None, None]
        + rho_weights[:, None, None]
        + (plain_weights[:, :, None] + treated_weights[:, None, :])[:, None, None]
    )
    tau2 = tau[:, None, None, None] ** 2
    of_plain = tau2 + plain[:, None, None, :, None] / runs.blocks
    of_treated = tau2 * rho2[:, None, None] + treated[:, None, None, None, :] / runs.blocks
    return log_weights, of_plain[..., None], of_treated[..., None]


def _log_likelihood(runs: BalancedRuns, plain: FloatArray, treated: FloatArray, omega2: FloatArray) -> FloatArray:
    """Of the instances' variances, with rounds and thetas integrated flat, up to a constant.

    The treated twins of a round share an effect with the variance ``omega2``, as those of a kind do in
    `tdelta.inference.rounds`, where ``shrunk`` is explained.
    """
    is_plain = runs.thetas == 0
    plain_count, treated_count = int(is_plain.sum()), int((~is_plain).sum())
    about = runs.means.copy()
    for theta in range(int(runs.thetas.max()) + 1):
        about[..., runs.thetas == theta] -= about[..., runs.thetas == theta].mean(axis=(1, 2), keepdims=True)
    squares = [(about[..., of] ** 2).sum(axis=(1, 2)) for of in (is_plain, ~is_plain)]
    sums = [about[..., of].sum(axis=2) for of in (is_plain, ~is_plain)]

    def each(values: FloatArray) -> FloatArray:
        return values.reshape(-1, 1, 1, 1, 1, 1)

    of_plain, of_treated = 1.0 / plain, 1.0 / treated
    shrunk = 1.0 / (1.0 + omega2 * treated_count * of_treated)
    effective = of_treated * shrunk
    total = plain_count * of_plain + treated_count * effective
    treated_sums = each((sums[1] ** 2).sum(axis=1))
    crossed = of_plain**2 * each((sums[0] ** 2).sum(axis=1)) + effective**2 * treated_sums
    crossed = crossed + 2.0 * of_plain * effective * each((sums[0] * sums[1]).sum(axis=1))
    misfit = of_plain * each(squares[0]) + of_treated * each(squares[1]) - crossed / total
    misfit = misfit - omega2 * of_treated * effective * treated_sums
    rounds, free = runs.rounds, int(runs.thetas.max())
    determinant = (rounds * plain_count - 1) * np.log(plain) + (rounds * treated_count - free) * np.log(treated)
    determinant = determinant + (rounds - 1) * (np.log(total) - np.log(shrunk))
    return np.asarray(-0.5 * (determinant + np.maximum(misfit, 0.0)), dtype=np.float64)


SEED = 19490802  # fixed, so that the same trials give the same plan
_MASSES = (0.95, 0.99)


@dataclass(frozen=True, slots=True)
class Draws:
    """A machine's noise, as draws from its posterior."""

    variance: FloatArray
    """Shape (N,), of a trial's log cost as it counts for an instance's mean (`InstanceMeans.pooled_variance`)."""
    instance_effect: FloatArray  # shape (N,), standard deviation of an instance effect
    df_share: float = 1.0  # degrees of freedom of a variance over those of normal noise, at most 1
    odd_share: float = 0.0  # the share of trials that are events, above or below what is typical

    @classmethod
    def known(cls, variance: float, instance_effect: float, count: int, df_share: float = 1.0) -> Draws:
        """A machine whose noise and instance effects are known: then what is computed is power."""
        return cls(np.full(count, variance), np.full(count, instance_effect), df_share)


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
        own = np.maximum(np.arange(self.conditions) - self.plain + 1, 0)
        return np.concatenate([own, np.ones(self.encrypted_twins, dtype=np.intp)])


@dataclass(frozen=True, slots=True)
class Prediction:
    """Simulated runs of several lengths, the longer ones the shorter ones gone on with."""

    rounds: tuple[int, ...]  # G numbers of rounds
    hdi95: FloatArray  # shape (N, G, 2), the 95% HDI of the ratio of a condition without an overhead
    hdi99: FloatArray  # shape (N, G, 2), the 99% HDI
    is_hard: NDArray[np.bool_]
    """Shape (N, G), which looks need the 99% HDI to say that something costs or gains. With fewer than `FEWEST_ROUNDS`
    rounds it has to say that nothing does, too."""

    @property
    def decisive(self) -> FloatArray:
        """The interval that must lie beyond the tolerance, shape (N, G, 2)."""
        return np.where(self.is_hard[..., None], self.hdi99, self.hdi95)

    def decided(self, effect: float, tolerance: float, decision: Decision) -> FloatArray:
        """The share of runs that say so where this is the true overhead, shape (G,).

        As `tdelta.inference.decisions.decide_means` decides a run whose noise is normal (held in the tests).
        """
        match decision:
            case Decision.SLOWER:
                said = (1.0 + effect) * self.decisive[..., 0] > 1.0 + tolerance
            case Decision.FASTER:
                said = (1.0 + effect) * self.decisive[..., 1] < 1.0 - tolerance
            case Decision.OVER:  # a gate's limit is one-sided
                said = (1.0 + effect) * self.hdi99[..., 0] > 1.0 + tolerance
            case Decision.WITHIN:
                said = (1.0 + effect) * self.hdi99[..., 1] <= 1.0 + tolerance
            case _:
                is_few = np.array(self.rounds) < FEWEST_ROUNDS
                inside = np.where(is_few[:, None], self.hdi99, self.hdi95)
                low, high = np.moveaxis((1.0 + effect) * inside, -1, 0)
                said = (low >= 1.0 - tolerance) & (high <= 1.0 + tolerance)
        return np.asarray(said.mean(axis=0), dtype=np.float64)

    def wrong(self, effect: float, tolerance: float, *, is_budget: bool = False) -> FloatArray:
        """The share of runs that decide, and wrongly, shape (G,). On the edge every decision is counted as wrong."""
        right = right_decision(effect, tolerance, is_budget=is_budget)
        others = [d for d in (_OF_BUDGET if is_budget else _OF_TOLERANCE) if d is not right]
        return np.asarray(sum(self.decided(effect, tolerance, other) for other in others), dtype=np.float64)

    @property
    def widths(self) -> FloatArray:
        return np.asarray(self.hdi95[..., 1] - self.hdi95[..., 0], dtype=np.float64)


_OF_TOLERANCE = (Decision.SLOWER, Decision.NEGLIGIBLE, Decision.FASTER)
_OF_BUDGET = (Decision.OVER, Decision.WITHIN)


def right_decision(effect: float, tolerance: float, *, is_budget: bool = False) -> Decision | None:
    """The right decision for a true overhead; None on the limit itself, which cannot be decided.

    A gate's budget (``is_budget``) limits overheads alone, a tolerance both directions.
    """
    if abs((effect if is_budget else abs(effect)) - tolerance) < 1e-9:
        return None
    if is_budget:
        return Decision.OVER if effect > tolerance else Decision.WITHIN
    if effect > tolerance:
        return Decision.SLOWER
    return Decision.NEGLIGIBLE if effect > -tolerance else Decision.FASTER


def predict(
    draws: Draws,
    design: RoundsDesign,
    rounds: Sequence[int],
    seed: int = SEED,
    *,
    prior: InstanceEffectPrior | None = None,
) -> Prediction:
    """Simulate one run for each draw, and look at it after so many rounds.

    `rounds`: after how many rounds to look, increasing; `prior`: of the instance effect, with which the runs begin;
    None without a calibration.
    """
    made = [
        _simulated(variance, instance_effect, design, rounds[-1], draws.df_share, stream(seed, "assurance", number))
        for number, (variance, instance_effect) in enumerate(
            zip(draws.variance.tolist(), draws.instance_effect.tolist(), strict=True)
        )
    ]
    means, squares = (np.array(part) for part in zip(*made, strict=True))
    looks = [_hdis(_seen(means, squares, draws, design, count), prior) for count in rounds]
    hdi95, hdi99 = (np.stack([look[:, mass] for look in looks], axis=1) for mass in range(len(_MASSES)))
    return Prediction(tuple(rounds), hdi95, hdi99, _hard(draws, design, rounds, seed))


def _simulated(
    variance: float,
    instance_effect: float,
    design: RoundsDesign,
    rounds: int,
    df_share: float,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """The means of a run's instances, and the squares of its noise after each round."""
    drawn = rng.normal(0.0, np.sqrt(instance_effect**2 + variance / design.blocks), (rounds, len(design.thetas)))
    df = _df_of_round(design, df_share)
    squares = 2.0 * rng.gamma(df / 2.0, size=(rounds, 2)) if design.blocks > 1 else np.zeros((rounds, 2))
    return drawn - drawn.mean(axis=1, keepdims=True), np.cumsum(squares, axis=0)


def _df_of_round(design: RoundsDesign, df_share: float) -> FloatArray:
    """Degrees of freedom that a round adds to the variance of plain and of treated trials."""
    columns = np.bincount(np.minimum(design.thetas, 1))
    return np.asarray(df_share * (design.blocks - 1) * columns * (1.0 - 1.0 / columns.sum()), dtype=np.float64)


def _seen(means: FloatArray, squares: FloatArray, draws: Draws, design: RoundsDesign, count: int) -> BalancedRuns:
    """The summary after stage 1 of all runs after so many rounds."""
    df = count * _df_of_round(design, draws.df_share)
    variance = draws.variance[:, None] * squares[:, count - 1] / np.maximum(df, 1e-300)
    return BalancedRuns(means[:, :count], design.thetas, design.blocks, variance, (float(df[0]), float(df[1])))


def _hdis(runs: BalancedRuns, prior: InstanceEffectPrior | None) -> FloatArray:
    """The HDIs of the first condition beside the plain ones, shape (N, 2, 2): for each run the 95%, the 99% one."""
    found = (posterior(data) for data in first_ratios(runs, prior, COARSE))
    return np.array([[one.ratio_hdi(mass) for mass in _MASSES] for one in found])


def _hard(draws: Draws, design: RoundsDesign, rounds: Sequence[int], seed: int) -> NDArray[np.bool_]:
    """Which looks have few rounds, or an odd trial among those so far."""
    counts = np.array(rounds)
    has_none = (1.0 - draws.odd_share) ** (counts * design.blocks * len(design.thetas))
    drawn = stream(seed, "odd trials").uniform(size=(len(draws.variance), 1))
    return np.asarray((counts < FEWEST_ROUNDS) | (drawn > has_none), dtype=np.bool_)

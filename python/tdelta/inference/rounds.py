"""Stage 2: from instances to conditions, over a grid of instance effects and noise.

``m_(round, twin) = a_round + theta_condition + w_(round, condition) + u_(round, twin) + noise``, ``u ~ N(0, tau)`` on
plain twins and ``u ~ N(0, rho tau)`` on those of a treatment, ``log rho ~ N(0, 0.6)``; ``w ~ N(0, omega)`` is shared by
a treatment and its B/B twin (`tdelta.inference.rounds`). ``tau ~ HalfCauchy(1%)``: most machines are
alike to a few thousandths, and one odd instance must be able to say that this one is not; the grid reaches to 300%.
The noise of a trial is each kind's own (`tdelta.inference.noise`). The baseline and its A/A twin both have theta = 0, a
treatment and its B/B twin share theirs: what they differ by speaks of the instance effects, as the scatter between
rounds does.

Where instances are on several hosts, an instance's mean has ``h_host`` in it, too: 0 on the first host, and
``N(0, 0.5)`` on each other one. Where twins change hosts between rounds, or a plain one is on each,
that separates hosts from conditions; where nothing does, the intervals are as wide as what hosts may differ by.

Given the variances all is Gaussian and closed: the rounds are integrated flat, which leaves a small matrix of thetas.
Strata share tau. theta is integrated flat here; its prior comes in afterwards (`posterior.posterior`), for each
condition on its own. That leaves out the pull of the *other* conditions' priors through the shared baseline: variance
over 0.5^2 of their thetas, which is under a thousandth of the interval's width.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tdelta.inference.noise import InstanceMeans
from tdelta.inference.posterior import FloatArray, Mixture, mixture
from tdelta.inference.quantiles import beta_quantile
from tdelta.records import InstanceEffectPrior

# The effect of a round on encryption's cost, which all encrypted twins of the round share.
#
# A round makes its twins anew: a data seed, a page layout, a state of the machine's clocks. Where these change what
# encryption costs, a treatment and its B/B twin move together, so no comparison of identical twins sees it, and a
# second encrypted twin says nothing new of it: only further rounds do. Its standard deviation omega is in the model of
# the verdicts (`tdelta.inference.rounds`) with a half-Cauchy prior whose scale is small, since few machines show any;
# the F test here says where there clearly is one. In blocks it is tested alike: what changes from block to block and
# lasts reaches into the rounds' means, which omega covers.
#
# The F test compares the scatter of the contrasts "mean of the encrypted twins less mean of the plain ones" with half
# the differences within both pairs of twins, which have the same expectation where nothing is shared (Scheffe 1959, The
# Analysis of Variance, chapter 8).

ROUND_EFFECT_SCALE = 0.002
"""omega ~ HalfCauchy(0.2%): nearly all runs of quiet machines show none (benches/results/grid.md)."""

_LEAST_SD, _LEAST_TOP = 5e-4, 0.02
_BELOW, _ABOVE = 6.0, 12.0
_CHANCE = 0.99
_FEWEST = 3
_MOST_AR = 0.95


def round_effect_nodes(scatter: FloatArray, rounds: int, count: int) -> tuple[FloatArray, FloatArray]:
    """Nodes of omega and the log weights of its prior.

    They are spaced evenly in the logarithm over what a scatter of contrasts allows for: omega is hardly less than a
    sixth of it, or as good as 0, and the fewer the rounds, the more it may exceed it. `scatter`: shape (N,), the
    standard deviation over rounds of the encrypted twins' mean less the plain ones', in each of N runs; 0 of a single
    round. Both have shape (N, W); the weights of the prior's mass between the midpoints of the nodes.
    """
    low = np.maximum(_LEAST_SD, scatter / _BELOW)
    high = np.maximum(np.maximum(_LEAST_TOP, scatter * (1.0 + _ABOVE / max(1, rounds - 1))), 2.0 * low)
    steps = np.linspace(0.0, 1.0, count)
    nodes = low[:, None] * (high / low)[:, None] ** steps
    ends = np.sqrt(nodes[:, 1:] * nodes[:, :-1])
    below = 2.0 / math.pi * np.arctan(ends / ROUND_EFFECT_SCALE)
    mass = np.diff(below, axis=1, prepend=0.0, append=1.0)
    return nodes, np.log(mass)


def contrast_scatter(
    means: FloatArray,  # shape (R, K), of instances
    there: NDArray[np.bool_],  # shape (R, K), which instances there are
    own: NDArray[np.bool_],
    versus: NDArray[np.bool_],
) -> float:
    """The standard deviation over rounds of one group's mean log cost less another's; 0 of fewer than two rounds."""
    contrasts = _group_means(means, there, own) - _group_means(means, there, versus)
    contrasts = contrasts[np.isfinite(contrasts)]
    return float(contrasts.std(ddof=1)) if len(contrasts) > 1 else 0.0


def _group_means(values: FloatArray, there: NDArray[np.bool_], columns: NDArray[np.bool_]) -> FloatArray:
    """The mean over columns in each row; NaN where none of them is there."""
    of = there & columns
    count = of.sum(axis=1)
    return np.where(count > 0, (values * of).sum(axis=1) / np.maximum(count, 1), np.nan)


@dataclass(frozen=True, slots=True)
class SharedEffect:
    """How much more the encrypted twins of a round, or of a block, move together than chance explains."""

    sd: float  # standard deviation of the shared effect on a log cost, by the method of moments
    count: int  # of the rounds or blocks behind it
    is_beyond_chance: bool  # whether F lies beyond its 99% quantile


def wandering_sd(means: InstanceMeans, treated: NDArray[np.bool_], plain: NDArray[np.bool_]) -> float:
    """The sd of a log ratio due to effects that last over several blocks, beyond the sd that rounds show.

    Rounds count as independent draws. Where what the encrypted twins of a block share is autocorrelated over blocks,
    neighbouring rounds are alike, so that their scatter is too small and their mean worse known. With C the covariance
    of R rounds' means, that mean's variance is ``1'C1 / R^2`` and the expected scatter ``(tr C - 1'C1 / R) / (R - 1)``;
    C is that of an AR(1) process, whose coefficient is estimated by moments and corrected for its bias in short series
    (Marriott and Pope 1954, Biometrika 41:390). Returns a standard deviation; 0 unless the F test over blocks finds a
    shared effect.
    """
    by_block = shared_by_block(means, treated, plain)
    rounds = int(means.rounds.max()) + 1 if len(means.rounds) else 0
    if by_block is None or not by_block.is_beyond_chance or rounds < 2:
        return 0.0
    values = means.means[means.rounds] + means.residual
    contrasts = _group_means(values, means.there, treated) - _group_means(values, means.there, plain)
    known = np.isfinite(contrasts)
    centred, of_round = contrasts[known] - contrasts[known].mean(), means.rounds[known]
    ar = float((centred[1:] * centred[:-1]).mean()) / max(by_block.sd**2, float((centred**2).mean()) / 2.0)
    ar = min(_MOST_AR, max(0.0, ar + (1.0 + 3.0 * ar) / len(centred)))
    averages = np.equal.outer(np.arange(rounds), of_round) / np.bincount(of_round, minlength=rounds)[:, None]
    lags = np.abs(np.subtract.outer(np.arange(len(centred)), np.arange(len(centred))))
    covariance = averages @ ar**lags @ averages.T
    of_mean = covariance.sum() / rounds**2
    of_scatter = (np.trace(covariance) - rounds * of_mean) / (rounds - 1)
    seen = contrast_scatter(means.means, means.blocks > 0, treated, plain) ** 2 / rounds
    return math.sqrt(max(0.0, of_mean * rounds / of_scatter - 1.0) * seen)


def shared_by_round(
    means: InstanceMeans,
    treated: NDArray[np.bool_],  # shape (K,), the columns of a treatment and its B/B twin
    plain: NDArray[np.bool_],  # shape (K,), those of the baseline and its A/A twin
) -> SharedEffect | None:
    """The F test over rounds; None without three rounds that have two plain and two treated twins."""
    return _shared(means.means, means.blocks > 0, treated, plain, np.zeros(len(means.means), dtype=np.intp))


def shared_by_block(means: InstanceMeans, treated: NDArray[np.bool_], plain: NDArray[np.bool_]) -> SharedEffect | None:
    return _shared(means.residual, means.there, treated, plain, means.rounds)


def _shared(
    values: FloatArray,
    there: NDArray[np.bool_],
    treated: NDArray[np.bool_],
    plain: NDArray[np.bool_],
    groups: NDArray[np.intp],
) -> SharedEffect | None:
    """The F test over rows, each group of rows having a mean of its own."""
    pairs = [np.flatnonzero(columns) for columns in (treated, plain)]
    if any(len(pair) != 2 for pair in pairs):
        return None
    complete = there[:, np.concatenate(pairs)].all(axis=1)
    rows, groups = values[complete], groups[complete]
    free = len(rows) - len(np.unique(groups))
    if len(rows) < _FEWEST or free < 2:
        return None
    (one, two), (first, second) = (rows[:, pair].T for pair in pairs)

    def mean_square(differences: FloatArray) -> float:
        means = np.bincount(groups, differences) / np.maximum(np.bincount(groups), 1)
        return float(((differences - means[groups]) ** 2).sum()) / free

    between = mean_square(0.5 * (one + two - first - second))
    # The pairs may scatter differently, so the degrees of freedom of their sum are Satterthwaite's (1946).
    halves = [mean_square(0.5 * (one - two)), mean_square(0.5 * (first - second))]
    within = sum(halves)
    if within <= 0.0:
        return SharedEffect(math.sqrt(between), len(rows), between > 0.0)
    df = free * within**2 / sum(half**2 for half in halves)
    at = float(beta_quantile(_CHANCE, free / 2.0, df / 2.0))
    is_beyond = between * free * (1.0 - at) > within * df * at
    return SharedEffect(math.sqrt(max(0.0, between - within)), len(rows), is_beyond)


# The prior of instance effects: nearly nothing is known, or a calibration of this machine found them.
#
# An instance's *effect* (layout, start-up) is what it differs by from others like it. Without a calibration its
# standard deviation has a half-Cauchy prior with a scale of 1%: most machines show less, and its heavy tail lets a
# single odd instance be seen as what it is.
#
# A calibration's posterior becomes the next run's prior, with two reservations. InstanceEffect may have changed since,
# so its log sd is widened by `BETWEEN_SITTINGS`. And it may have changed out of all knowledge (other neighbours,
# another disk), so a share of the prior stays as vague as without a calibration: a robust mixture (Schmidli et al.
# 2014, Biometrics 70:1023), which the data of a run can turn to. Neither figure is estimated; what they do to coverage
# is simulated in ``tests/calibration/test_instance_effect_prior.py``.

BETWEEN_SITTINGS = 0.3
"""How much instance effects may differ between a calibration and a run, as a standard deviation of its logarithm."""

VAGUE_SHARE = 0.2  # the share of a calibrated prior that is as vague as without a calibration
INSTANCE_SD_SCALE = 0.01  # tau ~ HalfCauchy(1%), where no calibration of this machine says more

_FEW_ROUNDS = {1: 3.0, 2: 1.5}
"""Times the scale: one or two rounds hardly measure instance effects, and 3 to 5% are met on real machines."""

_HALF_CAUCHY = math.log(2.0 / math.pi)
_NORMAL = -0.5 * math.log(2.0 * math.pi)


def scale_for(rounds: int) -> float:
    """The scale of the half-Cauchy for a run of so many rounds, a share."""
    return INSTANCE_SD_SCALE * _FEW_ROUNDS.get(rounds, 1.0)


def log_instance_sd_density(
    tau: FloatArray,  # standard deviations of a log cost, all positive
    scale: float,  # scale of the half-Cauchy that holds without a calibration, a share
    instance_effect: InstanceEffectPrior | None = None,
) -> FloatArray:
    """Log prior density of log tau_i, up to a constant that does not depend on tau_i."""
    log_tau = np.log(tau)
    vague = np.asarray(log_tau - np.log1p((tau / scale) ** 2), dtype=np.float64)
    if instance_effect is None:
        return vague
    vague = vague + _HALF_CAUCHY - math.log(scale)
    z = (log_tau - math.log(instance_effect.median)) / instance_effect.log_sd
    known = _NORMAL - math.log(instance_effect.log_sd) - 0.5 * z**2
    if instance_effect.vague_share <= 0.0:
        return np.asarray(known, dtype=np.float64)
    mixed = np.logaddexp(
        math.log1p(-instance_effect.vague_share) + known, math.log(instance_effect.vague_share) + vague
    )
    return np.asarray(mixed, dtype=np.float64)


RHO_SD = 0.6  # prior sd of the log of how many times as much a treatment's instances differ as plain ones do
_NOISE_LOG_MEAN, _NOISE_LOG_SD = float(np.log(0.03)), 1.5
_LEAST_SCALE = 1e-5
HOST_SD = 0.5
"""Prior sd of the log of how many times as much the same costs on another host, as of a log ratio's own prior."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """How finely the grid is cut: points of tau, Gauss-Hermite nodes of log rho and each log sigma, nodes of omega."""

    tau: int = 40
    rho: int = 5
    sigma: int = 3
    omega: int = 10


FINE = Nodes()
COARSE = Nodes(tau=24, rho=3, sigma=3, omega=7)  # for simulated runs, of which there are hundreds


def tau_grid(points: int) -> FloatArray:
    """Standard deviations of a log cost from 0.01% to 300%, evenly spaced in the logarithm."""
    return np.geomspace(1e-4, 3.0, points)


@functools.cache
def _hermite(count: int) -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return nodes, np.log(weights / weights.sum())


@dataclass(frozen=True, slots=True)
class _Grid:
    """One stratum over its grid, tau first, before the other strata: log weights (T, …), thetas (T, …, J).

    ``inverse`` has shape (T, …, J, J): the thetas' covariance.
    """

    log_weights: FloatArray
    theta: FloatArray
    inverse: FloatArray

    @property
    def by_tau(self) -> FloatArray:
        flat = self.log_weights.reshape(len(self.log_weights), -1)
        top = flat.max()
        return np.asarray(top + np.log(np.exp(flat - top).sum(axis=1) + 1e-300), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Contrasts:
    """One stratum's posterior of its log ratios, with flat thetas, for J conditions beside the baseline."""

    means: InstanceMeans
    thetas: NDArray[np.intp]
    """Shape (K,), which theta each column has: 0 the baseline's, 1 … J the conditions'. A grid's thetas have behind
    these the effects of the hosts beside the first."""
    log_elsewhere: FloatArray  # shape (T,), what tau's prior and the other strata say of tau
    nodes: Nodes
    _grids: dict[tuple[int, ...], _Grid] = field(default_factory=dict)

    @property
    def conditions(self) -> int:
        return int(self.thetas.max())

    def mixture(self, condition: int) -> Mixture:
        """The data's estimate of one condition's typical log ratio; ``condition`` counts those beside the baseline."""
        grid, weights = self._weighted(condition)
        return _merged(weights, grid.theta[..., condition], grid.inverse[..., condition, condition])

    def between(self, condition: int, versus: int) -> Mixture:
        """The data's estimate of one condition's typical log ratio over another's."""
        grid, weights = self._weighted(condition, versus)
        theta = grid.theta[..., condition] - grid.theta[..., versus]
        variance = (
            grid.inverse[..., condition, condition]
            + grid.inverse[..., versus, versus]
            - 2.0 * grid.inverse[..., condition, versus]
        )
        return _merged(weights, theta, variance)

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Posterior means of all thetas, shape (J,), and their covariance given those means', shape (J, J)."""
        grid, weights = self._weighted(0)
        axes = tuple(range(weights.ndim))
        own = self.conditions
        theta = (weights[..., None] * grid.theta[..., :own]).sum(axis=axes)
        covariance = (weights[..., None, None] * grid.inverse[..., :own, :own]).sum(axis=axes)
        return theta, np.asarray(covariance, dtype=np.float64)

    def host(self, number: int) -> Mixture:
        """The log of what costs on a host are, over those on the first; ``number`` is the host's, from 1."""
        grid, weights = self._weighted()
        at = self.conditions + number - 1
        return _merged(weights, grid.theta[..., at], grid.inverse[..., at, at])

    def by_tau(self) -> FloatArray:
        return self._grid(*range(min(1, self.conditions))).by_tau

    def given(self, log_elsewhere: FloatArray) -> Contrasts:
        """The same with what is known of tau from elsewhere."""
        return Contrasts(self.means, self.thetas, log_elsewhere, self.nodes, self._grids)

    def _weighted(self, *conditions: int) -> tuple[_Grid, FloatArray]:
        grid = self._grid(*conditions)
        shape = (len(self.log_elsewhere),) + (1,) * (grid.log_weights.ndim - 1)
        logs = grid.log_weights + self.log_elsewhere.reshape(shape)
        weights = np.exp(logs - logs.max())
        return grid, np.asarray(weights / weights.sum(), dtype=np.float64)

    def _grid(self, *conditions: int) -> _Grid:
        if conditions not in self._grids:
            self._grids[conditions] = _stratum_grid(self.means, self.thetas, conditions, self.nodes)
        return self._grids[conditions]


def _merged(weights: FloatArray, theta: FloatArray, variance: FloatArray) -> Mixture:
    return mixture(weights.ravel(), theta.ravel(), variance.ravel())


@dataclass(frozen=True, slots=True)
class RoundsFit:
    """The answer for one cost: the strata's contrasts, and the instance effects they share."""

    strata: tuple[Contrasts, ...]
    instance_sd_grid: FloatArray  # shape (T,), standard deviations of a log cost
    instance_sd_weights: FloatArray  # shape (T,), sums to 1

    def instance_sd_quantiles(self, probabilities: FloatArray) -> FloatArray:
        """Of tau_i's posterior, shaped as the probabilities."""
        cumulative = np.cumsum(self.instance_sd_weights) - 0.5 * self.instance_sd_weights
        logs = np.interp(probabilities, cumulative, np.log(self.instance_sd_grid))
        return np.asarray(np.exp(logs), dtype=np.float64)

    @property
    def instance_sd(self) -> float:
        """Posterior median of an instance's effect on a plain twin, as a share of the cost."""
        return float(self.instance_sd_quantiles(np.array([0.5]))[0])

    @property
    def later_prior(self) -> InstanceEffectPrior:
        """The prior of later runs on this machine: lognormal by the posterior's moments, with reservations."""
        log_tau = np.log(self.instance_sd_grid)
        mean = float(self.instance_sd_weights @ log_tau)
        variance = float(self.instance_sd_weights @ (log_tau - mean) ** 2)
        return InstanceEffectPrior(math.exp(mean), math.sqrt(variance + BETWEEN_SITTINGS**2), VAGUE_SHARE)


def fit_rounds(
    strata: Sequence[InstanceMeans],
    thetas: Sequence[NDArray[np.intp]],
    instance_effect: InstanceEffectPrior | None = None,
    *,
    nodes: Nodes = FINE,
) -> RoundsFit:
    """Fit one cost over all strata.

    `thetas`: for each stratum, shape (K,): 0 for plain twins (at least one), else the number of the column's condition;
    `instance_effect`: what a calibration of this machine found of tau; None: the half-Cauchy alone.
    """
    tau = tau_grid(nodes.tau)
    nothing = np.zeros(len(tau))
    contrasts = [Contrasts(m, which, nothing, nodes) for m, which in zip(strata, thetas, strict=True)]
    marginals = [found.by_tau() for found in contrasts]
    most = max((len(means.blocks) for means in strata), default=1)
    shared = log_instance_sd_density(tau, scale_for(most), instance_effect) + np.sum(marginals, axis=0)
    weights = np.exp(shared - shared.max())
    given = (found.given(shared - own) for found, own in zip(contrasts, marginals, strict=True))
    return RoundsFit(tuple(given), tau, np.asarray(weights / weights.sum(), dtype=np.float64))


def sigma_nodes(variance: FloatArray, df: float, count: int) -> tuple[FloatArray, FloatArray]:
    """Nodes of one kind's noise variance, and their log weights: the prior of log sigma times a chi-square.

    "Sigma" here is the root of `InstanceMeans.variance`, the t's scale times ``sqrt((nu + 3) / (nu + 1))``. Each
    variance has ``count`` nodes, along the last axis.
    """
    nodes, log_weights = _hermite(count)
    log_seen = np.log(variance) if df > 0 else np.full(np.shape(variance), 2.0 * _NOISE_LOG_MEAN)
    seen = 0.5 * log_seen[..., None]
    precision = 2.0 * df + _NOISE_LOG_SD**-2
    centre = (2.0 * df * seen + _NOISE_LOG_MEAN * _NOISE_LOG_SD**-2) / precision
    log_sigma = centre + nodes / np.sqrt(precision)
    density = -df * log_sigma - 0.5 * df * np.exp(np.minimum(2.0 * (seen - log_sigma), 60.0))
    density -= 0.5 * ((log_sigma - _NOISE_LOG_MEAN) / _NOISE_LOG_SD) ** 2
    density += 0.5 * nodes**2 + log_weights
    return np.maximum(np.exp(2.0 * log_sigma), _LEAST_SCALE**2), density - density.max(axis=-1, keepdims=True)


def rho_nodes(count: int) -> tuple[FloatArray, FloatArray]:
    """Nodes of the square of rho, and the log weights of its prior."""
    nodes, log_weights = _hermite(count)
    return np.exp(2.0 * RHO_SD * nodes), log_weights


def _stratum_grid(means: InstanceMeans, thetas: NDArray[np.intp], conditions: tuple[int, ...], nodes: Nodes) -> _Grid:
    """The likelihood of everything at each node, rounds and thetas integrated flat, and hosts by their prior.

    The kinds of ``conditions`` have a rho, a sigma and an omega of their own to be integrated over; other treatments'
    instances are taken to differ as plain ones do, and their noise as it was found.

    The covariance of a round's instances is ``D + omega^2 z z'`` for each of these kinds, D being diagonal and z
    marking its columns. Its inverse is ``P = D^-1 - omega^2 shrunk p p'`` with ``p = D^-1 z`` and
    ``shrunk = 1 / (1 + omega^2 sum(p))`` (Sherman and Morrison 1950), so that ``P 1`` is the precision of each column,
    times ``shrunk`` in these kinds: "effective" below.
    """
    own = {int(means.kinds[thetas == c + 1][0]) for c in conditions} - {0}
    # Rounds with as many blocks of the same twins on the same hosts weigh alike: of each such set two sums say all.
    rows = means.blocks if means.hosts is None else np.concatenate([means.blocks, means.hosts], axis=1)
    _, first, of_round, rounds = np.unique(rows, axis=0, return_index=True, return_inverse=True, return_counts=True)
    blocks = means.blocks[first]
    is_alike = np.equal.outer(np.arange(len(blocks)), of_round.ravel()).astype(np.float64)
    sums = is_alike @ means.means
    products = np.einsum("pr,rk,rl->pkl", is_alike, means.means, means.means)
    log_weights, variance = _variances(means, blocks, own, nodes)
    there = blocks > 0
    precision = np.where(there, 1.0 / variance, 0.0)
    is_of = np.equal.outer(thetas, 1 + np.arange(int(thetas.max()))).astype(np.float64)
    omega2, omega_weights = _omega(means, own, nodes)
    of_kind = np.equal.outer(means.kinds, sorted(own)).astype(np.float64)
    shrunk = 1.0 / (1.0 + omega2 * (precision @ of_kind))
    effective = precision * (1.0 + (shrunk - 1.0) @ of_kind.T)
    lost = omega2 * shrunk
    total = effective.sum(axis=-1)
    if means.hosts is None:
        effects = is_of[None]
        # An instance is of one theta at most, so without an effect of the round this is diagonal.
        information = (rounds @ (precision @ is_of))[..., None] * np.eye(is_of.shape[1])
    else:
        effects = _with_hosts(is_of, means.hosts[first], means.host_count)
        information = np.einsum("p,...pk,pkj,pkl->...jl", rounds, precision, effects, effects, optimize=True)
        information = information + np.diag([0.0] * is_of.shape[1] + [HOST_SD**-2] * (means.host_count - 1))
    in_kind = np.einsum("...pk,kg,pkj->...pgj", precision, of_kind, effects, optimize=True)
    information = information - np.einsum("p,...pg,...pgj,...pgl->...jl", rounds, lost, in_kind, in_kind, optimize=True)
    score = np.einsum("...pk,pkj->...j", precision * sums, effects)
    score = score - np.einsum("...pg,...pgj->...j", lost * (precision * sums @ of_kind), in_kind)
    by_theta = np.einsum("...pk,pkj->...pj", effective, effects)
    information = information - np.swapaxes(by_theta * (rounds / total)[..., None], -1, -2) @ by_theta
    score = score - np.einsum("...pj,...p->...j", by_theta, (effective * sums).sum(axis=-1) / total)
    inverse = np.linalg.inv(information)
    theta = np.einsum("...jl,...l->...j", inverse, score)
    squares = (precision * np.diagonal(products, axis1=1, axis2=2)).sum(axis=(-2, -1))
    of_products = np.einsum(
        "...pk,kg,pkl,...pl,lg->...pg", precision, of_kind, products, precision, of_kind, optimize=True
    )
    squares = squares - (lost * of_products).sum(axis=(-2, -1))
    squares = squares - (np.einsum("...pk,pkl,...pl->...p", effective, products, effective) / total).sum(axis=-1)
    squares = squares - (theta * score).sum(axis=-1)
    determinant = (np.where(there, np.log(variance), 0.0).sum(axis=-1) + np.log(total)) @ rounds
    determinant = determinant - np.log(shrunk).sum(axis=-1) @ rounds - np.linalg.slogdet(inverse)[1]
    return _Grid(log_weights + omega_weights - 0.5 * (determinant + np.maximum(squares, 0.0)), theta, inverse)


def _omega(means: InstanceMeans, own: set[int], nodes: Nodes) -> tuple[FloatArray, FloatArray]:
    """Squares of the effects that rounds have on these kinds, shape (W, 1, 1), and the log weights of omega, (W,)."""
    if not own:
        return np.zeros((1, 1, 1)), np.zeros(1)
    there = means.blocks > 0
    scatter = max(contrast_scatter(means.means, there, means.kinds == kind, means.kinds == 0) for kind in own)
    omega, log_weights = round_effect_nodes(np.array([scatter]), len(means.means), nodes.omega)
    return omega[0, :, None, None] ** 2, log_weights[0]


def _with_hosts(is_of: FloatArray, hosts: NDArray[np.intp], count: int) -> FloatArray:
    """Which effects are in the mean of each instance, shape (P, K, J + H - 1): its theta, and its host's."""
    on = np.equal.outer(hosts, np.arange(1, count)).astype(np.float64)
    return np.concatenate([np.broadcast_to(is_of, (len(hosts), *is_of.shape)), on], axis=2)


def _variances(means: InstanceMeans, blocks: FloatArray, own: set[int], nodes: Nodes) -> tuple[FloatArray, FloatArray]:
    """Log prior weight of each node (T, rho, sigma plain, sigma own, 1), and the variance of instances there.

    The last axis is for omega, on which these do not depend; that of the variances has those of (P, K) behind it.
    """
    tau2 = tau_grid(nodes.tau)[:, None, None, None] ** 2
    rho2, rho_weights = rho_nodes(nodes.rho if own else 1)
    plain, plain_weights = sigma_nodes(means.variance[0], float(means.df[0]), nodes.sigma)
    # Several kinds of their own move together: a factor on each one's own variance.
    df = min((float(means.df[kind]) for kind in own), default=0.0)
    focus = max(own, default=0)
    others, other_weights = sigma_nodes(means.variance[focus], df, nodes.sigma if own else 1)
    found = float(means.variance[focus])
    factor = others / found if df > 0 and found > 0 else None
    shape = (nodes.tau, len(rho2), len(plain), len(others))
    variance = np.empty((*shape, *blocks.shape))
    counted = np.maximum(blocks, 1.0)
    for column, kind in enumerate(means.kinds):
        noise = plain[:, None]
        if kind in own:
            noise = (others if factor is None else factor * means.variance[kind])[None, :]
        elif kind != 0 and means.df[kind] > 0:
            noise = np.full((1, 1), means.variance[kind])
        effect = tau2 * rho2[None, :, None, None] if kind in own else tau2
        variance[..., column] = effect[..., None] + np.broadcast_to(noise, shape)[..., None] / counted[:, column]
    log_weights = rho_weights[None, :, None, None] + plain_weights[None, None, :, None] + other_weights
    return np.broadcast_to(log_weights, shape)[..., None], variance[..., None, :, :]

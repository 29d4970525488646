"""Stage 1: what each instance cost within its round, and how noisy one trial is.

``y = v_block + m_(round, condition) + eps``, ``eps ~ t_nu(0, sigma)``, blocks complete. Blocks and instances are free
parameters, sigma is common to a stratum; nu is averaged over a grid. Blocks take the drift away, the t the odd trial
that a checkpoint or a neighbour hit. Nothing here knows which condition is the baseline: that is stage 2.

Fitting is by ECM (Liu and Rubin 1995, Statistica Sinica 5:19) on the restricted likelihood: blocks and instances take
up to half of the observations, and without the restriction sigma would come out too small by as much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tdelta.inference.posterior import FloatArray

NU_GRID = np.array([3.0, 5.0, 9.0, 16.0, 30.0, 80.0])
SMALLEST_SD = 1e-5
"""A floor of 0.001 % under the noise of a trial: counters are integers, and twins may agree to the last byte."""

_NU_SHAPE, _NU_RATE = 2.0, 0.1
_TOLERANCE = 1e-4
_MAX_ITERATIONS = 200


@dataclass(frozen=True, slots=True)
class InstanceMeans:
    """Stage 1's answer for one cost in one stratum, of R rounds, K conditions and B blocks.

    Attributes:
        means: shape (R, K), log cost of each instance less the mean of its round.
        blocks: shape (R,), blocks in each round.
        variance: of one trial as it counts for an instance's mean, ``sigma^2 (nu + 3) / (nu + 1)``; 0 if ``df`` is 0.
        df: degrees of freedom behind ``variance``.
        influence: shape (B, K), what each trial adds to the estimates: correlations between costs are read off it.
    """

    means: FloatArray
    blocks: FloatArray
    variance: float
    df: float
    influence: FloatArray


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which blocks belong to which round; blocks are sorted by round."""

    starts: NDArray[np.intp]
    of_block: NDArray[np.intp]
    blocks: FloatArray

    def sums(self, values: FloatArray) -> FloatArray:
        """Sums over the blocks of each round, (..., B, K) to (..., R, K)."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=-2), dtype=np.float64)


def _layout(rounds: NDArray[np.intp]) -> _Layout:
    _, starts, of_block, counts = np.unique(rounds, return_index=True, return_inverse=True, return_counts=True)
    return _Layout(starts, of_block, counts.astype(np.float64))


@dataclass(frozen=True, slots=True)
class _State:
    """The parameters during ECM: leading axes are (series, nu)."""

    block: FloatArray
    instance: FloatArray
    sigma2: FloatArray
    residual: FloatArray
    weight: FloatArray


def fit_instances(log_costs: FloatArray, rounds: NDArray[np.intp]) -> list[InstanceMeans]:
    """Fit several costs of one stratum at once.

    Args:
        log_costs: shape (S, B, K): S costs (metrics, transaction types), B complete blocks, K conditions.
        rounds: shape (B,), the round of each block, not decreasing.

    Returns:
        One answer for each cost. Where every round has a single block, noise and instance luck cannot be told apart:
        ``df`` is 0 and stage 2 leaves the noise to its prior.
    """
    layout = _layout(rounds)
    conditions = log_costs.shape[2]
    df = (len(rounds) - len(layout.blocks)) * (conditions - 1)
    start = _least_squares(log_costs[:, None], layout, max(df, 1))
    if df == 0:
        quiet = np.zeros(log_costs.shape[1:])
        return [InstanceMeans(means, layout.blocks, 0.0, 0.0, quiet) for means in start.instance[:, 0]]
    state = _ecm(log_costs[:, None], layout, start, df)
    return _averaged_over_nu(state, layout, df)


def _least_squares(y: FloatArray, layout: _Layout, df: int) -> _State:
    centred = y - y.mean(axis=-1, keepdims=True)
    instance = layout.sums(centred) / layout.blocks[:, None]
    residual = centred - instance[..., layout.of_block, :]
    sigma2 = np.maximum((residual**2).sum(axis=(-2, -1)) / df, SMALLEST_SD**2)
    return _State(y.mean(axis=-1, keepdims=True), instance, sigma2, residual, np.ones_like(y))


def _ecm(y: FloatArray, layout: _Layout, start: _State, df: int) -> _State:
    shape = (y.shape[0], len(NU_GRID))
    state = _State(
        np.broadcast_to(start.block, (*shape, *start.block.shape[2:])),
        np.broadcast_to(start.instance, (*shape, *start.instance.shape[2:])),
        np.broadcast_to(start.sigma2, shape),
        np.broadcast_to(start.residual, (*shape, *y.shape[2:])),
        np.broadcast_to(start.weight, (*shape, *y.shape[2:])),
    )
    for _ in range(_MAX_ITERATIONS):
        before = state
        state = _ecm_step(y, layout, before, df)
        moved = np.abs(state.instance - before.instance).max(axis=(-2, -1)) / np.sqrt(state.sigma2)
        rescaled = np.abs(np.log(state.sigma2 / before.sigma2))
        if max(moved.max(), rescaled.max()) < _TOLERANCE:
            break
    return state


def _ecm_step(y: FloatArray, layout: _Layout, state: _State, df: int) -> _State:
    nu = NU_GRID[:, None, None]
    weight = (nu + 1.0) / (nu + state.residual**2 / state.sigma2[..., None, None])
    of_block = layout.of_block
    block = (weight * (y - state.instance[..., of_block, :])).sum(axis=-1, keepdims=True)
    block = block / weight.sum(axis=-1, keepdims=True)
    instance = layout.sums(weight * (y - block)) / layout.sums(weight)
    residual = y - block - instance[..., of_block, :]
    sigma2 = np.maximum((weight * residual**2).sum(axis=(-2, -1)) / df, SMALLEST_SD**2)
    return _State(block, instance, sigma2, residual, weight)


def _log_nu_posterior(state: _State, df: int) -> FloatArray:
    """Log posterior of nu, shape (S, N), up to a constant: restricted profile likelihood times Gamma(2, 0.1).

    The blocks' and instances' information is ``(nu + 1) / ((nu + 3) sigma^2)`` a trial (Lange, Little and Taylor
    1989, JASA 84:881); integrating them out by Laplace's method multiplies by its root, for each free parameter.
    """
    trials = state.residual[0, 0].size
    z2 = state.residual**2 / state.sigma2[..., None, None]
    constant = np.array([math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2) - 0.5 * math.log(nu) for nu in NU_GRID])
    kernel = -0.5 * (NU_GRID + 1.0) * np.log1p(z2 / NU_GRID[:, None, None]).sum(axis=(-2, -1))
    likelihood = trials * constant + kernel - 0.5 * df * np.log(state.sigma2)
    laplace = 0.5 * (trials - df) * np.log((NU_GRID + 3.0) / (NU_GRID + 1.0))
    scale = -0.5 * np.log(NU_GRID / (NU_GRID + 3.0))
    prior = (_NU_SHAPE - 1.0) * np.log(NU_GRID) - _NU_RATE * NU_GRID + np.log(np.gradient(NU_GRID))
    return np.asarray(likelihood + laplace + scale + prior, dtype=np.float64)


def _averaged_over_nu(state: _State, layout: _Layout, df: int) -> list[InstanceMeans]:
    log_posterior = _log_nu_posterior(state, df)
    weights = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    centred = state.instance - state.instance.mean(axis=-1, keepdims=True)
    means = np.einsum("sn,snrk->srk", weights, centred)
    variance = np.einsum("sn,sn->s", weights, state.sigma2 * (NU_GRID + 3.0) / (NU_GRID + 1.0))
    # A scale is known less well from a t sample than from a normal one: information 2 nu / (nu + 3) instead of 2.
    effective = df * weights @ (NU_GRID / (NU_GRID + 3.0))
    influence = np.einsum("sn,snbk->sbk", weights, state.weight * state.residual)
    return [
        InstanceMeans(means[s], layout.blocks, float(variance[s]), float(effective[s]), influence[s])
        for s in range(len(weights))
    ]

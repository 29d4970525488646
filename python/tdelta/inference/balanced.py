"""Stage 2 in closed form for many like runs at once: the same answer as `tdelta.inference.rounds`, much sooner.

Where every round has the same twins and as many blocks, the weights of the twins are the same in every round. Then the
estimate of a log ratio is the same at every node of the grid, the difference of two means over rounds, and five sums of
squares hold all that the rounds say of instance effects and noise. Simulated runs are like that, and there are
thousands of them. Twins are of two kinds, plain ones and treated ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tdelta.inference.instance_effect import log_instance_sd_density, scale_for
from tdelta.inference.posterior import FloatArray, Mixture, mixture
from tdelta.inference.round_effect import round_effect_nodes
from tdelta.inference.rounds import Nodes, rho_nodes, sigma_nodes, tau_grid
from tdelta.records import InstanceEffectPrior


@dataclass(frozen=True, slots=True)
class BalancedRuns:
    """What stage 1 leaves of N runs of R rounds alike.

    Attributes:
        means: shape (N, R, K), typical log costs of instances.
        thetas: shape (K,), which theta each column has: 0 for plain twins, 1 … J for treated ones.
        blocks: of a round.
        variance: shape (N, 2), of one trial of a plain and of a treated twin; any number where ``df`` is 0.
        df: behind each of the two.
    """

    means: FloatArray
    thetas: NDArray[np.intp]
    blocks: int
    variance: FloatArray
    df: tuple[float, float]

    @property
    def rounds(self) -> int:
        """R."""
        return int(self.means.shape[1])


def first_ratios(runs: BalancedRuns, instance_effect: InstanceEffectPrior | None, nodes: Nodes) -> Iterator[Mixture]:
    """What the data of each run say of its first log ratio, before the prior of that."""
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

"""The effect that a round has on all its encrypted twins: its nodes, the model of the verdicts, and the F test."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tdelta.inference.posterior import posterior
from tdelta.inference.rounds import (
    RHO_SD,
    ROUND_EFFECT_SCALE,
    fit_rounds,
    round_effect_nodes,
    scale_for,
    shared_by_block,
    shared_by_round,
    wandering_sd,
)

from .builders import stage_1

KINDS = np.array([0, 0, 1, 1])
PLAIN, TREATED = KINDS == 0, KINDS == 1
SD, BLOCKS = 0.01, 6


def drawn(seed: int, rounds: int, round_sd: float) -> np.ndarray:
    """Means of instances that differ by 0.3 %, shape (R, 4), all encrypted twins of a round being moved together."""
    rng = np.random.default_rng([seed, rounds])
    means = rng.normal(0.0, np.hypot(0.003, SD / np.sqrt(BLOCKS)), (rounds, 4))
    means += round_sd * rng.normal(size=(rounds, 1)) * TREATED
    return np.asarray(means - means.mean(axis=1, keepdims=True))


def brute_force(means: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """The posterior of the treatment's log ratio at each theta, from the whole covariance of a round's instances.

    Independent of the package: contrasts with the first column remove the round; tau, rho and omega are integrated
    over a dense grid under their documented priors, the noise being known.
    """
    taus, omegas = np.geomspace(1e-4, 0.5, 70), np.geomspace(2e-5, 0.5, 90)
    rhos = np.exp(RHO_SD * np.linspace(-2.6, 2.6, 13))
    tau, rho, omega = (axis.ravel() for axis in np.meshgrid(taus, rhos, omegas, indexing="ij"))
    log_prior = stats.cauchy.logpdf(tau, 0, scale_for(len(means))) + np.log(tau)
    log_prior += stats.norm.logpdf(np.log(rho), 0, RHO_SD)
    log_prior += stats.cauchy.logpdf(omega, 0, ROUND_EFFECT_SCALE) + np.log(omega)
    effects = tau[:, None] * np.where(TREATED, rho[:, None], 1.0)
    covariance = (effects**2 + SD**2 / BLOCKS)[:, :, None] * np.eye(4)
    covariance = covariance + omega[:, None, None] ** 2 * np.outer(TREATED, TREATED)
    contrast = np.hstack([-np.ones((3, 1)), np.eye(3)])
    inverse = np.linalg.inv(contrast @ covariance @ contrast.T)
    seen, effect = means @ contrast.T, contrast @ TREATED
    a = len(means) * np.einsum("i,nij,j->n", effect, inverse, effect)
    b = np.einsum("i,nij,rj->n", effect, inverse, seen)
    c = np.einsum("ri,nij,rj->n", seen, inverse, seen)
    log_weight = log_prior + 0.5 * len(means) * np.linalg.slogdet(inverse)[1]
    exponents = log_weight[:, None] - 0.5 * (a[:, None] * theta**2 - 2.0 * b[:, None] * theta + c[:, None])
    return np.asarray(np.exp(exponents - exponents.max()).sum(axis=0) * stats.t.pdf(theta / 0.5, 3))


@pytest.mark.parametrize(("rounds", "round_sd"), [(3, 0.0), (3, 0.02), (8, 0.0), (8, 0.02), (8, 0.1)])
def test_the_interval_is_that_of_the_whole_covariance(rounds: int, round_sd: float) -> None:
    means = drawn(1, rounds, round_sd)
    found = posterior(
        fit_rounds([stage_1(means, np.full(rounds, float(BLOCKS)), SD**2, 1e6, KINDS)], [KINDS]).strata[0].mixture(0)
    )
    spread = found.quantile(0.975) - found.quantile(0.025)
    theta = np.linspace(found.quantile(0.5) - 3.0 * spread, found.quantile(0.5) + 3.0 * spread, 401)
    density = brute_force(means, theta)
    cumulative = np.cumsum(density) / density.sum()
    for p in (0.025, 0.25, 0.5, 0.75, 0.975):
        assert found.quantile(p) == pytest.approx(np.interp(p, cumulative, theta), abs=0.025 * spread)


def test_identical_encrypted_twins_do_not_hide_what_the_round_does_to_both() -> None:
    """A B/B twin compared with its treatment shares the effect, which therefore widens nothing there."""
    means = drawn(2, 6, 0.03)
    seen = stage_1(means, np.full(6, float(BLOCKS)), SD**2, 100.0, KINDS)
    over_plain = fit_rounds([seen], [KINDS]).strata[0].mixture(0).variance ** 0.5
    between_twins = fit_rounds([seen], [np.array([2, 2, 0, 1])]).strata[0].mixture(0).variance ** 0.5
    assert over_plain > 2.0 * between_twins


@pytest.mark.parametrize("rounds", [1, 2, 5, 40])
def test_the_nodes_carry_the_whole_prior(rounds: int) -> None:
    scatter = np.array([0.0, 0.004, 0.3])
    nodes, log_weights = round_effect_nodes(scatter, rounds, 10)
    assert (np.diff(nodes, axis=1) > 0.0).all()
    assert np.exp(log_weights).sum(axis=1) == pytest.approx(1.0)
    assert (nodes[:, -1] >= scatter).all()


def test_the_f_test_finds_a_shared_effect_and_seldom_any_where_there_is_none() -> None:
    def share(round_sd: float) -> float:
        found = [
            shared_by_round(
                stage_1(drawn(seed, 10, round_sd), np.full(10, float(BLOCKS)), SD**2, 100.0, KINDS), TREATED, PLAIN
            )
            for seed in range(400)
        ]
        return float(np.mean([one is not None and one.is_beyond_chance for one in found]))

    assert share(0.0) <= 0.025
    assert share(0.02) >= 0.9


def test_the_size_of_a_shared_effect_is_estimated() -> None:
    found = shared_by_round(stage_1(drawn(3, 400, 0.02), np.full(400, 6.0), SD**2, 100.0, KINDS), TREATED, PLAIN)
    assert found.sd == pytest.approx(0.02, rel=0.1)


def test_blocks_are_tested_within_their_rounds() -> None:
    rng = np.random.default_rng(4)
    rounds = np.repeat(np.arange(5), 6)
    means = stage_1(drawn(4, 5, 0.05), np.full(5, 6.0), SD**2, 100.0, KINDS)
    noise = rng.normal(0.0, SD, (30, 4))
    moved = noise + 0.03 * rng.normal(size=(30, 1)) * TREATED
    for residual, is_beyond in ((noise, False), (moved, True)):
        seen = replace(means, residual=residual, there=np.ones((30, 4), dtype=np.bool_), rounds=rounds)
        found = shared_by_block(seen, TREATED, PLAIN)
        assert found.is_beyond_chance is is_beyond


def wandering(ar: float, sd: float, seed: int) -> float:
    """The uncertainty of an overhead that changes over the blocks of five rounds, trials scattering by 1 %."""
    rng = np.random.default_rng(seed)
    rounds = np.repeat(np.arange(5), 6)
    level = rng.normal(0.0, sd)
    course = np.empty(30)
    for at, shock in enumerate(rng.normal(0.0, sd * np.sqrt(1.0 - ar**2), 30)):
        level = ar * level + shock
        course[at] = level
    logs = rng.normal(0.0, SD, (30, 4)) + course[:, None] * TREATED
    logs -= logs.mean(axis=1, keepdims=True)
    means = np.array([logs[rounds == number].mean(axis=0) for number in range(5)])
    seen = stage_1(means, np.full(5, 6.0), SD**2, 100.0, KINDS)
    seen = replace(seen, residual=logs - means[rounds], there=np.ones((30, 4), dtype=np.bool_), rounds=rounds)
    return wandering_sd(seen, TREATED, PLAIN)


def test_an_overhead_that_lasts_over_blocks_leaves_more_open_than_rounds_show() -> None:
    lasting, fresh = (np.array([wandering(ar, 0.03, seed) for seed in range(40)]) for ar in (0.9, 0.0))
    # Of five rounds' mean, an AR(1) of 0.9 over blocks has a standard deviation of 2 %, and rounds show half of it.
    assert 0.008 < np.median(lasting) < 0.025
    assert np.median(fresh) < 0.004
    assert [wandering(0.9, 0.0, seed) for seed in range(20)].count(0.0) >= 18


@pytest.mark.parametrize("missing", [1, 3])
def test_without_two_twins_of_each_kind_nothing_is_tested(missing: int) -> None:
    means = stage_1(drawn(5, 6, 0.02), np.full(6, 6.0), SD**2, 100.0, KINDS)
    kept = np.arange(4) != missing
    assert shared_by_round(means, TREATED & kept, PLAIN & kept) is None

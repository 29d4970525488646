from functools import cache

import numpy as np
import pytest
from scipy import stats

from tdelta.inference.noise import NU_GRID, SMALLEST_SD, Design, InstanceMeans
from tdelta.inference.noise import fit_instances as fit_design

Layout = tuple[np.ndarray, np.ndarray]


def fit_instances(y: np.ndarray, rounds: np.ndarray, kinds: np.ndarray | None = None) -> InstanceMeans:
    """Fit twins of one kind whose places in the block rotate."""
    blocks, twins = y.shape
    places = (np.arange(twins) + np.arange(blocks)[:, None]) % twins
    number = np.unique(rounds, return_inverse=True)[1]
    return fit_design(
        y, Design(number, places, np.zeros(twins, dtype=np.intp) if kinds is None else kinds, np.zeros(y.shape))
    )


def centred(found: InstanceMeans) -> np.ndarray:
    return found.means - found.means.mean(axis=1, keepdims=True)


def data(rng: np.random.Generator, rounds: int, blocks: int, conditions: int, sd: float) -> Layout:
    of_block = np.repeat(np.arange(rounds), blocks)
    drift = np.cumsum(rng.normal(0.0, 0.2, rounds * blocks))[:, None]
    return drift + rng.normal(0.0, sd, (rounds * blocks, conditions)), of_block


def claimed_and_actual(noise: np.ndarray) -> tuple[float, float, float]:
    """Variance of a contrast of two instances: as claimed, as it is, and as least squares would have it."""
    found = [fit_instances(y, np.repeat(np.arange(6), 6)) for y in noise]
    contrast = np.array([m.means[:, 2] - m.means[:, 0] for m in found])
    least_squares = (noise[..., 2] - noise[..., 0]).reshape(len(noise), 6, 6).mean(axis=2)
    claimed = float(np.mean([2.0 * m.variance[0] / 6 for m in found]))
    return claimed, float((contrast**2).mean()), float((least_squares**2).mean())


def test_on_normal_noise_little_is_lost_and_the_claimed_variance_is_right() -> None:
    noise = np.random.default_rng(1).normal(0.0, 0.05, (400, 36, 3))
    claimed, actual, least_squares = claimed_and_actual(noise)
    assert actual < 1.05 * least_squares
    assert 0.95 < claimed / actual < 1.12


def test_on_heavy_tails_much_is_won_and_the_claimed_variance_is_never_too_small() -> None:
    noise = 0.05 * np.random.default_rng(4).standard_t(3, (400, 36, 3))
    claimed, actual, least_squares = claimed_and_actual(noise)
    assert actual < 0.8 * least_squares
    assert 0.95 < claimed / actual < 1.25


SPACING = np.linspace(0.0, 60.0, 601)


@cache
def log_density_of_difference(nu: float) -> np.ndarray:
    """Log density, on SPACING, of the difference of two t of scale 1."""
    u = np.linspace(-150.0, 150.0, 3001)
    density = stats.t.pdf(u, nu) @ stats.t.pdf(u[:, None] + SPACING, nu) * (u[1] - u[0])
    return np.asarray(np.log(density))


def brute_force(y: np.ndarray) -> tuple[float, float]:
    """Mean and sd of m_1 - m_0 of one round, from the whole t likelihood of y of shape (blocks, 2).

    Independent of the package but for the documented grid of nu and its prior: each block's level is integrated out
    numerically, which leaves the density of a difference of two t; then a dense grid of (difference, log sigma, nu).
    """
    observed = y[:, 1] - y[:, 0]
    centre, reach = float(np.median(observed)), 3.0 * float(observed.std())
    theta, log_sigma = np.linspace(centre - reach, centre + reach, 241), np.linspace(-6.0, -1.0, 100)
    logs = np.empty((len(NU_GRID), len(log_sigma), len(theta)))
    for n, nu in enumerate(NU_GRID):
        density = log_density_of_difference(float(nu))
        prior = stats.gamma.logpdf(nu, 2.0, scale=10.0) + np.log(np.gradient(NU_GRID)[n])
        for s, sigma in enumerate(np.exp(log_sigma)):
            scaled = np.abs(observed[:, None] - theta) / sigma
            logs[n, s] = prior + np.interp(scaled, SPACING, density, right=-np.inf).sum(axis=0)
            logs[n, s] -= len(observed) * log_sigma[s]
    weights = np.exp(logs - logs.max()).sum(axis=(0, 1))
    weights /= weights.sum()
    mean = float(weights @ theta)
    return mean, float(np.sqrt(weights @ (theta - mean) ** 2))


@pytest.mark.parametrize("nu", [3.0, 300.0])
def test_an_instance_is_known_as_well_as_the_whole_t_likelihood_says(nu: float) -> None:
    rng = np.random.default_rng([8, int(nu)])
    moved, widened = [], []
    for _ in range(20):
        y = 0.03 * rng.standard_t(nu, (20, 2)) + rng.normal(0.0, 0.5, (20, 1))
        mean, sd = brute_force(y)
        found = fit_instances(y, np.zeros(20, dtype=np.intp))
        claimed = float(np.sqrt(2.0 * found.variance[0] / 20 * found.df[0] / (found.df[0] - 2.0)))
        moved.append((found.means[0, 1] - found.means[0, 0] - mean) / sd)
        widened.append(claimed / sd)
    # A mode averaged over nu is not the mean of the posterior, and the width errs on one side: docs/statistics.md.
    assert np.sqrt(np.mean(np.square(moved))) < 0.2
    assert np.min(widened) > 0.93
    assert np.mean(widened) < 1.2


def test_drift_between_blocks_leaves_no_trace() -> None:
    y, rounds = data(np.random.default_rng(2), 3, 6, 3, 0.02)
    shifted = y + 5.0 * np.sin(np.arange(18))[:, None]
    before, after = fit_instances(y, rounds), fit_instances(shifted, rounds)
    np.testing.assert_allclose(centred(after), centred(before), atol=1e-9)
    assert after.variance == pytest.approx(before.variance)


def test_one_disturbed_trial_hardly_moves_its_instance() -> None:
    y, rounds = data(np.random.default_rng(3), 4, 6, 3, 0.01)
    disturbed = y.copy()
    disturbed[7, 2] += 1.0
    before, after = fit_instances(y, rounds), fit_instances(disturbed, rounds)
    assert np.abs(centred(after) - centred(before)).max() < 0.01
    assert np.sqrt(after.variance[0]) < 0.03
    assert after.weight[7, 2] < 0.01
    assert after.residual[7, 2] == pytest.approx(1.0, abs=0.05)


def test_identical_costs_have_the_smallest_noise_and_no_nan() -> None:
    found = fit_instances(np.zeros((18, 3)), np.repeat(np.arange(3), 6))
    assert np.all(found.means == 0.0)
    assert SMALLEST_SD <= np.sqrt(found.variance[0]) < 2 * SMALLEST_SD


def test_single_blocks_leave_the_noise_unknown() -> None:
    y, rounds = data(np.random.default_rng(6), 4, 1, 3, 0.02)
    found = fit_instances(y, rounds)
    assert found.pooled_df == 0.0
    np.testing.assert_allclose(centred(found), y - y.mean(axis=1, keepdims=True))


def test_rounds_of_unequal_length_keep_their_own_counts() -> None:
    y, _ = data(np.random.default_rng(7), 1, 9, 3, 0.02)
    found = fit_instances(y, np.array([0, 0, 0, 0, 0, 0, 2, 2, 2]))
    assert found.blocks[:, 0].tolist() == [6.0, 3.0]
    assert found.nominal_df == 5 * 2 + 2 * 2


def test_a_noisier_kind_is_seen_as_that_and_a_rare_one_is_pulled_towards_the_others() -> None:
    rng = np.random.default_rng(9)
    y = rng.normal(0.0, 0.02, (120, 4)) * [1.0, 1.0, 3.0, 3.0]
    found = fit_instances(y, np.repeat(np.arange(20), 6), np.array([0, 0, 1, 1]))
    assert np.sqrt(found.variance) == pytest.approx([0.02, 0.06], rel=0.2)
    few = fit_instances(y[:6], np.zeros(6, dtype=np.intp), np.array([0, 0, 1, 1]))
    assert few.variance[1] / few.variance[0] < 9.0


def test_the_place_in_the_block_is_taken_out() -> None:
    y, rounds = data(np.random.default_rng(10), 6, 6, 3, 0.01)
    places = (np.arange(3) + np.arange(36)[:, None]) % 3
    before, after = fit_instances(y, rounds), fit_instances(y + 0.05 * places, rounds)
    assert np.abs(centred(after) - centred(before)).max() < 1e-3
    assert after.variance[0] < 1.1 * before.variance[0]
    np.testing.assert_allclose(np.diff(after.places), [0.05, 0.05], atol=0.006)


def test_a_twin_that_took_no_part_in_a_round_has_no_trials_there_and_disturbs_nobody() -> None:
    y, rounds = data(np.random.default_rng(11), 4, 6, 4, 0.01)
    absent = y.copy()
    absent[rounds == 1, 3] = np.nan
    whole, found = fit_instances(y[:, :3], rounds), fit_instances(absent, rounds)
    assert found.blocks[:, 3].tolist() == [6.0, 0.0, 6.0, 6.0]
    assert not found.there[rounds == 1, 3].any()
    apart = [m.means[1, :3] - m.means[1, :3].mean() for m in (whole, found)]
    np.testing.assert_allclose(*apart, atol=2e-3)


def test_leaving_a_round_out_keeps_the_others_as_they_were() -> None:
    y, rounds = data(np.random.default_rng(12), 3, 4, 3, 0.02)
    found = fit_instances(y, rounds)
    left = found.without_round(1)
    np.testing.assert_array_equal(left.means, found.means[[0, 2]])
    assert left.rounds.tolist() == [0] * 4 + [1] * 4
    np.testing.assert_array_equal(left.residual, found.residual[rounds != 1])

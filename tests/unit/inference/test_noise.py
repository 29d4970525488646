from __future__ import annotations

import numpy as np
import pytest

from tdelta.inference.noise import SMALLEST_SD, fit_instances

Layout = tuple[np.ndarray, np.ndarray]


def data(rng: np.random.Generator, rounds: int, blocks: int, conditions: int, sd: float) -> Layout:
    of_block = np.repeat(np.arange(rounds), blocks)
    drift = np.cumsum(rng.normal(0.0, 0.2, rounds * blocks))[:, None]
    return drift + rng.normal(0.0, sd, (rounds * blocks, conditions)), of_block


def claimed_and_actual(noise: np.ndarray) -> tuple[float, float, float]:
    """Variance of a contrast of two instances: as claimed, as it is, and as least squares would have it."""
    found = fit_instances(noise, np.repeat(np.arange(6), 6))
    contrast = np.array([m.means[:, 2] - m.means[:, 0] for m in found])
    least_squares = (noise[..., 2] - noise[..., 0]).reshape(len(noise), 6, 6).mean(axis=2)
    claimed = float(np.mean([2.0 * m.variance / 6 for m in found]))
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


def test_drift_between_blocks_leaves_no_trace() -> None:
    y, rounds = data(np.random.default_rng(2), 3, 6, 3, 0.02)
    shifted = y + 5.0 * np.sin(np.arange(18))[:, None]
    (before,), (after,) = fit_instances(y[None], rounds), fit_instances(shifted[None], rounds)
    np.testing.assert_allclose(after.means, before.means, atol=1e-9)
    assert after.variance == pytest.approx(before.variance)


def test_one_disturbed_trial_hardly_moves_its_instance() -> None:
    y, rounds = data(np.random.default_rng(3), 4, 6, 3, 0.01)
    disturbed = y.copy()
    disturbed[7, 2] += 1.0
    (before,), (after,) = fit_instances(y[None], rounds), fit_instances(disturbed[None], rounds)
    assert np.abs(after.means - before.means).max() < 0.01
    assert np.sqrt(after.variance) < 0.03


def test_several_costs_fitted_together_are_each_fitted_as_alone() -> None:
    rng = np.random.default_rng(5)
    y, rounds = data(rng, 3, 6, 3, 0.02)
    together = fit_instances(np.stack([y, 3.0 * y]), rounds)
    for costs, found in zip((y, 3.0 * y), together, strict=True):
        (alone,) = fit_instances(costs[None], rounds)
        np.testing.assert_allclose(found.means, alone.means, atol=1e-5)
        assert found.variance == pytest.approx(alone.variance, rel=1e-3)


def test_identical_costs_have_the_smallest_noise_and_no_nan() -> None:
    (found,) = fit_instances(np.zeros((1, 18, 3)), np.repeat(np.arange(3), 6))
    assert np.all(found.means == 0.0)
    assert SMALLEST_SD <= np.sqrt(found.variance) < 2 * SMALLEST_SD


def test_single_blocks_leave_the_noise_unknown() -> None:
    y, rounds = data(np.random.default_rng(6), 4, 1, 3, 0.02)
    (found,) = fit_instances(y[None], rounds)
    assert found.df == 0.0
    np.testing.assert_allclose(found.means, y - y.mean(axis=1, keepdims=True))


def test_rounds_of_unequal_length_keep_their_own_counts() -> None:
    y, _ = data(np.random.default_rng(7), 1, 9, 3, 0.02)
    (found,) = fit_instances(y[None], np.array([0, 0, 0, 0, 0, 0, 2, 2, 2]))
    assert found.blocks.tolist() == [6.0, 3.0]

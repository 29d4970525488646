from __future__ import annotations

import numpy as np
import pytest
from tdelta.inference.noise import SMALLEST_SD, fit_instances


def data(
    rng: np.random.Generator, rounds: int, blocks: int, conditions: int, sd: float
) -> tuple[np.ndarray, np.ndarray]:
    of_block = np.repeat(np.arange(rounds), blocks)
    drift = np.cumsum(rng.normal(0.0, 0.2, rounds * blocks))[:, None]
    return drift + rng.normal(0.0, sd, (rounds * blocks, conditions)), of_block


def test_normal_noise_gives_the_least_squares_answer() -> None:
    y, rounds = data(np.random.default_rng(1), 40, 6, 4, 0.05)
    (found,) = fit_instances(y[None], rounds)
    centred = y - y.mean(axis=1, keepdims=True)
    least_squares = np.array([centred[rounds == r].mean(axis=0) for r in range(40)])
    assert np.abs(found.means - least_squares).max() < 0.3 * 0.05 / np.sqrt(6)
    assert np.sqrt(found.variance) == pytest.approx(0.05, rel=0.06)


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


def test_the_variance_of_heavy_tailed_noise_is_that_of_the_estimates() -> None:
    rng = np.random.default_rng(4)
    rounds = np.repeat(np.arange(6), 6)
    y = 0.05 * rng.standard_t(3, (400, 36, 3))
    found = fit_instances(y, rounds)
    contrast = np.array([m.means[:, 2] - m.means[:, 0] for m in found])
    claimed = np.mean([2.0 * m.variance / 6 for m in found])
    assert claimed == pytest.approx(float((contrast**2).mean()), rel=0.10)


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

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tdelta.inference.pooling import TypeEstimates, pool, type_estimates
from tdelta.inference.rounds import Contrasts


def test_pooling_agrees_with_dense_numerical_integration() -> None:
    theta = np.array([0.03, 0.08, 0.05])
    covariance = np.diag([0.02, 0.03, 0.01]) ** 2 + 0.005**2
    (((first, second, third),),) = pool([TypeEstimates(theta[None], covariance, plain=2)])
    sampling = 1.5 * covariance
    # Independently: over tau and mu the observed types are jointly normal with the types' own effects.
    means, variances, weights = [], [], []
    for tau in np.geomspace(1e-4, 6.0, 80):
        for mu in np.linspace(-0.35, 0.45, 101):
            prior = stats.t.pdf(mu / 0.5, 3) * stats.cauchy.pdf(tau, 0, 0.1) * tau
            marginal = sampling + tau**2 * np.eye(3)
            weights.append(prior * stats.multivariate_normal.pdf(theta, np.full(3, mu), marginal))
            gain = tau**2 * np.linalg.inv(marginal)
            means.append(mu + gain @ (theta - mu))
            variances.append(np.diag(tau**2 * np.eye(3) - tau**2 * gain))
    weight = np.array(weights) / np.sum(weights)
    mean = weight @ np.array(means)
    variance = weight @ (np.array(variances) + (np.array(means) - mean) ** 2)
    for found, m, v in zip((first, second, third), mean, variance, strict=True):
        assert found.mean == pytest.approx(m, abs=3e-4)
        assert np.sqrt(found.variance) == pytest.approx(np.sqrt(v), rel=0.02)


def test_types_that_agree_are_pulled_together_and_gain() -> None:
    covariance = np.eye(4) * 0.03**2
    pooled = pool([TypeEstimates(np.array([[0.05, 0.06, 0.04, 0.05]]), covariance, plain=1)])[0][0]
    assert np.ptp([m.mean for m in pooled]) < 0.5 * 0.02
    assert all(m.variance < 0.8 * 2 * 0.03**2 for m in pooled)


def test_a_type_that_stands_far_apart_stays_there() -> None:
    covariance = np.eye(4) * 0.01**2
    pooled = pool([TypeEstimates(np.array([[0.0, 0.0, 0.0, 1.5]]), covariance, plain=2)])[0][0]
    assert pooled[3].mean == pytest.approx(1.5, abs=0.01)
    assert pooled[0].mean == pytest.approx(0.0, abs=0.01)


def test_luck_that_types_share_is_not_averaged_away() -> None:
    shared = np.full((6, 6), 0.01**2) + np.eye(6) * 1e-8
    pooled = pool([TypeEstimates(np.full((1, 6), 0.05), shared, plain=2)])[0][0]
    assert all(np.sqrt(m.variance) > 0.95 * np.sqrt(1.5) * 0.01 for m in pooled)


def contrasts(theta: float, variance: float, noise: float) -> Contrasts:
    return Contrasts(np.ones((1, 1)), np.full((1, 1, 1), theta), np.full((1, 1), variance), noise, plain=2)


def test_luck_counts_as_shared_and_noise_as_correlated_as_it_is() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 40, 3))
    found = type_estimates([contrasts(0.1, 5.0, 1.0), contrasts(0.2, 13.0, 4.0)], [first, second])
    np.testing.assert_allclose(found.theta, [[0.1, 0.2]])
    np.testing.assert_allclose(np.diag(found.covariance), [5.0, 13.0])
    correlation = (first * second).sum() / np.sqrt((first**2).sum() * (second**2).sum())
    assert found.covariance[0, 1] == pytest.approx(2.0 * 3.0 + correlation * 1.0 * 2.0)


def test_types_without_a_block_in_common_have_independent_noise() -> None:
    early, late = np.zeros((4, 3)), np.zeros((4, 3))
    early[:2], late[2:] = 1.0, 1.0
    found = type_estimates([contrasts(0.0, 1.0, 1.0), contrasts(0.0, 1.0, 1.0)], [early, late])
    assert found.covariance[0, 1] == 0.0

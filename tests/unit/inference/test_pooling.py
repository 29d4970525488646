import numpy as np
import pytest
from scipy import stats

from calibration.harness import types_of
from calibration.simulation import THREE, Machine, simulate
from calibration.simulation import settings as simulated
from tdelta.inference.fits import fit_transactions, panels, plain_shares
from tdelta.inference.pooling import PooledTypes, TypeEstimates, pool, type_estimates
from tdelta.inference.posterior import Mixture, mixture
from tdelta.inference.run_analysis import analyze_run
from tdelta.records import Decision, Metric, Trial, Verdict

from .builders import TWINS, measurement, noisy, run, settings, trial

ONE = np.ones((1, 1))


def alone(pooled: PooledTypes) -> list[Mixture]:
    """The types by themselves, whatever the mix: posteriors already."""
    variances = np.diagonal(pooled.covariances, axis1=1, axis2=2)
    pairs = zip(pooled.means.T, variances.T, strict=True)
    return [mixture(pooled.weights, mean, variance) for mean, variance in pairs]


def test_pooling_agrees_with_dense_numerical_integration() -> None:
    theta = np.array([0.03, 0.08, 0.05])
    covariance = np.diag([0.02, 0.03, 0.01]) ** 2 + 0.005**2
    ((pooled,),) = pool([TypeEstimates(theta[None], covariance, ONE)])
    first, second, third = alone(pooled)
    sampling = covariance
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
    pooled = alone(pool([TypeEstimates(np.array([[0.05, 0.06, 0.04, 0.05]]), covariance, ONE)])[0][0])
    assert np.ptp([m.mean for m in pooled]) < 0.5 * 0.02
    assert all(m.variance < 0.8 * 0.03**2 for m in pooled)


def test_a_type_that_stands_far_apart_stays_there() -> None:
    covariance = np.eye(4) * 0.01**2
    pooled = alone(pool([TypeEstimates(np.array([[0.0, 0.0, 0.0, 1.5]]), covariance, ONE)])[0][0])
    assert pooled[3].mean == pytest.approx(1.5, abs=0.01)
    assert pooled[0].mean == pytest.approx(0.0, abs=0.01)


def test_instance_effects_that_types_share_is_not_averaged_away() -> None:
    shared = np.full((6, 6), 0.01**2) + np.eye(6) * 1e-8
    pooled = alone(pool([TypeEstimates(np.full((1, 6), 0.05), shared, ONE)])[0][0])
    assert all(np.sqrt(m.variance) > 0.95 * 0.01 for m in pooled)


def test_types_of_one_run_share_their_instances_and_correlate_as_their_trials_do() -> None:
    fits = fit_transactions(panels(run(noisy(0.1, instance_effect=0.02), types=(1.0, 2.0, 0.5)), settings()))
    answers = [list(fit.answers()) for fit in fits.values()]
    found = type_estimates(answers)
    assert found.theta.shape == (1, 3)
    np.testing.assert_allclose(found.theta[0], [of[0].mixture.mean for of in answers])
    np.testing.assert_allclose(np.diag(found.covariance), [of[0].mixture.variance for of in answers])
    # every type of these trials is the same share of the same time: they say the same thing three times
    correlation = found.covariance / np.sqrt(np.outer(np.diag(found.covariance), np.diag(found.covariance)))
    assert correlation.min() > 0.98


def test_types_have_the_mean_of_their_posteriors_of_instance_effects() -> None:
    """Types whose instance effects are their own: of four rounds each alone would say another thing."""
    trials = simulate(np.random.default_rng(1), Machine(instance_sd=0.02), [0.1] * 3, rounds=4, own_luck=1.0)
    fits = fit_transactions(panels(trials, simulated()))
    posteriors = [found.log_elsewhere + found.by_tau() for fit in fits.values() for _, found in fit.parts]
    for one in posteriors[1:]:
        np.testing.assert_allclose(one - one.max(), posteriors[0] - posteriors[0].max(), atol=1e-9)


def test_conditions_correlate_through_the_plain_twins_they_share() -> None:
    fits = fit_transactions(panels(run(noisy(0.1), types=(1.0, 2.0)), settings()))
    found = type_estimates([list(fit.answers()) for fit in fits.values()])
    np.testing.assert_allclose(np.diag(found.between), 1.0)


def hostile(seed: int, *, types: int, rounds: int, blocks: int) -> list[Trial]:
    """Trials whose types scatter by themselves and against each other, by tens of percent, some stalled."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(types, 0.5)) + 1e-3
    trials = []
    for block in range(rounds * blocks):
        for place, condition in enumerate(TWINS):
            shared = rng.normal(0.0, 0.3)
            costs = weights * np.exp(shared * rng.choice([-1.0, 1.0, 2.0], types) + 0.2 * rng.standard_t(2.0, types))
            costs *= 1.0 + 9.0 * (rng.uniform(size=types) < 0.05)
            trials.append(trial(condition, block // blocks, block, measurement(types=list(costs)), place))
    return trials


@pytest.mark.parametrize("seed", range(12))
def test_the_mix_lies_between_its_types_whatever_the_trials(seed: int) -> None:
    trials = hostile(seed, types=(2, 6, 18)[seed % 3], rounds=1 + seed % 2, blocks=(1, 2, 6)[seed // 4])
    mix, types = _mix_and_types(analyze_run(trials, settings()).verdicts)
    assert min(types) <= mix <= max(types)


def _mix_and_types(verdicts: tuple[Verdict, ...]) -> tuple[float, list[float]]:
    of_time = [v for v in verdicts if v.metric is Metric.RESPONSE_TIME]
    (mix,) = (v.ratio.median for v in of_time if v.transaction == "all")
    return mix, [v.ratio.median for v in of_time if v.transaction != "all"]


def test_types_add_up_to_the_mix_by_their_shares_of_the_plain_time() -> None:
    """One round, noisy, with instances that differ: strongly correlated types extrapolate without the mix."""
    trials = simulate(
        np.random.default_rng(5), Machine(instance_sd=0.03, trial_sd=0.1), [0.0] * 18, rounds=1, blocks=2,
        conditions=THREE, own_luck=0.3,
    )  # fmt: skip
    mix, types = _mix_and_types(analyze_run(trials, simulated(THREE)).verdicts)
    (panel,) = panels(trials, simulated(THREE))
    shares = plain_shares(panel, [f"type{number}" for number in sorted(range(18), key=str)])
    assert shares @ types == pytest.approx(mix, rel=1e-6)


def test_a_type_is_never_slower_or_faster_where_the_mix_has_too_little() -> None:
    log_ratios = [1.0, 1.2, -1.0]
    trials = simulate(np.random.default_rng(1), Machine(trial_sd=0.01), log_ratios, rounds=1, blocks=3)
    assert {v.decision for v in types_of(trials, simulated())} == {Decision.UNDECIDED}

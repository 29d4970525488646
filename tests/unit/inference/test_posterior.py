import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tdelta.inference.posterior import Mixture, as_posterior, mixture, posterior, posterior_without_speedup, prior_alone


def normal(mean: float, sd: float) -> Mixture:
    return Mixture(np.array([1.0]), np.array([mean]), np.array([sd]))


@given(st.floats(-1.0, 2.0), st.floats(1e-4, 0.3))
def test_quantiles_of_a_normal_are_those_of_scipy(mean: float, sd: float) -> None:
    found = as_posterior(normal(mean, sd))
    for p in (0.005, 0.025, 0.5, 0.975, 0.995):
        assert found.quantile(p) == pytest.approx(stats.norm.ppf(p, mean, sd), abs=2e-3 * sd)


def test_the_hdi_is_the_shortest_interval_of_the_ratio_not_of_its_logarithm() -> None:
    sd = 0.3
    low, high = as_posterior(normal(0.0, sd)).ratio_hdi(0.95)
    density = stats.lognorm(sd).pdf
    assert density(low) == pytest.approx(density(high), rel=0.03)
    assert stats.lognorm(sd).cdf(high) - stats.lognorm(sd).cdf(low) == pytest.approx(0.95, abs=1e-4)
    assert high - low < np.exp(1.96 * sd) - np.exp(-1.96 * sd)


def test_prior_times_data_agrees_with_dense_numerical_integration() -> None:
    data = Mixture(np.array([0.6, 0.4]), np.array([0.9, 0.95]), np.array([0.1, 0.5]))
    theta = np.linspace(-8.0, 8.0, 400_001)
    density = sum(w * stats.norm.pdf(theta, m, s) for w, m, s in zip(data.weights, data.means, data.sds, strict=True))
    density = density * stats.t.pdf(theta / 0.5, 3)
    cumulative = np.cumsum(density) / density.sum()
    for p in (0.01, 0.025, 0.25, 0.5, 0.75, 0.975, 0.99):
        expected = theta[np.searchsorted(cumulative, p)]
        assert posterior(data).quantile(p) == pytest.approx(expected, abs=1e-3)


def test_merging_components_keeps_mean_variance_and_tails() -> None:
    rng = np.random.default_rng(4)
    weights, means = rng.dirichlet(np.ones(900)), rng.normal(0.05, 1e-3, 900)
    variances = np.exp(rng.normal(-8.0, 1.5, 900))
    merged = mixture(weights, means, variances)
    assert len(merged.weights) <= 64
    assert merged.mean == pytest.approx(weights @ means, abs=1e-8)
    assert merged.variance == pytest.approx(weights @ (variances + (means - weights @ means) ** 2), rel=1e-4)
    whole = Mixture(weights, means, np.sqrt(variances))
    for p in (0.005, 0.025, 0.5, 0.975, 0.995):
        wide = np.sqrt(merged.variance)
        assert as_posterior(merged).quantile(p) == pytest.approx(as_posterior(whole).quantile(p), abs=0.01 * wide)


@pytest.mark.parametrize("mean", [-0.5, -0.05, -1e-6, 1e-6, 0.01, 0.05, 0.8])
def test_without_a_speedup_is_the_posterior_cut_off_at_one(mean: float) -> None:
    sd = 0.02
    found = posterior_without_speedup(normal(mean, sd))
    theta = np.linspace(0.0, max(mean, 0.0) + 10 * sd, 400_001)
    log_density = stats.norm.logpdf(theta, mean, sd) + stats.t.logpdf(theta / 0.5, 3)
    density = np.exp(log_density - log_density.max())
    cumulative = np.cumsum(density) / density.sum()
    for p in (0.05, 0.5, 0.95):
        assert found.quantile(p) == pytest.approx(theta[np.searchsorted(cumulative, p)], abs=0.01 * sd)
    assert found.estimate(0.02).hdi95[0] >= 1.0


def test_the_masses_about_the_tolerance_are_those_of_the_posterior_and_sum_to_one() -> None:
    found = as_posterior(normal(0.02, 0.01)).estimate(0.02)
    above, below = stats.norm.sf(np.log(1.02), 0.02, 0.01), stats.norm.cdf(np.log(0.98), 0.02, 0.01)
    assert found.mass_above_tolerance == pytest.approx(above, abs=1e-4)
    assert found.mass_below_tolerance == pytest.approx(below, abs=1e-4)
    assert found.mass_above_tolerance + found.mass_in_tolerance + found.mass_below_tolerance == pytest.approx(1.0)


def test_a_tolerance_of_all_the_cost_leaves_nothing_below_it() -> None:
    assert as_posterior(normal(-3.0, 0.1)).estimate(1.0).mass_below_tolerance == 0.0


def test_with_no_data_the_answer_is_the_prior() -> None:
    assert prior_alone().quantile(0.975) == pytest.approx(0.5 * stats.t.ppf(0.975, 3), rel=0.01)


def test_the_prior_leaves_software_aes_on_a_scan_where_it_was_measured() -> None:
    assert posterior(normal(1.89, 0.02)).quantile(0.5) == pytest.approx(1.89, abs=0.001)

import numpy as np
import pytest
from scipy import stats

from tdelta.inference.observed.curves import LogCurve, log_ratio, plane, plane_of_normals, sinh_spaced, under, widened
from tdelta.inference.observed.settings import DEFAULT, NO_SPEEDUP, NormalPrior

QUANTILES = (0.005, 0.025, 0.25, 0.5, 0.75, 0.975, 0.995)


def normal(mean: float, sd: float) -> LogCurve:
    at = sinh_spaced(mean, sd, mean - 8.0 * sd, mean + 8.0 * sd, 401)
    return LogCurve(at, -0.5 * ((at - mean) / sd) ** 2)


@pytest.mark.parametrize(("first", "second"), [(0.01, 0.02), (0.3, 0.001), (1e-5, 0.1), (0.02, 0.02)])
@pytest.mark.parametrize("is_inverse", [False, True])
def test_a_ratio_of_two_lognormal_means_is_lognormal(first: float, second: float, is_inverse: bool) -> None:
    found = log_ratio(normal(1.0, first), normal(1.3, second), is_inverse=is_inverse).posterior()
    expected = stats.norm(-0.3 if is_inverse else 0.3, np.hypot(first, second))
    for p in QUANTILES:
        assert found.quantile(p) == pytest.approx(expected.ppf(p), abs=2e-3 * expected.std())


def test_the_difference_agrees_with_many_draws() -> None:
    found = plane(normal(2.0, 0.1), normal(2.1, 0.2), None, is_inverse=False).difference()
    rng = np.random.default_rng(1)
    draws = np.exp(rng.normal(2.1, 0.2, 4_000_000)) - np.exp(rng.normal(2.0, 0.1, 4_000_000))
    for p in QUANTILES:
        assert found.quantile(p) == pytest.approx(np.quantile(draws, p), abs=0.006 * draws.std())
    low, high = found.hdi(0.95)
    sorted_draws = np.sort(draws)
    held = int(0.95 * len(draws))
    shortest = int(np.argmin(sorted_draws[held:] - sorted_draws[:-held]))
    assert low == pytest.approx(sorted_draws[shortest], abs=0.03 * draws.std())
    assert high == pytest.approx(sorted_draws[shortest + held], abs=0.03 * draws.std())


def test_the_plane_gives_back_the_means_it_was_made_of() -> None:
    first, second = plane(normal(2.0, 0.1), normal(2.1, 0.2), None, is_inverse=False).means()
    for p in QUANTILES:
        assert first.quantile(p) == pytest.approx(np.exp(stats.norm.ppf(p, 2.0, 0.1)), rel=5e-4)
        assert second.quantile(p) == pytest.approx(np.exp(stats.norm.ppf(p, 2.1, 0.2)), rel=1e-3)


def test_a_mixture_on_the_plane_keeps_narrow_and_wide_parts() -> None:
    weights, means = np.array([0.5, 0.5]), np.zeros((2, 2))
    covariances = np.array([np.eye(2) * 1e-6, np.eye(2) * 1e-2])
    found = plane_of_normals(weights, means, covariances, DEFAULT, is_inverse=False).difference()
    assert found.quantile(0.75) < 0.02
    assert found.quantile(0.995) > 0.2


@pytest.mark.parametrize(("mean", "sd"), [(0.03, 0.02), (-0.1, 0.02), (0.2, 0.001)])
def test_a_normal_prior_pulls_by_its_precision(mean: float, sd: float) -> None:
    found = under(normal(0.05, 0.03), NormalPrior(mean, sd))
    precision = 1 / 0.03**2 + 1 / sd**2
    centre, spread = (0.05 / 0.03**2 + mean / sd**2) / precision, precision**-0.5
    assert found.quantile(0.5) == pytest.approx(centre, abs=0.03 * spread)
    assert found.quantile(0.975) == pytest.approx(centre + 1.96 * spread, abs=0.06 * spread)


@pytest.mark.parametrize("mean", [0.05, 0.001, -0.001, -0.05, -0.15])
def test_no_speedup_is_the_posterior_cut_off_at_one(mean: float) -> None:
    sd = 0.03
    found = under(normal(mean, sd), NO_SPEEDUP)
    tail = stats.norm.sf(0.0, mean, sd)
    for p in (0.05, 0.5, 0.95):
        expected = stats.norm.isf(tail * (1 - p), mean, sd)
        assert found.quantile(p) == pytest.approx(expected, abs=0.02 * sd)
    assert found.estimate(0.02).hdi95[0] >= 1.0


@pytest.mark.parametrize("sd", [0.0005, 0.01, 0.2])
def test_a_stated_scatter_of_runs_is_a_convolution_with_it(sd: float) -> None:
    weights, sds = np.ones(1), np.array([np.sqrt(2.0) * 0.03])
    found = widened(normal(0.05, sd), weights, sds).posterior()
    variance = sd**2 + float(weights @ sds**2)
    theta = np.linspace(0.05 - 10 * np.sqrt(variance), 0.05 + 10 * np.sqrt(variance), 20_001)
    density = sum(w * stats.norm.pdf(theta, 0.05, np.hypot(sd, s)) for w, s in zip(weights, sds, strict=True))
    cumulative = np.cumsum(density) / np.sum(density)
    for p in (0.005, 0.025, 0.5, 0.975, 0.995):
        expected = float(np.interp(p, cumulative, theta))
        assert found.quantile(p) == pytest.approx(expected, abs=0.02 * np.sqrt(variance))


def test_two_single_runs_differ_by_what_both_scatter() -> None:
    weights, sds = np.ones(1), np.array([np.sqrt(2.0) * 0.03])
    assert weights.sum() == pytest.approx(1.0)
    assert float(weights @ sds**2) == pytest.approx(2 * 0.03**2)


def test_means_that_hang_together_leave_their_difference_surer() -> None:
    means, weights = np.array([[0.0, 0.1]]), np.ones(1)
    widths = []
    for together in (0.0, 8e-4):
        covariances = np.array([[[1e-3, together], [together, 1e-3]]])
        low, high = plane_of_normals(weights, means, covariances, DEFAULT, is_inverse=False).difference().hdi(0.95)
        widths.append(high - low)
    assert widths[1] == pytest.approx(widths[0] * np.sqrt(0.2), rel=0.1)


def test_beyond_its_grid_a_curve_goes_on_falling() -> None:
    curve = normal(0.0, 1.0)
    far = curve.interpolated(np.array([-100.0, -8.0, 8.0, 100.0]))
    assert far[0] < far[1]
    assert far[3] < far[2]


def test_the_default_prior_leaves_software_aes_on_a_scan_where_it_was_measured() -> None:
    assert under(normal(1.89, 0.02), DEFAULT).quantile(0.5) == pytest.approx(1.89, abs=0.002)

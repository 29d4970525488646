"""Quantiles and incomplete integrals, compared with SciPy, closed forms and numerical integration."""

import numpy as np
import pytest
from scipy import special, stats

from tdelta.inference.quantiles import (
    beta_quantile,
    chi_square_quantile,
    clopper_pearson,
    gamma_quantile,
    log_incomplete,
    log_interval,
    stirling_excess,
    t_quantile,
    t_reach,
)

SHAPES = np.array([0.01, 0.3, 1.0, 2.0, 5.0, 9.99, 10.0, 47.0, 1e3, 1e5])


def log_between(shape: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return log_interval(*log_incomplete(shape, low), *log_incomplete(shape, high))


def test_stirlings_excess_is_what_log_gamma_leaves() -> None:
    a = np.concatenate([np.geomspace(1e-3, 1e3, 300), [1.0, 2.0, 9.9999999, 10.0]])
    assert stirling_excess(a) == pytest.approx(a * np.log(a) - a - special.gammaln(a), abs=2e-12)


def test_stirlings_excess_does_not_cancel_at_large_shapes() -> None:
    assert stirling_excess(np.array([1e12]))[0] == pytest.approx(0.5 * np.log(1e12 / (2 * np.pi)), rel=1e-14)


@pytest.mark.parametrize(
    ("shape", "upper"),
    [
        (1.0, lambda x: np.exp(-x)),
        (2.0, lambda x: np.exp(-x) * (1 + x)),
        (5.0, lambda x: np.exp(-x) * (1 + x + x**2 / 2 + x**3 / 6 + x**4 / 24)),
    ],
)
def test_whole_shapes_have_their_closed_forms(shape: float, upper: object) -> None:
    x = np.geomspace(1e-3, 300.0, 200)
    log_p, log_q = log_incomplete(np.array(shape), x)
    expected = upper(x)
    assert np.exp(log_q) == pytest.approx(expected, rel=1e-12)
    assert np.exp(log_p)[x > 1] == pytest.approx((1.0 - expected)[x > 1], rel=1e-10)


def test_both_tails_agree_with_scipy_over_all_shapes() -> None:
    z = np.linspace(-8.0, 8.0, 161)
    x = np.maximum(SHAPES[:, None] + np.sqrt(SHAPES)[:, None] * z, 1e-9 * SHAPES[:, None])
    log_p, log_q = log_incomplete(SHAPES[:, None], x)
    expected_p, expected_q = special.gammainc(SHAPES[:, None], x), special.gammaincc(SHAPES[:, None], x)
    seen = expected_p > 1e-290
    assert np.exp(log_p)[seen] == pytest.approx(expected_p[seen], rel=2e-9)
    assert np.exp(log_q) == pytest.approx(expected_q, rel=2e-9)


def test_tails_that_no_double_holds_are_known_by_their_logs() -> None:
    _, log_q = log_incomplete(np.array(2.0), np.array(5000.0))
    assert log_q == pytest.approx(-5000.0 + np.log(5001.0), rel=1e-13)
    log_p, _ = log_incomplete(np.array(200.0), np.array(1e-6))
    assert log_p == pytest.approx(200.0 * np.log(1e-6) - special.gammaln(201.0), abs=2e-6)


def test_open_ends_are_nothing_and_everything() -> None:
    log_p, log_q = log_incomplete(np.array(2.5), np.array([0.0, np.inf]))
    assert np.exp(log_p).tolist() == [0.0, 1.0]
    assert np.exp(log_q).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("shape", [0.4, 3.0, 400.0])
def test_narrow_bins_keep_their_mass_in_either_tail(shape: float) -> None:
    edges = shape * np.exp(np.linspace(-1.0, 1.5, 200))
    found = log_between(np.array(shape), edges[:-1], edges[1:])
    middle, width = np.sqrt(edges[1:] * edges[:-1]), np.log(edges[1] / edges[0])
    x = middle[:, None] * np.exp(width * np.linspace(-0.5, 0.5, 4001))
    log_density = stats.gamma.logpdf(x, shape)
    top = log_density.max(axis=1)
    expected = top + np.log(np.trapezoid(np.exp(log_density - top[:, None]), x, axis=1))
    assert found == pytest.approx(expected, abs=1e-5)


def test_a_mass_is_accurate_at_both_ends() -> None:
    def beyond(log_p: float) -> float:
        """Of what lies beyond a point, from below."""
        whole, none = np.array([0.0]), np.array([-np.inf])
        return float(log_interval(np.array([log_p]), whole, whole, none)[0])

    assert beyond(-1e-20) == pytest.approx(np.log(1e-20))
    assert beyond(-50.0) == pytest.approx(-np.exp(-50.0))
    assert (beyond(-np.inf), beyond(0.0)) == (0.0, -np.inf)


TAILS = [1e-300, 1e-100, 1e-20, 1e-9, 0.001, 0.025, 0.3]
PROBABILITIES = np.array([*TAILS, 0.5, 0.7, 0.9, 0.975, 0.999, 1 - 1e-9, 1 - 1e-15])


def test_quantiles_of_t_are_scipys() -> None:
    df = np.concatenate([np.geomspace(0.3, 1e6, 40), [1.0, 2.0]])[:, None]
    p = PROBABILITIES[4:]
    assert t_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-8)
    assert t_quantile(0.25, np.array([1.0, 2.0])) == pytest.approx([-1.0, -np.sqrt(2.0) / np.sqrt(3.0)], rel=1e-14)


def test_far_tails_of_t_are_powers_of_their_distance() -> None:
    # For df = 1 the quantile is a cotangent, for 2 algebraic.
    q = np.array([1e-300, 1e-100, 1e-20, 1e-9, 1e-3])
    assert t_quantile(q, 1.0) == pytest.approx(-1.0 / np.tan(np.pi * q), rel=1e-12)
    assert t_quantile(q, 2.0) == pytest.approx((2.0 * q - 1.0) / np.sqrt(2.0 * q * (1.0 - q)), rel=1e-12)


@pytest.mark.parametrize("mass", [0.5, 0.95, 0.99])
def test_the_reach_of_t_holds_its_mass(mass: float) -> None:
    for df in (1.0, 1.5, 7.3, 196.0, 1e4, 1e8):
        assert t_reach(df, mass) == pytest.approx(stats.t.ppf(0.5 + mass / 2, df), rel=2e-8)


def test_quantiles_of_a_gamma_are_scipys() -> None:
    shape = np.concatenate([np.geomspace(0.01, 1e5, 31), [0.5, 1.0, 2.0]])[:, None]
    expected = special.gammaincinv(shape, PROBABILITIES)
    held = np.asarray(expected > 1e-290)
    assert gamma_quantile(PROBABILITIES, shape)[held] == pytest.approx(expected[held], rel=1e-9)
    assert (gamma_quantile(PROBABILITIES, shape)[~held] <= 1e-290).all()


@pytest.mark.parametrize("shape", [1e7, 1e8])
def test_quantiles_of_a_large_gamma_are_nearly_a_normals(shape: float) -> None:
    # Cornish and Fisher's expansion; SciPy's own is off by 5e-6 out there.
    z = stats.norm.ppf(PROBABILITIES[2:])
    expected = shape + z * np.sqrt(shape) + (z**2 - 1) / 3 + (z**3 - 7 * z) / (36 * np.sqrt(shape))
    assert gamma_quantile(PROBABILITIES[2:], shape) == pytest.approx(expected, rel=1e-11)


def test_quantiles_of_a_chi_square_are_scipys() -> None:
    df = np.array([0.5, 1.0, 5.0, 12.5, 60.0, 400.0, 1e5])[:, None]
    p = PROBABILITIES[3:]
    assert chi_square_quantile(p, df) == pytest.approx(stats.chi2.ppf(p, df), rel=1e-9)


def test_quantiles_of_a_beta_are_scipys() -> None:
    sizes = np.array([0.1, 0.5, 1.0, 3.0, 50.0, 1e3, 1e5])
    a, b = sizes[:, None, None], sizes[:, None]
    p = PROBABILITIES[3:]
    expected = special.betaincinv(a, b, p)
    assert beta_quantile(p, a, b) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("count", "of"), [(0, 14), (14, 14), (1, 14), (13, 14), (4, 15), (0, 1), (3, 10**6)])
@pytest.mark.parametrize("mass", [0.95, 0.99])
def test_the_interval_of_a_share_is_the_exact_one(count: int, of: int, mass: float) -> None:
    expected = stats.binomtest(count, of).proportion_ci(mass, "exact")
    assert clopper_pearson(count, of, mass) == pytest.approx((expected.low, expected.high), rel=1e-8)


def test_without_trials_any_share_is_possible() -> None:
    assert clopper_pearson(0, 0) == (0.0, 1.0)


def test_the_ends_of_a_line_are_the_quantiles_of_nothing_and_everything() -> None:
    ends = np.array([0.0, 1.0])
    assert t_quantile(ends, 3.0).tolist() == [-np.inf, np.inf]
    assert gamma_quantile(ends, 3.0).tolist() == [0.0, np.inf]
    assert beta_quantile(ends, 3.0, 2.0).tolist() == [0.0, 1.0]
    assert t_quantile(0.5, 3.0) == 0.0


def test_what_has_no_answer_is_not_a_number() -> None:
    wrong = np.array([-0.1, 1.1, np.nan])
    assert np.isnan([t_quantile(wrong, 3.0), gamma_quantile(wrong, 3.0), beta_quantile(wrong, 3.0, 2.0)]).all()
    wrong = np.array([0.0, -1.0, np.nan, np.inf])
    assert np.isnan([t_quantile(0.1, wrong), gamma_quantile(0.1, wrong), beta_quantile(0.1, wrong, 2.0)]).all()
    assert np.isnan(log_incomplete(wrong, np.array(1.0))).all()
    assert np.isnan(stirling_excess(wrong[:3])).all()

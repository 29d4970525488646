from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from tdelta.inference.observed.special import (
    log_between,
    log_complement,
    log_gamma,
    log_incomplete,
    stirling_excess,
)

SHAPES = np.array([0.01, 0.3, 1.0, 2.0, 5.0, 9.99, 10.0, 47.0, 1e3, 1e5])


def test_log_gamma_is_the_log_of_the_gamma_function() -> None:
    x = np.concatenate([np.geomspace(1e-3, 1e6, 300), [1.0, 2.0, 9.9999999, 10.0]])
    assert log_gamma(x) == pytest.approx(special.gammaln(x), rel=1e-13, abs=1e-13)
    assert np.exp(log_gamma(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))) == pytest.approx([1, 1, 2, 6, 24], rel=1e-13)


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
    assert callable(upper)
    expected = upper(x)
    assert np.exp(log_q) == pytest.approx(expected, rel=1e-12)
    assert np.exp(log_p)[x > 1] == pytest.approx((1.0 - expected)[x > 1], rel=1e-10)


def test_a_half_is_the_error_function() -> None:
    x = np.geomspace(1e-6, 30.0, 100)
    log_p, log_q = log_incomplete(np.array(0.5), x)
    assert np.exp(log_p) == pytest.approx(special.erf(np.sqrt(x)), rel=1e-12)
    assert np.exp(log_q) == pytest.approx(special.erfc(np.sqrt(x)), rel=1e-11)


def test_both_tails_agree_with_scipy_over_all_shapes() -> None:
    z = np.linspace(-8.0, 8.0, 161)
    x = np.maximum(SHAPES[:, None] + np.sqrt(SHAPES)[:, None] * z, 1e-9 * SHAPES[:, None])
    log_p, log_q = log_incomplete(SHAPES[:, None], x)
    expected_p, expected_q = special.gammainc(SHAPES[:, None], x), special.gammaincc(SHAPES[:, None], x)
    seen = expected_p > 1e-290
    assert np.exp(log_p)[seen] == pytest.approx(expected_p[seen], rel=2e-9)
    assert np.exp(log_q) == pytest.approx(expected_q, rel=2e-9)


def test_numerical_integration_gives_the_same() -> None:
    shape, edges = 3.7, np.array([0.5, 1.0, 4.0, 9.0])
    log_p, _ = log_incomplete(np.array(shape), edges)
    for edge, found in zip(edges, np.exp(log_p), strict=True):
        x = np.linspace(0.0, edge, 200_001)[1:]
        density = np.exp((shape - 1.0) * np.log(x) - x - special.gammaln(shape))
        assert found == pytest.approx(np.trapezoid(density, x), rel=1e-6)


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


def test_the_bins_of_a_line_sum_to_one() -> None:
    edges = np.concatenate([[0.0], np.geomspace(0.1, 40.0, 50), [np.inf]])
    masses = np.exp(log_between(np.array([0.7, 6.0])[:, None], edges[:-1], edges[1:]))
    assert masses.sum(axis=1) == pytest.approx(1.0, abs=1e-12)


def test_a_complement_is_accurate_at_both_ends() -> None:
    assert log_complement(np.array([-1e-20]))[0] == pytest.approx(np.log(1e-20))
    assert log_complement(np.array([-50.0]))[0] == pytest.approx(-np.exp(-50.0))
    assert log_complement(np.array([-np.inf, 0.0])).tolist() == [0.0, -np.inf]

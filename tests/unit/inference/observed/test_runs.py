from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tdelta.inference.observed.runs import fit_runs
from tdelta.inference.observed.settings import DEFAULT


def of(values: list[float], variance: float = 0.0) -> list[tuple[float, float]]:
    return [(x, variance) for x in values]


@pytest.mark.parametrize("runs", [2, 3, 5])
@pytest.mark.parametrize("scatter", [0.003, 0.03, 0.1])
def test_runs_without_errors_of_their_own_give_nearly_the_t_of_two_samples(runs: int, scatter: float) -> None:
    rng = np.random.default_rng(runs)
    first, second = rng.normal(0.0, scatter, runs), rng.normal(0.0, scatter, runs)
    found = fit_runs(of(list(first)), of(list(second))).log_ratio(is_inverse=False).posterior()
    pooled = np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / 2)
    expected = stats.t(2 * runs - 2, second.mean() - first.mean(), pooled * np.sqrt(2 / runs))
    assert found.quantile(0.5) == pytest.approx(expected.mean(), abs=0.05 * expected.ppf(0.975))
    wide = found.quantile(0.975) - found.quantile(0.025)
    assert wide == pytest.approx(2 * (expected.ppf(0.975) - expected.mean()), rel=0.12)


def test_where_the_runs_own_errors_explain_all_the_ratio_is_as_sure_as_they_are() -> None:
    rng = np.random.default_rng(3)
    runs = [list(rng.normal(0.0, 0.05, 12)) for _ in range(2)]
    found = fit_runs(of(runs[0], 0.05**2), of(runs[1], 0.05**2)).log_ratio(is_inverse=False).posterior()
    expected = 0.05 * np.sqrt(2 / 12)
    assert found.quantile(0.84) - found.quantile(0.16) == pytest.approx(2 * expected, rel=0.2)


def test_a_longer_run_weighs_more_only_as_long_as_runs_agree() -> None:
    runs = [(0.0, 1e-8), (0.3, 0.04)]
    alike = fit_runs(of([0.0, 0.0, 0.0], 1e-6), runs).log_ratio(is_inverse=False).posterior()
    unlike = fit_runs(of([-0.5, 0.0, 0.5], 1e-6), runs).log_ratio(is_inverse=False).posterior()
    assert abs(alike.quantile(0.5)) < 0.05
    assert unlike.quantile(0.5) > 0.08


def test_throughput_is_turned_over() -> None:
    fit = fit_runs(of([0.0, 0.01, -0.01]), of([0.1, 0.11, 0.09]))
    assert fit.log_ratio(is_inverse=True).median == pytest.approx(-fit.log_ratio(is_inverse=False).median, abs=1e-4)


def test_the_plane_has_both_means() -> None:
    fit = fit_runs(of([0.0, 0.01, -0.01]), of([0.1, 0.11, 0.09]))
    first, second = fit.plane(DEFAULT, is_inverse=False).means()
    assert first.quantile(0.5) == pytest.approx(1.0, abs=1e-3)
    assert second.quantile(0.5) == pytest.approx(np.exp(0.1), abs=1e-3)


def test_what_runs_differ_by_is_found() -> None:
    rng = np.random.default_rng(5)
    fit = fit_runs(of(list(rng.normal(0.0, 0.04, 15))), of(list(rng.normal(0.0, 0.04, 15))))
    assert fit.tau_median == pytest.approx(0.04, rel=0.3)


def test_identical_runs_are_answered_without_complaint() -> None:
    fit = fit_runs(of([1.0, 1.0]), of([1.0, 1.0]))
    found = fit.log_ratio(is_inverse=False).posterior()
    assert abs(found.quantile(0.5)) < 1e-6
    assert np.isfinite(found.quantile(0.975))

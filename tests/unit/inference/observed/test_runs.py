import numpy as np
import pytest
from scipy import stats

from tdelta.inference.observed.runs import fit_runs
from tdelta.inference.observed.settings import DEFAULT


def of(values: list[float], variance: float = 0.0) -> list[tuple[float, float]]:
    return [(x, variance) for x in values]


@pytest.mark.parametrize("runs", [2, 3, 5])
@pytest.mark.parametrize("scatter", [0.06, 0.1])
def test_runs_that_clearly_differ_give_nearly_the_t_of_two_samples(runs: int, scatter: float) -> None:
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


def test_every_run_of_a_side_weighs_the_same_whatever_its_own_error() -> None:
    found = fit_runs(of([0.0, 0.0, 0.0], 1e-6), [(0.0, 1e-8), (0.3, 0.04)]).log_ratio(is_inverse=False).posterior()
    assert found.quantile(0.5) == pytest.approx(0.15, abs=0.01)


def test_two_runs_that_happen_to_agree_are_no_proof_that_runs_agree() -> None:
    found = fit_runs(of([0.0, 0.001]), of([0.0005])).log_ratio(is_inverse=False).posterior()
    assert found.estimate(0.02).hdi95[1] > 1.02


def test_rounding_is_an_error_that_the_runs_of_a_side_share() -> None:
    alike = of([0.0, 0.0, 0.0]), of([0.03, 0.03, 0.03])
    exact = fit_runs(*alike).log_ratio(is_inverse=False).posterior()
    printed = fit_runs(*alike, rounding=(0.0077, 0.0075)).log_ratio(is_inverse=False).posterior()
    assert exact.quantile(0.975) - exact.quantile(0.025) < 0.002
    low, high = printed.quantile(0.025), printed.quantile(0.975)
    assert low < 0.03 - 0.0077 < 0.03 + 0.0077 < high


def test_a_drift_in_a_known_order_is_no_effect_of_the_condition() -> None:
    drifting = 0.01 * np.arange(10) + 0.002 * np.random.default_rng(1).normal(size=10)
    places = list(map(float, range(10)))
    blind = fit_runs(of(list(drifting[:5])), of(list(drifting[5:]))).log_ratio(is_inverse=False).posterior()
    seen = fit_runs(of(list(drifting[:5])), of(list(drifting[5:])), (places[:5], places[5:]))
    ratio = seen.log_ratio(is_inverse=False).posterior()
    assert blind.quantile(0.025) > 0.02
    assert ratio.quantile(0.025) < 0.0 < ratio.quantile(0.975)
    assert seen.drift.is_visible
    assert seen.drift.a_run == pytest.approx(0.01, abs=0.002)


def test_runs_that_took_turns_are_as_sure_with_their_order_as_without() -> None:
    values = 0.01 * np.random.default_rng(2).normal(size=12)
    sides = of(list(values[::2])), of(list(values[1::2]))
    widths = []
    for places in (None, (list(map(float, range(0, 12, 2))), list(map(float, range(1, 12, 2))))):
        found = fit_runs(*sides, places).log_ratio(is_inverse=False).posterior()
        widths.append(found.quantile(0.975) - found.quantile(0.025))
    assert widths[1] == pytest.approx(widths[0], rel=0.25)


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

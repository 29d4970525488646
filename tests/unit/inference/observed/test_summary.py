import numpy as np
import pytest

from tdelta.inference.observed.fitting import fit_run
from tdelta.inference.observed.summary import fit_summary, pooled
from tdelta.records import NoteCode, Summary

from .observations import ORIGIN, gamma_values, group, summary


def test_the_mean_is_known_to_its_standard_error() -> None:
    fitted = fit_summary(Summary(group("plain"), ORIGIN, 5000, 12.0, 6.0))
    assert fitted is not None
    curve = fitted.mean_curve()
    assert np.exp(curve.median) == pytest.approx(12.0, rel=2e-3)
    assert curve.sd == pytest.approx(0.5 / np.sqrt(5000), rel=0.02)


def test_of_a_large_sample_the_posterior_is_that_of_its_likelihood_on_a_dense_grid() -> None:
    given = Summary(group("plain"), ORIGIN, 400, 3.0, 2.4)
    fitted = fit_summary(given)
    assert fitted is not None
    log_mean, log_sd = np.log(3.0) + np.linspace(-0.4, 0.5, 901), np.log(2.4) + np.linspace(-1.0, 1.0, 801)
    m, s = np.exp(log_mean)[:, None], np.exp(log_sd)[None, :]
    k = (3.0 / 2.4) ** 2
    correlation = 2 / np.sqrt(k) / np.sqrt(2 + 6 / k)
    x = (3.0 - m) / (s / 20)
    y = (np.log(2.4**2) - np.log(s**2)) / np.sqrt((2 + 6 / k) / 400)
    log_density = -0.5 * (x**2 - 2 * correlation * x * y + y**2) / (1 - correlation**2) - np.log(s)
    log_density = log_density - 0.5 * ((np.log(s / m) - np.log(0.6)) / 1.5) ** 2
    marginal = np.exp(log_density - log_density.max()).sum(axis=1)
    cumulative = (np.cumsum(marginal) - 0.5 * marginal) / marginal.sum()
    found = fitted.mean_curve().posterior()
    wide = found.quantile(0.975) - found.quantile(0.025)
    for p in (0.005, 0.025, 0.5, 0.975, 0.995):
        assert found.quantile(p) == pytest.approx(float(np.interp(p, cumulative, log_mean)), abs=0.005 * wide)


@pytest.mark.parametrize(("count", "mean", "sd"), [(1, 3.0, 1.0), (100, 3.0, 0.0), (100, 0.0, 1.0), (100, 3.0, None)])
def test_what_allows_no_interval_gets_none(count: int, mean: float, sd: float | None) -> None:
    assert fit_summary(Summary(group("plain"), ORIGIN, count, mean, sd)) is None


def test_parts_of_a_run_are_put_together_exactly() -> None:
    values = gamma_values(3.0, 0.8, 1000, 1)
    parts = [summary(group("plain"), part) for part in np.array_split(values, 7)]
    whole = pooled(parts)
    assert whole.count == 1000
    assert whole.mean == pytest.approx(values.mean())
    assert whole.sd == pytest.approx(values.std(ddof=1))


def test_few_values_are_told() -> None:
    notes = fit_run(Summary(group("plain"), ORIGIN, 12, 3.0, 1.0)).notes
    assert (NoteCode.FEW_VALUES, (12.0,)) in [(note.code, note.figures) for note in notes]


def test_a_summary_says_that_it_cannot_see_dependence() -> None:
    assert fit_run(Summary(group("plain"), ORIGIN, 1200, 3.0, 1.0)).notes[0].code is NoteCode.SUMMARY_WITHOUT_ORDER


@pytest.mark.parametrize("cv", [0.001, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("count", [2, 10, 10**8])
def test_no_count_and_no_spread_breaks_it(cv: float, count: int) -> None:
    fitted = fit_summary(Summary(group("plain"), ORIGIN, count, 1e-3, cv * 1e-3))
    assert fitted is not None
    curve = fitted.mean_curve()
    assert np.isfinite(curve.log_density).all()
    assert curve.sd > 0.0

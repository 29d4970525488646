import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from tdelta.inference.observed.fitting import fit_run
from tdelta.inference.observed.gamma import PublishedMeans, fewer_bins, fit_bins, fit_samples, moments, shape_of_gap
from tdelta.inference.posterior import FloatArray
from tdelta.records import Bins, NoteCode, Samples

from .observations import binned, gamma_values, group, log_bins, samples

QUANTILES = (0.005, 0.025, 0.25, 0.5, 0.75, 0.975, 0.995)


def dense_quantiles(values: FloatArray, probabilities: tuple[float, ...]) -> list[float]:
    """Of the log mean: the plain likelihood of all values, on a dense grid wide enough for a few of them."""
    log_mean = np.log(values.mean()) + np.linspace(-2.5, 4.0, 2601)
    log_shape = np.linspace(-5.0, 8.0, 1301)
    shape, rate = np.exp(log_shape)[None, :], np.exp(log_shape[None, :] - log_mean[:, None])
    count, total, total_log = len(values), values.sum(), np.log(values).sum()
    log_density = count * (shape * np.log(rate) - special.gammaln(shape)) + (shape - 1.0) * total_log - rate * total
    log_density = log_density + stats.norm.logpdf(-0.5 * log_shape, np.log(0.6), 1.5)
    marginal = np.exp(log_density - log_density.max()).sum(axis=1)
    cumulative = np.cumsum(marginal) / marginal.sum()
    return [float(np.interp(p, cumulative, log_mean)) for p in probabilities]


@pytest.mark.parametrize(("count", "cv"), [(6, 0.3), (15, 1.5), (40, 0.6)])
def test_the_mean_of_single_values_agrees_with_dense_integration(count: int, cv: float) -> None:
    values = gamma_values(7.0, cv, count, 3)
    fitted = fit_samples(samples(group("plain"), values))
    assert fitted is not None
    found = fitted.mean_curve().posterior()
    wide = found.quantile(0.975) - found.quantile(0.025)
    assert [found.quantile(p) for p in QUANTILES] == pytest.approx(dense_quantiles(values, QUANTILES), abs=0.006 * wide)


@given(st.floats(1e-6, 1e6), st.floats(0.02, 3.0), st.integers(5, 2000), st.integers(0, 10))
def test_the_unit_of_the_values_changes_nothing_but_the_unit(unit: float, cv: float, count: int, seed: int) -> None:
    values = gamma_values(1.0, cv, count, seed) + 1e-12
    plain, scaled = (fit_samples(samples(group("plain"), x)) for x in (values, unit * values))
    assert plain is not None
    assert scaled is not None
    one, other = plain.mean_curve(), scaled.mean_curve()
    assert other.median - one.median == pytest.approx(np.log(unit), abs=1e-5 + 0.01 * one.sd)
    assert other.sd == pytest.approx(one.sd, rel=1e-2)


def grown(values: Samples, factor: int) -> Samples:
    """The sums of so many times as many values."""
    return Samples(
        values.group,
        values.origin,
        values.count * factor,
        values.total * factor,
        values.total_log * factor,
        values.total_squares * factor,
        values.minimum,
        values.maximum,
        values.bins,
    )


@pytest.mark.parametrize("factor", [1, 100, 10_000, 100_000, 10_000_000])
def test_the_width_falls_with_the_root_of_the_count_at_any_count(factor: int) -> None:
    values = samples(group("plain"), gamma_values(7.0, 0.6, 1000, 1))
    fitted = fit_samples(grown(values, factor))
    assert fitted is not None
    curve = fitted.mean_curve()
    assert curve.sd == pytest.approx(0.6 / np.sqrt(1000 * factor), rel=0.06)
    assert curve.median == pytest.approx(np.log(values.total / values.count), abs=0.05 * curve.sd + 1e-12)


def test_the_work_does_not_grow_with_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    values = samples(group("plain"), gamma_values(7.0, 0.6, 1000, 1))
    calls: list[int] = []
    original = np.expm1

    def counted(x: FloatArray) -> FloatArray:
        calls.append(np.size(x))
        return np.asarray(original(x))

    monkeypatch.setattr(np, "expm1", counted)
    work = []
    for factor in (1, 100_000):
        calls.clear()
        assert fit_samples(grown(values, factor)) is not None
        work.append(len(calls))
    assert abs(work[1] - work[0]) <= 10


@pytest.mark.parametrize("cv", [0.1, 0.6, 1.5])
def test_a_fine_histogram_says_what_its_values_say(cv: float) -> None:
    values = gamma_values(3.0, cv, 3000, 5)
    whole, censored = fit_samples(samples(group("plain"), values)), fit_bins(log_bins(values))
    assert whole is not None
    assert censored is not None
    one, other = whole.mean_curve().posterior(), censored.mean_curve().posterior()
    wide = one.quantile(0.975) - one.quantile(0.025)
    for p in QUANTILES:
        assert other.quantile(p) == pytest.approx(one.quantile(p), abs=0.03 * wide)


def test_a_coarse_histogram_agrees_with_dense_integration_of_its_censored_likelihood() -> None:
    values = gamma_values(3.0, 0.8, 60, 6)
    edges = np.array([0.0, 1.0, 2.0, 4.0, 8.0, np.inf])
    counts, _ = np.histogram(values, edges)
    fitted = fit_bins(Bins(tuple(map(float, edges)), tuple(map(int, counts))))
    assert fitted is not None
    log_mean = np.log(3.0) + np.linspace(-1.0, 1.5, 501)
    log_shape = np.linspace(-3.0, 5.0, 401)
    shape = np.exp(log_shape)[None, :, None]
    masses = np.diff(
        special.gammainc(shape, np.exp(log_shape[None, :, None] - log_mean[:, None, None]) * edges), axis=-1
    )
    log_density = (counts * np.log(np.maximum(masses, 1e-300))).sum(axis=-1)
    log_density = log_density + stats.norm.logpdf(-0.5 * log_shape, np.log(0.6), 1.5)
    marginal = np.exp(log_density - log_density.max()).sum(axis=1)
    cumulative = np.cumsum(marginal) / marginal.sum()
    found = fitted.mean_curve().posterior()
    wide = found.quantile(0.975) - found.quantile(0.025)
    for p in QUANTILES:
        assert found.quantile(p) == pytest.approx(float(np.interp(p, cumulative, log_mean)), abs=0.01 * wide)


def test_bins_are_put_together_without_losing_a_value_or_an_edge_that_matters() -> None:
    values = gamma_values(3.0, 0.6, 3000, 5)
    edges, counts = fewer_bins(log_bins(values), float(values.std()))
    again, _ = np.histogram(values, edges)
    assert np.abs(again - counts).sum() <= 2
    assert len(counts) < len(log_bins(values).counts) / 3
    assert np.diff(edges).max() <= 0.16 * values.std()
    whole, few = fewer_bins(Bins((0.0, 1.0, 2.0, 4.0, np.inf), (1, 2, 3, 4)), 1.0)
    assert whole.tolist() == [0.0, 1.0, 2.0, 4.0, np.inf]
    assert few.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_values_that_are_all_alike_tell_no_spread() -> None:
    assert fit_samples(samples(group("plain"), np.full(50, 3.0))) is None
    assert fit_bins(Bins((1.0, 2.0, 3.0), (0, 50))) is None
    run = fit_run(samples(group("plain"), np.full(50, 3.0)))
    assert run.curve is None
    assert run.notes[-1].code is NoteCode.NO_SPREAD


def test_the_first_idea_of_the_shape_is_near_its_maximum() -> None:
    for shape in (0.1, 1.0, 30.0):
        gap = float(np.log(shape) - special.digamma(shape))
        assert shape_of_gap(gap) == pytest.approx(shape, rel=0.016)


def test_the_published_prior_is_uniform_on_the_sd_and_one_gamma_on_the_mean() -> None:
    prior = PublishedMeans(10.0, 100.0)
    # At a fixed mean the density of log shape is that of s = m/sqrt(a), flat, times |ds/d log a| = s/2.
    first, second = (prior(np.array(np.log(5.0)), np.array(x)) for x in (0.0, 2.0))
    assert first - second == pytest.approx(1.0)
    assert prior(np.array(np.log(5.0)), np.array(-6.1)) == -1e6  # an sd of 105
    at_five, at_ten = (prior(np.array(np.log(m)), np.array(2 * np.log(m))) for m in (5.0, 10.0))
    assert at_ten - at_five == pytest.approx(np.log(2.0) - 0.5)


def test_values_wider_than_a_gamma_count_for_less_and_say_so() -> None:
    rng = np.random.default_rng(8)
    values = np.exp(rng.normal(0.0, 1.3, 20_000))
    run = fit_run(samples(group("plain"), values))
    assert run.curve is not None
    assert run.curve.sd == pytest.approx(values.std() / values.mean() / np.sqrt(len(values)), rel=0.1)
    assert run.notes[-1].code is NoteCode.HEAVY_TAIL
    assert run.is_heavy
    assert run.effective_count < 0.9 * run.count


def test_gamma_values_count_in_full() -> None:
    run = fit_run(samples(group("plain"), gamma_values(3.0, 0.6, 20_000, 2), stretches=200))
    assert run.effective_count == run.count
    assert run.notes == ()


def test_values_that_depend_on_their_neighbours_are_found_out() -> None:
    rng = np.random.default_rng(9)
    slow = np.repeat(np.exp(rng.normal(0.0, 0.3, 100)), 200)
    values = slow * gamma_values(3.0, 0.6, len(slow), 2)
    run = fit_run(samples(group("plain"), values, stretches=400))
    assert run.curve is not None
    assert run.effective_count < 0.1 * run.count
    assert run.curve.sd == pytest.approx(0.3 / np.sqrt(100), rel=0.7)
    assert run.notes[0].code is NoteCode.DEPENDENT_VALUES


def test_a_coarse_clock_is_told() -> None:
    values = samples(group("plain"), gamma_values(3.0, 0.6, 200, 2))
    run = fit_run(dataclasses.replace(values, zeros=50))
    assert (run.notes[0].code, run.notes[0].figures) == (NoteCode.ZEROS, (50.0, 200.0))


def test_moments_of_a_histogram_are_those_of_its_values() -> None:
    values = gamma_values(3.0, 0.6, 5000, 2)
    mean, sd = moments(binned(group("plain"), values).bins)
    assert mean == pytest.approx(values.mean(), rel=1e-3)
    assert sd == pytest.approx(values.std(), rel=2e-3)

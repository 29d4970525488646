import dataclasses
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from tdelta.importers.merging import pooled
from tdelta.inference.observed.models import (
    FEWEST_VALUES,
    PublishedMeans,
    coefficients_used,
    cycle,
    dependence,
    fewer_bins,
    fit_bins,
    fit_run,
    fit_samples,
    fit_summary,
    series_mean,
    shape_of_gap,
    warm_up,
)
from tdelta.inference.observed.pairing import moments
from tdelta.inference.posterior import FloatArray
from tdelta.records import Bins, NoteCode, Samples, Summary

from .observations import ORIGIN, binned, gamma_values, group, log_bins, samples, series, summary

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
    found = fitted.mean_curve().posterior()
    wide = found.quantile(0.975) - found.quantile(0.025)
    assert [found.quantile(p) for p in QUANTILES] == pytest.approx(dense_quantiles(values, QUANTILES), abs=0.006 * wide)


@given(st.floats(1e-6, 1e6), st.floats(0.02, 3.0), st.integers(5, 2000), st.integers(0, 10))
def test_the_unit_of_the_values_changes_nothing_but_the_unit(unit: float, cv: float, count: int, seed: int) -> None:
    values = gamma_values(1.0, cv, count, seed) + 1e-12
    plain, scaled = (fit_samples(samples(group("plain"), x)) for x in (values, unit * values))
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
    one, other = whole.mean_curve().posterior(), censored.mean_curve().posterior()
    wide = one.quantile(0.975) - one.quantile(0.025)
    for p in QUANTILES:
        assert other.quantile(p) == pytest.approx(one.quantile(p), abs=0.03 * wide)


def test_a_coarse_histogram_agrees_with_dense_integration_of_its_censored_likelihood() -> None:
    values = gamma_values(3.0, 0.8, 60, 6)
    edges = np.array([0.0, 1.0, 2.0, 4.0, 8.0, np.inf])
    counts, _ = np.histogram(values, edges)
    fitted = fit_bins(Bins(tuple(map(float, edges)), tuple(map(int, counts))))
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


def test_the_mean_is_known_to_its_standard_error() -> None:
    fitted = fit_summary(Summary(group("plain"), ORIGIN, 5000, 12.0, 6.0))
    curve = fitted.mean_curve()
    assert np.exp(curve.median) == pytest.approx(12.0, rel=2e-3)
    assert curve.sd == pytest.approx(0.5 / np.sqrt(5000), rel=0.02)


def test_of_a_large_sample_the_posterior_is_that_of_its_likelihood_on_a_dense_grid() -> None:
    given = Summary(group("plain"), ORIGIN, 400, 3.0, 2.4)
    fitted = fit_summary(given)
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
    curve = fitted.mean_curve()
    assert np.isfinite(curve.log_density).all()
    assert curve.sd > 0.0


def ar(rho: float, count: int, seed: int, sd: float = 1.0) -> FloatArray:
    """Stationary, mean 100, of this sd."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(0.0, sd * np.sqrt(1.0 - rho**2), count)
    out = np.empty(count)
    state = rng.normal(0.0, sd)
    for i, e in enumerate(noise):
        state = rho * state + e if i else state
        out[i] = state
    return 100.0 + out


def test_of_white_noise_the_error_is_that_of_independent_values() -> None:
    errors, worth = [], []
    for seed in range(40):
        found = series_mean(ar(0.0, 400, seed))
        errors.append(found.standard_error)
        worth.append(found.effective_count)
    assert np.mean(errors) == pytest.approx(1.0 / 20.0, rel=0.06)
    assert np.mean(worth) > 300


@pytest.mark.parametrize("rho", [0.5, 0.9])
def test_of_an_ar_1_the_error_grows_as_theory_says(rho: float) -> None:
    found = [series_mean(ar(rho, 2000, seed)) for seed in range(60)]
    errors = [one.standard_error**2 for one in found if one is not None]
    assert np.mean(errors) == pytest.approx((1.0 + rho) / (1.0 - rho) / 2000, rel=0.2)


def test_slow_waves_under_much_noise_are_seen() -> None:
    """Neighbouring values hardly correlate; means of stretches do."""
    values = ar(0.0, 2000, 1) + (ar(0.99, 2000, 2, sd=0.6) - 100.0)
    assert coefficients_used(values) < 60


def test_the_cosine_coefficients_are_those_of_the_definition() -> None:
    values = ar(0.7, 64, 3)
    found = series_mean(values)
    t = np.arange(64) + 0.5
    plain = [np.sqrt(2 / 64) * (values * np.cos(np.pi * j * t / 64)).sum() for j in range(1, found.df + 1)]
    assert found.standard_error**2 * 64 == pytest.approx(np.mean(np.square(plain)), rel=1e-9)


def test_means_of_intervals_count_as_many_operations_as_they_are_of() -> None:
    """Every tenth interval has a tenth of the operations, at ten times the mean, and some have none."""
    rng = np.random.default_rng(3)
    counts = np.where(np.arange(400) % 10 == 0, 100.0, 1000.0)
    counts[5::40] = 0.0
    means = np.where(counts > 500, 1.0, 10.0) * np.exp(rng.normal(0.0, 0.05, 400))
    of_means = replace(series(group("none"), np.where(counts > 0, means, 0.0)), counts=tuple(counts))
    truth = float(counts @ means / counts.sum())
    run = fit_run(of_means)
    assert run.value == pytest.approx(truth)
    assert run.curve.median == pytest.approx(np.log(truth), abs=0.01)
    alike = fit_run(replace(of_means, counts=(7.0,) * 400))
    assert alike.value == pytest.approx(np.mean(of_means.values))


def test_the_interval_of_a_weighted_mean_covers_it() -> None:
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        counts = rng.poisson(rng.choice([20.0, 200.0], 300)).astype(float)
        means = 5.0 + 20.0 / np.sqrt(np.maximum(counts, 1.0)) * rng.normal(0.0, 0.3, 300)
        run = fit_run(replace(series(group("none"), means), counts=tuple(counts)))
        low, high = run.curve.posterior().quantile(0.025), run.curve.posterior().quantile(0.975)
        covered += low <= np.log(5.0) <= high
    assert 180 <= covered <= 198


def test_a_short_or_constant_series_has_no_interval() -> None:
    assert series_mean(np.arange(FEWEST_VALUES - 1.0)) is None
    assert series_mean(np.full(100, 3.0)) is None
    run = fit_run(series(group("plain", metric="throughput"), np.arange(1.0, 8.0)))
    assert run.curve is None
    assert (run.notes[0].code, run.notes[0].figures) == (NoteCode.SERIES_TOO_SHORT, (7.0,))


def test_the_curve_is_a_t_of_the_mean() -> None:
    found = series_mean(ar(0.5, 300, 4))
    curve = found.curve()
    posterior = curve.posterior()
    for p in (0.025, 0.5, 0.975):
        expected = np.log(found.mean + stats.t.ppf(p, found.df) * found.standard_error)
        assert posterior.quantile(p) == pytest.approx(expected, abs=0.01 * found.standard_error / found.mean)


def test_a_warm_up_is_told_and_nothing_is_cut() -> None:
    values = ar(0.3, 300, 5)
    values[:30] *= 0.5
    assert warm_up(values) == pytest.approx(0.5, abs=0.01)
    run = fit_run(series(group("plain", metric="throughput"), values))
    assert run.value == pytest.approx(values.mean())
    told = {note.code: note.figures for note in run.notes}
    assert told[NoteCode.WARM_UP] == pytest.approx((30.0, 0.5), abs=0.01)


def test_a_steady_series_has_no_warm_up() -> None:
    assert sum(warm_up(ar(0.5, 300, seed)) is not None for seed in range(100)) <= 3


@pytest.mark.parametrize(("every", "count"), [(30, 300), (30, 1200), (60, 320), (5, 60)])
def test_a_cycle_is_told_by_its_length(every: int, count: int) -> None:
    for seed in range(10):
        values = ar(0.0, count, seed, sd=10.0)
        values[(np.arange(count) + seed) % every < every / 10] *= 0.5
        assert cycle(values) == pytest.approx(every, abs=every / 15), seed
    run = fit_run(series(group("plain", metric="throughput"), values, seconds=2.0))
    assert run.notes[-1].code is NoteCode.CYCLE
    assert run.notes[-1].figures == pytest.approx((2 * every,), rel=0.07)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8, 0.95])
def test_what_only_wanders_has_no_cycle(rho: float) -> None:
    assert sum(cycle(ar(rho, count, seed)) is not None for seed in range(100) for count in (60, 300, 1200)) <= 6


def test_a_short_or_constant_series_has_no_cycle() -> None:
    assert cycle(np.tile([1.0, 2.0, 1.0, 2.0], 4)) is None
    assert cycle(np.full(100, 3.0)) is None


def test_independent_values_are_seldom_called_dependent() -> None:
    called = 0
    for seed in range(200):
        found = dependence(samples(group("plain"), gamma_values(3.0, 0.8, 2000, seed), stretches=100))
        called += found.is_clear
    assert called <= 10


def test_too_few_stretches_say_nothing() -> None:
    assert dependence(samples(group("plain"), gamma_values(3.0, 0.8, 2000, 1), stretches=10)) is None
    assert dependence(samples(group("plain"), gamma_values(3.0, 0.8, 2000, 1))) is None


def test_a_short_series_says_what_it_cannot_see() -> None:
    short, long = (fit_run(series(group("plain"), np.linspace(99.0, 101.0, count))).notes for count in (60, 900))
    assert (NoteCode.SERIES_SHORT, (60.0,)) in [(note.code, note.figures) for note in short]
    assert NoteCode.SERIES_SHORT not in [note.code for note in long]

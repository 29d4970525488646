from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tdelta.inference.observed.fitting import dependence, fit_run
from tdelta.inference.observed.series import FEWEST_VALUES, coefficients_used, cycle, series_mean, warm_up
from tdelta.inference.posterior import FloatArray
from tdelta.records import NoteCode

from .observations import gamma_values, group, samples, series


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
        assert found is not None
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
    assert found is not None
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
    assert run.curve is not None
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
        assert run.curve is not None
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
    assert found is not None
    curve = found.curve()
    assert curve is not None
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
        assert found is not None
        called += found.is_clear
    assert called <= 10


def test_too_few_stretches_say_nothing() -> None:
    assert dependence(samples(group("plain"), gamma_values(3.0, 0.8, 2000, 1), stretches=10)) is None
    assert dependence(samples(group("plain"), gamma_values(3.0, 0.8, 2000, 1))) is None


def test_a_short_series_says_what_it_cannot_see() -> None:
    short, long = (fit_run(series(group("plain"), np.linspace(99.0, 101.0, count))).notes for count in (60, 900))
    assert (NoteCode.SERIES_SHORT, (60.0,)) in [(note.code, note.figures) for note in short]
    assert NoteCode.SERIES_SHORT not in [note.code for note in long]

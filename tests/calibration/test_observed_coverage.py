"""The intervals of `tdelta analyze` hold the truth as often as they say; a model that is too sure is caught.

Bands as in `calibration.harness`: a cell of 200 covers at least 0.91; cells of one model together at most 0.99.
"""

from __future__ import annotations

import numpy as np
import pytest

from calibration.harness import LEAST_COVERAGE, MOST_POOLED_COVERAGE
from calibration.observed import (
    SETTINGS,
    ObservedTally,
    Session,
    Shape,
    as_bins,
    as_samples,
    as_stretched,
    as_summary,
    clumped,
    dependent,
    gamma,
    lognormal,
    session,
    several_runs,
    single_runs,
    stalled,
    throughput,
)
from tdelta.inference.observed import comparing
from tdelta.inference.observed.curves import LogCurve, log_ratio

EXPERIMENTS = 200


def _covers(*found: ObservedTally) -> None:
    for one in found:
        assert min(one.ratio, one.difference, one.mean) >= LEAST_COVERAGE
    assert float(np.mean([one.ratio for one in found])) <= MOST_POOLED_COVERAGE


def test_single_values_of_a_gamma() -> None:
    _covers(
        *(
            single_runs(f"gamma {cv}", gamma(cv), n, 0.05, EXPERIMENTS)
            for cv, n in ((0.3, 50), (0.6, 1000), (1.5, 1000))
        )
    )


def test_a_large_effect_is_covered_as_well() -> None:
    _covers(*(single_runs("gamma", gamma(0.6), 500, truth, EXPERIMENTS) for truth in (0.0, 0.8, 2.0)))


@pytest.mark.parametrize("form", [as_samples, as_bins(), as_summary], ids=["samples", "bins", "summary"])
def test_skewed_values_that_are_no_gamma(form: object) -> None:
    assert callable(form)
    _covers(single_runs("lognormal", lognormal(1.0), 3000, 0.0, EXPERIMENTS, form=form))


def test_stalls_in_a_few_values() -> None:
    _covers(
        *(single_runs("stalls", stalled(), 20_000, 0.0, EXPERIMENTS, form=form) for form in (as_samples, as_summary))
    )


def test_histograms_and_summaries_of_a_gamma() -> None:
    _covers(single_runs("bins", gamma(0.6), 1000, 0.05, EXPERIMENTS, form=as_bins()))
    _covers(single_runs("summary", gamma(0.6), 1000, 0.05, EXPERIMENTS, form=as_summary))


def test_values_that_depend_on_their_neighbours() -> None:
    _covers(single_runs("dependent", dependent(0.99), 10_000, 0.0, EXPERIMENTS, form=as_stretched(500)))


@pytest.mark.parametrize("runs", [(2, 2), (3, 3), (5, 5)], ids=str)
def test_several_runs_whatever_they_differ_by(runs: tuple[int, int]) -> None:
    found = [several_runs(runs, tau, 0.005, 0.05, EXPERIMENTS) for tau in (0.003, 0.03, 0.1)]
    _covers(*found)


def test_bare_figures_of_several_runs() -> None:
    _covers(*(several_runs(runs, 0.02, 0.0, 0.0, EXPERIMENTS, bare=True) for runs in ((2, 2), (3, 3), (2, 5))))


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
def test_throughput_whose_neighbours_are_alike(rho: float) -> None:
    _covers(throughput(Shape(f"ar {rho}", rho), 300, 0.05, EXPERIMENTS))


def test_throughput_with_slow_waves_or_checkpoints() -> None:
    assert throughput(Shape("slow", 0.0, 0.1, 0.95, 0.05), 600, 0.0, EXPERIMENTS).ratio >= LEAST_COVERAGE
    assert throughput(Shape("checkpoints", every=30), 600, 0.0, EXPERIMENTS).ratio >= LEAST_COVERAGE


def test_one_run_each_decides_nothing_where_nobody_says_what_runs_differ_by() -> None:
    found = single_runs("luck", gamma(0.6), 60_000, 0.0, EXPERIMENTS, luck=0.03, settings=SETTINGS)
    assert found.excludes_one > 0.7, "the two runs do differ"
    assert (found.alarms, found.negligible, found.stopped) == (0.0, 0.0, 1.0)


def test_a_stated_scatter_of_runs_holds_where_it_is_true() -> None:
    found = single_runs("luck", gamma(0.6), 60_000, 0.0, EXPERIMENTS, luck=0.03)
    assert found.roomy >= LEAST_COVERAGE
    assert found.alarms <= 0.03


@pytest.mark.parametrize("form", [as_bins(), as_summary], ids=["histogram", "summary"])
def test_clumped_stalls_do_not_decide(form: object) -> None:
    assert callable(form)
    found = single_runs("clumped", clumped(), 20_000, 0.0, 60, form=form)
    assert found.roomy < 0.7, "their interval is far too narrow"
    assert found.alarms == 0.0


def test_a_drift_between_the_sides_is_no_verdict() -> None:
    for drift, has_times in ((0.01, True), (0.01, False), (0.003, True)):
        found = session(Session(drift=drift, has_times=has_times), 0.0, EXPERIMENTS)
        assert found.alarms <= 0.03
        assert not has_times or found.ratio >= LEAST_COVERAGE


def test_a_walk_between_the_sides_is_hardly_ever_a_verdict() -> None:
    assert session(Session(walk=0.01, tau=0.005), 0.0, EXPERIMENTS).alarms <= 0.05


def test_three_runs_in_all_are_never_negligible() -> None:
    found = [session(Session((2, 1), tau, has_times=False), 0.0, EXPERIMENTS) for tau in (0.001, 0.003, 0.01)]
    assert max(one.negligible for one in found) <= 0.01
    assert min(one.ratio for one in found) >= LEAST_COVERAGE


def test_rounded_figures_hold_the_truth_whether_runs_differ_by_less_or_by_more_than_a_digit() -> None:
    for tau in (0.0005, 0.005):
        found = session(Session((3, 3), tau, has_times=False, digit=0.0154), 0.0163, EXPERIMENTS)
        assert found.ratio >= LEAST_COVERAGE
        assert found.alarms <= 0.03


def test_a_model_that_is_twice_too_sure_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def overconfident(first: LogCurve, second: LogCurve, *, is_inverse: bool) -> LogCurve:
        whole = log_ratio(first, second, is_inverse=is_inverse)
        return LogCurve(whole.median + 0.5 * (whole.at - whole.median), whole.log_density)

    monkeypatch.setattr(comparing, "log_ratio", overconfident)
    assert single_runs("gamma 0.6", gamma(0.6), 1000, 0.05, EXPERIMENTS).ratio < 0.85
    assert throughput(Shape("ar 0.5", 0.5), 300, 0.05, EXPERIMENTS).ratio < 0.85

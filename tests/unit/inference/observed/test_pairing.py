import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdelta.inference.observed.compare import analyze
from tdelta.inference.observed.pairing import merged_bins, paired, strength
from tdelta.inference.observed.settings import AnalysisSettings
from tdelta.records import Bins, Figure, Model, Samples, Series, Summary

from .observations import ORIGIN, binned, figure, gamma_values, group, log_bins, samples, series, summary


def test_the_strongest_figures_of_a_run_are_used() -> None:
    values = gamma_values(10.0, 0.6, 500, 1)
    bare = Summary(group("none"), ORIGIN, 500, 10.0, None)
    given = [figure(group("none"), 10.0), bare, summary(group("none"), values), samples(group("none"), values)]
    (pair,) = paired([*given, figure(group("tde"), 11.0)], "none").pairs
    assert isinstance(pair.baseline_runs[0], Samples)
    assert [strength(one) for one in given] == [4, 3, 2, 0]
    assert strength(binned(group("none"), values)) == 1
    assert strength(series(group("none"), values)) == 5


def test_levels_are_the_same_in_any_order() -> None:
    levels = (("threads", 16), ("cache", "5 GB"))
    given = [figure(group("none", levels=levels), 10.0), figure(group("tde", levels=levels[::-1]), 11.0)]
    (pair,) = paired(given, "none").pairs
    assert pair.key[0] == levels


def test_what_a_tool_reports_of_the_whole_is_the_value_and_its_figures_over_time_the_width() -> None:
    given = [
        one
        for name in ("none", "tde")
        for one in (
            figure(group(name, metric="throughput"), 100.0),
            series(group(name, metric="throughput"), np.linspace(88.0, 91.0, 50)),
        )
    ]
    (pair,) = paired(given, "none").pairs
    assert isinstance(pair.baseline_runs[0], Figure)
    assert isinstance(pair.beside[0], Series)
    (found,) = analyze(given, AnalysisSettings("none")).comparisons
    assert (found.baseline.value, found.quotient) == pytest.approx((100.0, 1.0))
    assert found.model is Model.BESIDE
    assert found.ratio is not None


def test_histograms_on_the_same_edges_add_up() -> None:
    assert merged_bins([Bins((1.0, 2.0, 3.0), (1, 2)), Bins((1.0, 2.0, 3.0), (3, 4))]) == Bins((1.0, 2.0, 3.0), (4, 6))


def test_histograms_on_shifted_edges_keep_every_value_between_edges_that_held_it() -> None:
    found = merged_bins([Bins((0.0, 2.0, 4.0), (5, 0)), Bins((1.0, 3.0, 5.0), (0, 7))])
    assert sum(found.counts) == 12
    assert found.edges[0] == 0.0
    assert found.edges[-1] >= 5.0


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 300)), min_size=1, max_size=4))
def test_merging_keeps_counts_and_edges_that_every_value_lies_between(parts: list[tuple[int, int]]) -> None:
    drawn = [gamma_values(3.0, 0.6, count, seed) for seed, count in parts]
    found = merged_bins([log_bins(values) for values in drawn])
    whole = np.concatenate(drawn)
    assert sum(found.counts) == len(whole)
    assert found.edges[0] <= whole.min()
    assert found.edges[-1] >= whole.max()
    assert all(a < b for a, b in zip(found.edges, found.edges[1:], strict=False))
    assert len(found.counts) == len(found.edges) - 1


@given(st.integers(0, 1000))
def test_bins_of_one_logarithmic_grid_are_merged_without_loss(seed: int) -> None:
    parts = [gamma_values(3.0, 0.6, 300, seed), gamma_values(5.0, 0.6, 300, seed + 1)]
    found = merged_bins([log_bins(values) for values in parts])
    counts, _ = np.histogram(np.concatenate(parts), np.array(found.edges))
    assert np.abs(np.array(found.counts) - counts).sum() <= 4


def test_files_are_named_once_among_the_origins() -> None:
    (pair,) = paired([figure(group("none"), 1.0), figure(group("tde"), 2.0)], "none").pairs
    assert len(pair.origins) == 1

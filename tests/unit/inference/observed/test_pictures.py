import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

from tdelta.inference.observed import compare
from tdelta.inference.observed.pictures import ComparisonPicture, analyze_with_pictures, bars
from tdelta.inference.observed.settings import AnalysisSettings
from tdelta.records import Bins, Observation, Series, Summary

from .observations import ORIGIN, binned, figure, gamma_values, group, samples, summary

PLAIN = AnalysisSettings("none")


def pictures(observations: Sequence[Observation]) -> tuple[ComparisonPicture, ...]:
    return analyze_with_pictures(observations, PLAIN)[1]


def test_every_comparison_with_a_posterior_has_its_checks() -> None:
    observations = [
        samples(group("none"), gamma_values(10.0, 0.6, 4000, 1)),
        samples(group("tde"), gamma_values(11.0, 0.6, 4000, 2)),
        figure(group("none", metric="cpu"), 1.0),
        figure(group("tde", metric="cpu"), 2.0),
    ]
    (found,) = pictures(observations)
    assert [check.condition for check in found.checks] == ["none", "tde"]


def test_every_run_is_fitted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[tuple[str, str]] = []
    fit_run = compare.fit_run

    def counted(observation: Observation, beside: Series | None = None) -> object:
        fitted.append((observation.group.condition, observation.group.run))
        return fit_run(observation, beside=beside)

    monkeypatch.setattr(compare, "fit_run", counted)
    observations = [
        samples(group(name, run=run), gamma_values(10.0, 0.6, 400, seed))
        for seed, (name, run) in enumerate((("none", "1"), ("none", "2"), ("tde", "1"), ("tde", "2")))
    ]
    assert len(pictures(observations)) == 1
    assert sorted(fitted) == [("none", "1"), ("none", "2"), ("tde", "1"), ("tde", "2")]


@pytest.mark.parametrize("kind", [samples, binned])
def test_bins_of_gamma_values_lie_within_the_predictive_band(kind: object) -> None:
    outside, bins = 0, 0
    for seed in range(10):
        values = [gamma_values(10.0, 0.6, 3000, 2 * seed + k) for k in range(2)]
        (found,) = pictures([kind(group(c), v) for c, v in zip(("none", "tde"), values, strict=True)])
        for check in found.checks:
            outside += int(((check.observed < check.low) | (check.observed > check.high)).sum())
            bins += len(check.observed)
            assert check.observed.sum() == pytest.approx(1.0)
    assert 0.01 < outside / bins < 0.1


def test_values_that_are_no_gamma_are_seen_to_be_none() -> None:
    rng = np.random.default_rng(1)
    two_humps = np.concatenate([rng.gamma(50.0, 0.1, 2000), rng.gamma(50.0, 0.4, 2000)])
    (found,) = pictures([samples(group("none"), two_humps), samples(group("tde"), two_humps)])
    check = found.checks[0]
    assert ((check.observed < check.low) | (check.observed > check.high)).mean() > 0.4


def test_printed_quantiles_are_checked_where_there_is_no_histogram() -> None:
    values = gamma_values(10.0, 0.6, 4000, 1)
    printed = {p: float(np.quantile(values, p)) for p in (0.5, 0.95)}
    first = dataclasses.replace(summary(group("none"), values), quantiles=printed)
    off = Summary(group("tde"), ORIGIN, 4000, 10.0, 6.0, {0.95: 60.0})
    (found,) = pictures([first, off])
    assert [q.probability for q in found.checks[0].quantiles] == [0.5, 0.95]
    assert all(q.low <= q.observed <= q.high for q in found.checks[0].quantiles)
    assert not found.checks[1].quantiles[0].low <= 60.0 <= found.checks[1].quantiles[0].high


def test_bars_keep_every_value_and_at_most_forty_of_them() -> None:
    edges = tuple(float(x) for x in range(200))
    counts = (0, 0, *range(195), 0, 0)
    found, heights = bars(Bins(edges, counts))
    assert heights.sum() == sum(counts)
    assert len(heights) <= 40
    assert len(found) == len(heights) + 1

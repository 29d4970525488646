from dataclasses import replace

import numpy as np
import pytest

from support.refused import Part, check_messages, coded, has
from tdelta.inference.observed.compare import analyze
from tdelta.inference.observed.settings import AnalysisSettings
from tdelta.inference.posterior import FloatArray
from tdelta.messages import Caution
from tdelta.records import AnalysisResult, Decision, Observation

from .observations import binned, figure, gamma_values, group, samples, series, summary

PLAIN = AnalysisSettings("none")
LATENCY_LIMIT = replace(PLAIN, latency_limit_ms=20.0)


def values(mean: float, seed: int) -> FloatArray:
    return gamma_values(mean, 0.6, 4000, seed)


def runs(count: int, mean: float = 12.0) -> list[Observation]:
    return [
        samples(group(name, run=str(run)), values(of, 100 * run + len(name)))
        for run in range(count)
        for name, of in (("none", 10.0), ("tde", mean))
    ]


def test_of_two_runs_shares_and_percentiles_are_told_without_an_interval() -> None:
    (found,) = analyze(runs(1), LATENCY_LIMIT).comparisons
    before, after = values(10.0, 4), values(12.0, 3)
    for side, times in ((found.tail.baseline, before), (found.tail.condition, after)):
        assert side.longer_at_least is not None
        assert side.longer_at_most is not None
        assert side.longer_at_least <= (times > 20.0).sum() <= side.longer_at_most
        assert side.longer_at_most - side.longer_at_least < 60
    assert (found.tail.longer_ratio, found.tail.p99_ratio) == (None, None)
    assert has([found.tail.longer_reason], "tail-too-few-runs")
    assert found.tail_reason is None


def test_of_three_runs_each_there_is_an_interval() -> None:
    (found,) = analyze(runs(3), LATENCY_LIMIT).comparisons
    assert found.tail.longer_ratio.interval95[0] > 1.0
    assert found.tail.p99_ratio.interval95[0] < 1.2 < found.tail.p99_ratio.interval95[1]


def test_without_a_threshold_only_a_percentile_with_an_interval_is_told() -> None:
    (one,), (three,) = (analyze(runs(count), PLAIN).comparisons for count in (1, 3))
    assert (one.tail, str(one.tail_reason or "")) == (None, "")
    assert three.tail.longer_quotient is None
    assert three.tail.p99_ratio is not None


def test_a_tail_decides_nothing() -> None:
    with_limit, without = analyze(runs(3), LATENCY_LIMIT), analyze(runs(3), PLAIN)
    assert with_limit.decision is without.decision is Decision.SLOWER
    assert [replace(c, tail=None) for c in with_limit.comparisons] == [
        replace(c, tail=None) for c in without.comparisons
    ]
    stalls = [samples(group(n), np.concatenate([values(10.0, 1), [40.0] * k])) for n, k in (("none", 40), ("tde", 80))]
    (found,) = analyze(stalls, replace(PLAIN, latency_limit_ms=35.0)).comparisons
    assert found.tail.longer_quotient is not None
    assert found.tail.longer_quotient > 1.5
    assert found.decision is Decision.UNDECIDED


@pytest.mark.parametrize(
    ("make", "kinds"),
    [
        (lambda name: summary(group(name), values(10.0, 1)), "summaries"),
        (lambda name: series(group(name), values(10.0, 1)[:300]), Part("intervals")),
        (lambda name: figure(group(name), 10.0), Part("figures")),
    ],
)
def test_what_has_no_single_times_says_so(make: object, kinds: str | Part) -> None:
    (found,) = analyze([make("none"), make("tde")], LATENCY_LIMIT).comparisons
    assert found.tail is None
    assert has([found.tail_reason], "no-single-times", names="none and tde", conditions=2, found=kinds)
    (found,) = analyze([make("none"), make("tde")], PLAIN).comparisons
    assert found.tail_reason is None


def test_one_side_without_single_times_is_named() -> None:
    unlike = [binned(group("none"), values(10.0, 1)), summary(group("tde"), values(12.0, 2))]
    (found,) = analyze(unlike, LATENCY_LIMIT).comparisons
    assert has([found.tail_reason], "no-single-times", names="tde", conditions=1, found="summaries")


def test_throughput_has_no_tail() -> None:
    throughput = [figure(group(name, metric="throughput"), 400.0) for name in ("none", "tde")]
    (found,) = analyze(throughput, LATENCY_LIMIT).comparisons
    check_messages([found.tail_reason], coded("not-single-transactions", metric="throughput"))


def cautions(result: AnalysisResult) -> list[Caution]:
    return [caution for caution in result.cautions if caution.code == "tail-of-some-runs"]


def test_runs_that_are_only_in_the_means_are_told() -> None:
    more = [*runs(3), summary(group("tde", run="9"), values(12.0, 9))]
    result = analyze(more, LATENCY_LIMIT)
    check_messages(cautions(result), coded("tail-of-some-runs", runs=3, of=4, condition="tde"))
    assert cautions(analyze(runs(3), LATENCY_LIMIT)) == []

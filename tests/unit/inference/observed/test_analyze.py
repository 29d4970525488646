from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tdelta.errors import UsageError
from tdelta.inference.observed import AnalysisSettings, analyze, parse_priors
from tdelta.records import AnalysisResult, Binned, Decision, Model, Observation, Origin, Summary

from .observations import ORIGIN, binned, figure, gamma_values, group, samples, series, summary

PLAIN = AnalysisSettings("none")


def two(mean: float, other: float, count: int = 4000, cv: float = 0.6) -> list[Observation]:
    return [
        samples(group("none"), gamma_values(mean, cv, count, 1)),
        samples(group("tde"), gamma_values(other, cv, count, 2)),
    ]


def only(result: AnalysisResult) -> tuple[Decision, tuple[float, float]]:
    (found,) = result.comparisons
    assert found.ratio is not None
    return found.decision, found.ratio.hdi95


def test_samples_give_ratio_difference_and_both_means() -> None:
    observations = two(10.0, 11.0)
    (found,) = analyze(observations, PLAIN).comparisons
    assert found.model is Model.GAMMA
    assert found.ratio is not None
    assert found.difference is not None
    assert found.baseline.mean is not None
    assert found.condition.mean is not None
    first, second = gamma_values(10.0, 0.6, 4000, 1), gamma_values(11.0, 0.6, 4000, 2)
    assert found.quotient == pytest.approx(second.mean() / first.mean())
    assert found.ratio.median == pytest.approx(found.quotient, rel=1e-3)
    assert found.difference.median == pytest.approx(second.mean() - first.mean(), abs=5e-3)
    error = np.hypot(first.std(), second.std()) / np.sqrt(4000)
    assert np.subtract(*reversed(found.difference.hdi95)) == pytest.approx(3.92 * error, rel=0.05)
    assert found.baseline.mean.median == pytest.approx(first.mean(), rel=1e-3)


def test_the_same_observations_give_the_same_answer() -> None:
    assert analyze(two(10.0, 11.0), PLAIN) == analyze(two(10.0, 11.0), PLAIN)


def test_one_run_a_condition_cannot_claim_three_percent() -> None:
    result = analyze(two(10.0, 10.6, count=400_000), PLAIN)
    decision, hdi = only(result)
    assert hdi[0] > 1.02, "these two runs differ beyond the ROPE"
    assert decision is result.decision is Decision.UNDECIDED
    (found,) = result.comparisons
    assert found.reasons[0].startswith("one run a condition")
    assert "87 of 100" in found.reasons[0]
    assert "costly, if runs never differed" in found.reasons[2]
    assert "runs differ by 3 %" in found.priors


def test_one_run_a_condition_can_show_what_no_luck_of_runs_explains() -> None:
    assert only(analyze(two(10.0, 15.0), PLAIN))[0] is Decision.COSTLY


def test_the_room_for_luck_is_the_users_to_set() -> None:
    sure = dataclasses.replace(PLAIN, run_luck=0.001)
    assert only(analyze(two(10.0, 10.6, count=400_000), sure))[0] is Decision.COSTLY


def test_runs_of_each_condition_are_the_unit_and_can_claim_it() -> None:
    observations: list[Observation] = []
    for run in range(5):
        values = gamma_values(10.0, 0.6, 60_000, run)
        observations.append(samples(group("none", run=str(run)), values))
        observations.append(samples(group("tde", run=str(run)), 1.06 * gamma_values(10.0, 0.6, 60_000, 50 + run)))
    (found,) = analyze(observations, PLAIN).comparisons
    assert found.model is Model.RUNS
    assert (found.baseline.runs, found.condition.runs) == (5, 5)
    assert found.decision is Decision.COSTLY
    assert "the run is the unit" in found.reasons[1]
    assert found.ratio is not None
    assert found.ratio.median == pytest.approx(1.06, abs=0.01)


def test_scatter_between_runs_is_no_effect_of_encryption() -> None:
    observations: list[Observation] = []
    for run, luck in enumerate((0.95, 1.0, 1.05)):
        observations.append(samples(group("none", run=str(run)), luck * gamma_values(10.0, 0.6, 60_000, run)))
        observations.append(samples(group("tde", run=str(run)), 1.03 * luck * gamma_values(10.0, 0.6, 60_000, 9 + run)))
    decision, (low, high) = only(analyze(observations, PLAIN))
    assert decision is Decision.UNDECIDED
    assert low < 1.0 < high


def test_where_nothing_can_be_compared_what_files_say_of_themselves_is_told() -> None:
    odd = dataclasses.replace(ORIGIN, cautions=("the file's name says threads 16, the file itself 17",))
    observations = [
        figure(group("none", levels=(("threads", 16),)), 10.0),
        dataclasses.replace(figure(group("tde", levels=(("threads", 17),)), 11.0), origin=odd),
    ]
    with pytest.raises(UsageError, match="says threads 16, the file itself 17"):
        analyze(observations, PLAIN)


def test_figures_alone_are_quoted_and_never_judged() -> None:
    result = analyze([figure(group("none", metric="cpu"), 43.694), figure(group("tde", metric="cpu"), 206.093)], PLAIN)
    (found,) = result.comparisons
    assert result.decision is Decision.UNDECIDED
    assert found.ratio is None
    assert found.difference is None
    assert found.model is Model.NONE
    assert found.quotient == pytest.approx(4.7167, abs=1e-4)
    assert found.reasons[0].startswith("no replication")


def test_throughput_is_judged_as_a_cost_and_its_difference_shown_as_it_is() -> None:
    rng = np.random.default_rng(1)
    result = analyze(
        [
            series(group("none", metric="throughput"), rng.normal(400.0, 10.0, 300)),
            series(group("tde", metric="throughput"), rng.normal(200.0, 10.0, 300)),
        ],
        PLAIN,
    )
    (found,) = result.comparisons
    assert found.model is Model.SERIES
    assert found.ratio is not None
    assert found.difference is not None
    assert found.ratio.median == pytest.approx(2.0, rel=0.01)
    assert found.quotient == pytest.approx(2.0, rel=0.01)
    assert found.difference.median == pytest.approx(-200.0, rel=0.02)
    assert found.decision is Decision.COSTLY


def test_a_published_sweep_gives_its_printed_ratios() -> None:
    cells = {1: (389.11, 423.47), 64: (8558.6, 8574.43)}
    observations = [
        figure(group(name, metric="throughput", levels=(("threads", threads),)), value)
        for threads, pair in cells.items()
        for name, value in zip(("tde", "none"), pair, strict=True)
    ]
    found = {dict(c.levels)["threads"]: round(c.quotient, 2) for c in analyze(observations, PLAIN).comparisons}
    assert found == {1: 1.09, 64: 1.00}


def test_histograms_and_summaries_are_modelled_as_what_they_are() -> None:
    before, after = gamma_values(10.0, 0.6, 4000, 1), gamma_values(13.0, 0.6, 4000, 2)
    whole = only(analyze([samples(group("none"), before), samples(group("tde"), after)], PLAIN))[1]
    for kind, model in ((binned, Model.BINNED_GAMMA), (summary, Model.SUMMARY)):
        (found,) = analyze([kind(group("none"), before), kind(group("tde"), after)], PLAIN).comparisons
        assert found.model is model
        assert found.ratio is not None
        assert found.ratio.hdi95 == pytest.approx(whole, abs=0.006)


def test_unlike_kinds_are_reduced_to_the_weaker() -> None:
    before, after = gamma_values(10.0, 0.6, 4000, 1), gamma_values(13.0, 0.6, 4000, 2)
    kinds = (samples(group("none"), before), binned(group("none"), before), summary(group("none"), before))
    for first, model in zip(kinds, (Model.SUMMARY,) * 3, strict=True):
        (found,) = analyze([first, summary(group("tde"), after)], PLAIN).comparisons
        assert found.model is model
    (found,) = analyze([kinds[0], binned(group("tde"), after)], PLAIN).comparisons
    assert found.model is Model.BINNED_GAMMA
    (found,) = analyze([kinds[0], figure(group("tde"), 13.0)], PLAIN).comparisons
    assert found.model is Model.NONE


def test_a_mean_without_sd_has_no_interval_until_it_is_repeated() -> None:
    def mean(condition: str, run: str, value: float) -> Summary:
        return Summary(group(condition, run=run), ORIGIN, 1000, value, None)

    (found,) = analyze([mean("none", "1", 10.0), mean("tde", "1", 11.0)], PLAIN).comparisons
    assert found.ratio is None
    assert "without its standard deviation" in found.reasons[0]
    runs = [mean(c, str(r), v + 0.01 * r) for c, v in (("none", 10.0), ("tde", 11.0)) for r in range(3)]
    (found,) = analyze(runs, PLAIN).comparisons
    assert found.decision is Decision.COSTLY


def test_every_condition_is_held_against_the_baseline_at_its_own_levels() -> None:
    observations = [
        figure(group(name, metric="throughput", levels=(("threads", threads),)), 100.0 / cost)
        for threads in (1, 16)
        for name, cost in (("none", 1.0), ("aes-128", 1.1), ("aes-256", 1.2))
    ]
    result = analyze(observations, PLAIN)
    assert [(c.levels[0][1], c.condition.condition) for c in result.comparisons] == [
        (1, "aes-128"),
        (1, "aes-256"),
        (16, "aes-128"),
        (16, "aes-256"),
    ]


def test_what_has_no_counterpart_is_told() -> None:
    observations = [
        *two(10.0, 11.0, count=100),
        figure(group("tde", metric="cpu"), 3.0),
        figure(group("none", transaction="NewOrder", metric="throughput"), 3.0),
        figure(group("tde", metric="elapsed"), 0.0),
        figure(group("none", metric="elapsed"), 1.0),
    ]
    left_out = analyze(observations, PLAIN).left_out
    assert any("cpu" in words and "none has no such figure" in words for words in left_out)
    assert any("NewOrder" in words and "no other condition" in words for words in left_out)
    assert any("its mean is 0" in words for words in left_out)


def test_files_of_each_thread_of_a_run_are_one_run() -> None:
    values = gamma_values(10.0, 0.6, 4000, 1)
    parts = [samples(group("none"), part) for part in np.array_split(values, 4)]
    whole = only(analyze([*parts, two(10.0, 11.0)[1]], PLAIN))
    assert whole == only(analyze(two(10.0, 11.0), PLAIN))


def test_a_second_figure_of_the_same_run_is_told_not_averaged() -> None:
    other = dataclasses.replace(figure(group("none"), 20.0), origin=Origin("second.csv", "CSV", 7))
    result = analyze([figure(group("none"), 10.0), other, figure(group("tde"), 11.0)], PLAIN)
    assert result.comparisons[0].quotient == pytest.approx(1.1)
    assert any("second.csv:7" in words for words in result.left_out)


def test_the_primary_comparison_is_response_time_over_the_mix() -> None:
    observations = [
        *two(10.0, 15.0),
        figure(group("none", metric="throughput"), 100.0),
        figure(group("tde", metric="throughput"), 70.0),
        figure(group("none", transaction="NewOrder"), 100.0),
        figure(group("tde", transaction="NewOrder"), 70.0),
    ]
    result = analyze(observations, PLAIN)
    assert [(c.metric, c.transaction) for c in result.primary] == [("response_time", "all")]
    assert result.decision is Decision.COSTLY
    other = analyze(observations, dataclasses.replace(PLAIN, metric="throughput"))
    assert [c.metric for c in other.primary] == ["throughput"]
    other = analyze(observations, dataclasses.replace(PLAIN, transaction="NewOrder"))
    assert [c.transaction for c in other.primary] == ["NewOrder"]


def test_without_a_whole_mix_every_transaction_decides() -> None:
    observations = [
        figure(group(name, transaction=step, metric=metric), 1.0)
        for name in ("none", "tde")
        for step in ("rebuild", "sum")
        for metric in ("cpu", "elapsed")
    ]
    assert len(analyze(observations, PLAIN).primary) == 4


def test_a_budget_is_a_gate() -> None:
    assert analyze(two(10.0, 15.0), dataclasses.replace(PLAIN, budget=0.1)).decision is Decision.OVER
    assert analyze(two(10.0, 10.0), dataclasses.replace(PLAIN, budget=0.5)).decision is Decision.WITHIN


def test_other_priors_stand_beside_the_default() -> None:
    asked = dataclasses.replace(PLAIN, priors=parse_priors(["published", "normal:0.03,0.01"]))
    (found,) = analyze(two(10.0, 11.0, count=400), asked).comparisons
    assert found.ratio is not None
    assert found.priors["no speed-up"].hdi95[0] >= 1.0
    assert found.priors["published"].hdi95 == pytest.approx(found.ratio.hdi95, abs=0.01)
    assert found.priors["normal:0.03,0.01"].median < found.ratio.median


def test_the_published_prior_is_left_out_where_it_has_no_meaning() -> None:
    rng = np.random.default_rng(1)
    throughput = [series(group(c, metric="throughput"), rng.normal(400.0, 10.0, 300)) for c in ("none", "tde")]
    (found,) = analyze(throughput, dataclasses.replace(PLAIN, priors=parse_priors(["published"]))).comparisons
    assert "published" not in found.priors
    assert any("left out here" in words for words in found.reasons)


@pytest.mark.parametrize(
    ("observations", "settings", "words"),
    [
        ([], PLAIN, "no figures"),
        (two(1.0, 2.0), AnalysisSettings("plain"), "plain"),
        (two(1.0, 2.0)[:1], PLAIN, "only one condition"),
        (two(1.0, 2.0), AnalysisSettings("none", metric="cpu"), "cpu"),
        (two(1.0, 2.0), AnalysisSettings("none", transaction="NewOrder"), "NewOrder"),
        ([figure(group("none"), 1.0), figure(group("tde", metric="cpu"), 1.0)], PLAIN, "can be held against"),
    ],
)
def test_what_cannot_be_compared_is_an_error_with_a_remedy(
    observations: list[Observation], settings: AnalysisSettings, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        analyze(observations, settings)


def test_formats_count_files() -> None:
    first, second = two(10.0, 11.0, count=100)
    assert not isinstance(first, Binned)
    result = analyze([dataclasses.replace(first, origin=Origin("a.log", "pgbench log")), second], PLAIN)
    assert result.formats == {"CSV": 1, "pgbench log": 1}

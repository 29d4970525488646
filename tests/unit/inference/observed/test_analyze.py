import dataclasses

import numpy as np
import pytest

from support.refused import Coded, Part, check_messages, coded, has, refused
from support.texts import texts
from tdelta.errors import UsageError
from tdelta.inference.observed.compare import analyze
from tdelta.inference.observed.settings import AnalysisSettings, parse_priors
from tdelta.inference.posterior import FloatArray
from tdelta.messages import Caution
from tdelta.records import AnalysisResult, Binned, Decision, Figure, Model, NoteCode, Observation, Origin, Summary

from .observations import ORIGIN, binned, figure, gamma_values, group, samples, series, summary

PLAIN = AnalysisSettings("none")


def two(mean: float, other: float, count: int = 4000, cv: float = 0.6) -> list[Observation]:
    return [
        samples(group("none"), gamma_values(mean, cv, count, 1)),
        samples(group("tde"), gamma_values(other, cv, count, 2)),
    ]


def only(result: AnalysisResult) -> tuple[Decision, tuple[float, float]]:
    (found,) = result.comparisons
    return found.decision, found.ratio.hdi95


def test_samples_give_ratio_difference_and_both_means() -> None:
    observations = two(10.0, 11.0)
    (found,) = analyze(observations, PLAIN).comparisons
    assert found.model is Model.GAMMA
    assert found.condition.mean is not None
    first, second = gamma_values(10.0, 0.6, 4000, 1), gamma_values(11.0, 0.6, 4000, 2)
    assert found.quotient == pytest.approx(second.mean() / first.mean())
    assert found.ratio.median == pytest.approx(found.quotient, rel=1e-3)
    assert found.difference.median == pytest.approx(second.mean() - first.mean(), abs=5e-3)
    error = np.hypot(first.std(), second.std()) / np.sqrt(4000)
    assert np.subtract(*reversed(found.difference.hdi95)) == pytest.approx(3.92 * error, rel=0.05)
    assert found.baseline.mean.median == pytest.approx(first.mean(), rel=1e-3)


STATED = dataclasses.replace(PLAIN, run_sd=0.03)


@pytest.mark.parametrize("other", [10.0, 10.6, 15.0, 60.0])
def test_one_run_a_condition_decides_nothing(other: float) -> None:
    result = analyze(two(10.0, other, count=400_000), PLAIN)
    (found,) = result.comparisons
    assert found.decision is result.decision is Decision.UNDECIDED
    check_messages(found.undecided_because, "one-run-only")
    assert has(found.reasons[:1], "one-run-of-each")
    assert found.ratio is not None
    assert found.scatter.run_sd is None


def test_single_runs_say_how_far_apart_identical_runs_must_not_lie() -> None:
    (found,) = analyze(two(10.0, 11.0, count=400_000), PLAIN).comparisons
    assert found.scatter.run_sd_bearable is not None
    assert found.scatter.run_sd_bearable == pytest.approx((np.log(1.1) - np.log(1.02)) / (1.96 * np.sqrt(2.0)), rel=0.1)
    for run_sd, decision in (
        (0.95 * found.scatter.run_sd_bearable, Decision.SLOWER),
        (1.05 * found.scatter.run_sd_bearable, Decision.UNDECIDED),
    ):
        stated = dataclasses.replace(PLAIN, run_sd=run_sd)
        assert only(analyze(two(10.0, 11.0, count=400_000), stated))[0] is decision


def test_single_runs_whose_own_interval_reaches_over_an_edge_bear_nothing() -> None:
    (found,) = analyze(two(10.0, 10.2, count=400), PLAIN).comparisons
    assert found.scatter.run_sd_bearable == 0.0


def test_what_runs_differ_by_is_the_users_to_state_and_then_decides() -> None:
    (found,) = analyze(two(10.0, 15.0), STATED).comparisons
    assert found.decision is Decision.SLOWER
    assert found.scatter.run_sd == 0.03
    assert any("3%" in name for name in found.priors)
    assert only(analyze(two(10.0, 10.6, count=400_000), STATED))[0] is Decision.UNDECIDED


def clumped(seed: int) -> FloatArray:
    """20,000 values, 1 % of which are stalls of 30 times, in clumps of 50."""
    rng = np.random.default_rng(seed)
    values = gamma_values(10.0, 0.6, 20_000, seed)
    for start in rng.integers(0, 19_950, 4):
        values[start : start + 50] *= 30.0
    return values


@pytest.mark.parametrize("form", [binned, summary, samples], ids=["histogram", "summary", "samples"])
def test_heavy_tails_without_order_do_not_decide_even_with_a_stated_scatter(form: object) -> None:
    (found,) = analyze([form(group("none"), clumped(1)), form(group("tde"), 5.0 * clumped(2))], STATED).comparisons
    assert found.decision is Decision.UNDECIDED
    assert "heavy-tailed" in "; ".join(texts(found.undecided_because))


def test_heavy_tails_of_several_runs_leave_the_run_as_the_unit() -> None:
    observations = [
        binned(group(name, run=str(run)), of * clumped(10 * run + seed))
        for run in range(1, 4)
        for name, of, seed in (("none", 1.0, 0), ("tde", 5.0, 1))
    ]
    (found,) = analyze(observations, PLAIN).comparisons
    assert found.decision is Decision.SLOWER


def test_a_series_in_the_same_run_sets_the_width_of_a_bare_mean_and_of_one_taken_for_independent() -> None:
    rng = np.random.default_rng(1)
    falling = np.where(np.arange(300) < 150, 4700.0, 1920.0) + rng.normal(0.0, 50.0, 300)
    for sd in (None, 0.5):
        observations: list[Observation] = []
        for name in ("none", "tde"):
            observations.append(Summary(group(name), ORIGIN, 1_005_889, 3.0, sd))
            observations.append(series(group(name, metric="throughput"), falling))
        (found,) = analyze(observations, PLAIN).primary
        assert found.metric == "response_time"
        assert found.model is Model.BESIDE
        assert np.subtract(*reversed(found.ratio.hdi95)) > 0.2
        unsteady = [note.figures for note in found.notes if note.code is NoteCode.UNSTEADY]
        assert unsteady[0] == pytest.approx((4700.0, 1920.0), rel=0.02)


def printed(condition: str, run: int, latency: float, tps: float, **facts: float) -> list[Observation]:
    """A report: the latency to three decimals, the throughput exact."""
    return [
        Summary(group(condition, run=str(run)), ORIGIN, 10**7, latency, None, rounding=0.0005, **facts),
        Figure(group(condition, run=str(run), metric="throughput"), ORIGIN, tps, rounding=5e-7, **facts),
    ]


def test_the_exact_figure_is_preferred_to_a_rounded_one_and_what_is_rounded_says_less() -> None:
    figures = (("none", 0.065, 15_277.0), ("tde", 0.067, 15_032.0))
    observations = [
        one
        for name, latency, tps in figures
        for run, wobble in ((2, 1.0), (3, 0.9995), (1, 1.0005))
        for one in printed(name, run, latency, wobble * tps)
    ]
    rounded, exact = sorted(analyze(observations, PLAIN).comparisons, key=lambda c: c.metric)
    assert (rounded.metric, rounded.primary, rounded.decision) == ("response_time", False, Decision.UNDECIDED)
    assert (exact.metric, exact.primary, exact.decision) == ("throughput", True, Decision.NEGLIGIBLE)
    assert exact.ratio.median == pytest.approx(1.0163, abs=2e-4)
    assert rounded.ratio.hdi95[0] < exact.ratio.median < rounded.ratio.hdi95[1]


def test_each_level_takes_the_metric_that_it_has_an_interval_of() -> None:
    rng = np.random.default_rng(1)
    observations: list[Observation] = []
    for threads in (1, 16):
        for name in ("none", "tde"):
            at = (("threads", threads),)
            rates = series(group(name, metric="throughput", levels=at), rng.normal(400.0, 10.0, 60))
            observations += [rates, figure(group(name, levels=at), 2.5)]
    again = (("threads", 1),)
    observations += [figure(group(name, run="2", levels=again), 2.5) for name in ("none", "tde")]
    result = analyze(observations, PLAIN)
    assert all(c.ratio is not None for c in result.primary)
    assert [dict(c.levels)["threads"] for c in result.primary] == [1, 16]


def test_runs_of_unequal_length_do_not_decide_and_name_both_lengths() -> None:
    observations = [
        one
        for name, latency, seconds in (("none", 10.0, 10_000.0), ("tde", 20.0, 267.0))
        for run, wobble in ((2, 0.0), (3, 0.02), (1, 0.01))
        for one in printed(name, run, latency + wobble, 1e4 / (latency + wobble), duration_seconds=seconds)
    ]
    result = analyze(observations, PLAIN)
    (found,) = result.primary
    assert found.decision is Decision.UNDECIDED
    assert has(found.undecided_because, "unequal-lengths", lengths=Part("267 s"))


def test_of_series_of_unequal_length_the_same_first_part_is_compared() -> None:
    rng = np.random.default_rng(1)
    slowing = np.linspace(1000.0, 200.0, 1000)
    observations: list[Observation] = []
    for run in (2, 3, 1):
        for name, length in (("none", 1000), ("tde", 100)):
            noisy = slowing[:length] + rng.normal(0.0, 10.0, length)
            observations.append(series(group(name, run=str(run), metric="throughput"), noisy))
    (found,) = analyze(observations, PLAIN).comparisons
    assert found.quotient == pytest.approx(1.0, abs=0.01)
    assert has(found.reasons, "lengths-cut", shortest="100 s")


def ordered(first: str, then: str, drift: float, count: int = 5) -> list[Observation]:
    """All runs of one condition, then all of the other, ten minutes apart."""
    rng = np.random.default_rng(3)
    names = [first] * count + [then] * count
    return [
        Figure(
            group(name, run=str(place)),
            ORIGIN,
            10.0 * float(np.exp(drift * place + rng.normal(0.0, 0.002))),
            started_unix_seconds=1e9 + 600.0 * place,
            duration_seconds=300.0,
        )
        for place, name in enumerate(names)
    ]


def test_a_drift_that_lies_between_the_sides_is_undecided_with_that_reason() -> None:
    (found,) = analyze(ordered("none", "tde", 0.01), PLAIN).comparisons
    assert found.decision is Decision.UNDECIDED
    assert has(found.reasons, "confounded", first="none", then="tde")


def without_times(observations: list[Observation], first: int = 1) -> list[Observation]:
    """As folders of numbered files have them: each condition's runs from 1 on, nobody knows when."""
    seen: dict[str, int] = {}
    bare: list[Observation] = []
    for one in observations:
        seen[one.group.condition] = number = seen.get(one.group.condition, first - 1) + 1
        bare.append(
            dataclasses.replace(one, group=dataclasses.replace(one.group, run=str(number)), started_unix_seconds=None)
        )
    return bare


@pytest.mark.parametrize("first", ["none", "tde"])
def test_an_order_that_is_not_known_is_the_worst_one(first: str) -> None:
    """All runs of one condition first, on a machine that drifts by 1 % a run: a quarter of such sessions was called."""
    (found,) = analyze(without_times(ordered(first, "tde" if first == "none" else "none", 0.01)), PLAIN).comparisons
    assert found.ratio.hdi95[0] < 1.0 < found.ratio.hdi95[1]
    assert found.decision is Decision.UNDECIDED
    assert has(found.reasons, "order-unknown")


def test_without_a_drift_such_an_order_costs_width_and_no_bias() -> None:
    (known,), (unknown,) = (
        analyze(of, PLAIN).comparisons
        for of in (ordered("none", "tde", 0.0), without_times(ordered("none", "tde", 0.0)))
    )
    assert known.ratio is not None
    widths = [float(np.subtract(*reversed(c.ratio.hdi95))) for c in (known, unknown) if c.ratio is not None]
    assert widths[0] < widths[1] < 2.0 * widths[0]
    assert unknown.ratio.median == pytest.approx(unknown.quotient, abs=1e-3)


def test_one_count_through_both_conditions_is_an_order() -> None:
    alternating = [
        figure(group(name, run=str(2 * at + place)), 10.0 * (1.0 + 0.01 * (2 * at + place)))
        for at in range(5)
        for place, name in enumerate(("none", "tde"), 1)
    ]
    (found,) = analyze(alternating, PLAIN).comparisons
    assert has(found.reasons, "order-known")
    assert found.ratio.median == pytest.approx(1.0, abs=0.005)  # the drift is taken out


def test_repetitions_within_files_are_no_runs_where_files_are() -> None:
    rng = np.random.default_rng(6)
    observations: list[Observation] = []
    for name in ("none", "tde"):
        for day in range(3):
            of_day = float(np.exp(rng.normal(0.0, 0.03)))
            for repetition in range(25):
                value = 10.0 * of_day * float(np.exp(rng.normal(0.0, 0.002)))
                origin = Origin(f"{name}-{day}.txt", "sysbench")
                observations.append(Figure(group(name, run=f"{day}.{repetition}"), origin, value))
    (found,) = analyze(observations, PLAIN).comparisons
    assert (found.baseline.runs, found.condition.runs) == (3, 3)
    assert found.decision is Decision.UNDECIDED


def test_runs_of_one_log_a_side_are_runs_of_one_session() -> None:
    observations = [
        Figure(group(name, run=str(run)), Origin(f"{name}.log", "pgbench"), mean + 0.01 * run)
        for name, mean in (("none", 10.0), ("tde", 20.0))
        for run in range(1, 6)
    ]
    (found,) = analyze(observations, PLAIN).comparisons
    assert found.baseline.runs == 5
    assert has(found.reasons, "runs-of-one-file", runs=5)


NOPM = {"a": (134092.0, 206136.0, 198488.0), "b": (129852.0, 123287.0, 195082.0)}


def test_runs_that_form_two_clusters_are_reported() -> None:
    mixed = [figure(group(name, run=str(run)), value) for name, of in NOPM.items() for run, value in enumerate(of)]
    (found,) = analyze(mixed, AnalysisSettings("a")).comparisons
    assert has(found.reasons, "two-clusters", apart=pytest.approx(195082 / 134092 - 1, rel=1e-6))
    one_side = [figure(group("a", run=str(run)), value) for run, value in enumerate((100.0, 101.0, 130.0, 131.0))]
    other = [figure(group("b", run=str(run)), value) for run, value in enumerate((90.0, 116.0, 110.0, 125.0))]
    (found,) = analyze([*one_side, *other], AnalysisSettings("a")).comparisons
    assert has(found.reasons, "two-clusters-of-condition", condition="a")


def test_two_conditions_that_lie_apart_are_an_effect_and_no_clusters() -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        of = [
            figure(group(name, run=str(run)), mean * float(np.exp(rng.normal(0.0, 0.01))))
            for name, mean in (("none", 10.0), ("tde", 15.0))
            for run in range(3)
        ]
        (found,) = analyze(of, PLAIN).comparisons
        assert not has(found.reasons, "two-clusters")


def test_times_of_copied_files_are_no_order() -> None:
    copied = [
        dataclasses.replace(one, started_unix_seconds=1e9 + 0.01 * place)
        for place, one in enumerate(without_times(ordered("none", "tde", 0.0)))
    ]
    (found,) = analyze(copied, PLAIN).comparisons
    assert has(found.reasons, "order-unknown")


def test_a_report_and_a_log_of_the_same_runs_are_one_row() -> None:
    log, report = Origin("run1.log.gz", "pgbench log"), Origin("run1.out", "pgbench")
    observations: list[Observation] = []
    for name, mean in (("none", 10.0), ("tde", 11.0)):
        one = summary(group(name), gamma_values(mean, 0.6, 4000, 1))
        observations.append(dataclasses.replace(one, origin=log))
        observations.append(Summary(group(name, levels=(("clients", 32),)), report, 4000, mean, None))
    (found,) = analyze(observations, PLAIN).comparisons
    assert dict(found.levels) == {"clients": 32}
    assert found.model is Model.SUMMARY


def test_runs_of_each_condition_are_the_unit_and_can_claim_it() -> None:
    observations: list[Observation] = []
    for run in range(5):
        values = gamma_values(10.0, 0.6, 60_000, run)
        observations.append(samples(group("none", run=str(run)), values))
        observations.append(samples(group("tde", run=str(run)), 1.06 * gamma_values(10.0, 0.6, 60_000, 50 + run)))
    (found,) = analyze(observations, PLAIN).comparisons
    assert found.model is Model.RUNS
    assert (found.baseline.runs, found.condition.runs) == (5, 5)
    assert found.decision is Decision.SLOWER
    assert has(found.reasons, "run-is-unit", runs=5, other=5)
    assert found.ratio.median == pytest.approx(1.06, abs=0.01)


def test_scatter_between_runs_is_no_effect_of_encryption() -> None:
    observations: list[Observation] = []
    for run, single_run in enumerate((0.95, 1.0, 1.05)):
        observations.append(samples(group("none", run=str(run)), single_run * gamma_values(10.0, 0.6, 60_000, run)))
        observations.append(
            samples(group("tde", run=str(run)), 1.03 * single_run * gamma_values(10.0, 0.6, 60_000, 9 + run))
        )
    decision, (low, high) = only(analyze(observations, PLAIN))
    assert decision is Decision.UNDECIDED
    assert low < 1.0 < high


def test_where_nothing_can_be_compared_what_files_say_of_themselves_is_told() -> None:
    odd = dataclasses.replace(ORIGIN, cautions=(Caution.of("file-cut-off", line=17),))
    observations = [
        figure(group("none", levels=(("threads", 16),)), 10.0),
        dataclasses.replace(figure(group("tde", levels=(("threads", 17),)), 11.0), origin=odd),
    ]
    with refused(UsageError, "nothing-to-hold-against", baseline="none", listed=Part("line 17")):
        analyze(observations, PLAIN)


def test_figures_alone_are_quoted_and_never_judged() -> None:
    result = analyze([figure(group("none", metric="cpu"), 43.694), figure(group("tde", metric="cpu"), 206.093)], PLAIN)
    (found,) = result.comparisons
    assert result.decision is Decision.UNDECIDED
    assert found.ratio is None
    assert found.difference is None
    assert found.model is Model.NONE
    assert found.quotient == pytest.approx(4.7167, abs=1e-4)
    assert has(found.reasons[:1], "no-replication")


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
    assert found.ratio.median == pytest.approx(2.0, rel=0.01)
    assert found.quotient == pytest.approx(2.0, rel=0.01)
    assert found.difference.median == pytest.approx(-200.0, rel=0.02)


def test_histograms_and_summaries_are_modelled_as_what_they_are() -> None:
    before, after = gamma_values(10.0, 0.6, 4000, 1), gamma_values(13.0, 0.6, 4000, 2)
    whole = only(analyze([samples(group("none"), before), samples(group("tde"), after)], PLAIN))[1]
    for kind, model in ((binned, Model.BINNED_GAMMA), (summary, Model.SUMMARY)):
        (found,) = analyze([kind(group("none"), before), kind(group("tde"), after)], PLAIN).comparisons
        assert found.model is model
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
    assert has(found.reasons[:1], "no-replication", why="a mean without standard deviation")
    runs = [mean(c, str(r), v + 0.01 * r) for c, v in (("none", 10.0), ("tde", 11.0)) for r in range(3)]
    (found,) = analyze(runs, PLAIN).comparisons
    assert found.decision is Decision.SLOWER


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
    assert has(left_out, "not-compared", what="tde", why=Part("none"), where="all, cpu")
    assert has(left_out, "not-compared", what="none", where="NewOrder, throughput", why=Part("no other"))
    assert has(left_out, "not-compared", what="tde", why=Part("0"), where="all, elapsed")


def test_files_of_each_thread_of_a_run_are_one_run() -> None:
    values = gamma_values(10.0, 0.6, 4000, 1)
    parts = [samples(group("none"), part) for part in np.array_split(values, 4)]
    whole = only(analyze([*parts, two(10.0, 11.0)[1]], PLAIN))
    assert whole == only(analyze(two(10.0, 11.0), PLAIN))


def test_a_second_figure_of_the_same_run_is_told_not_averaged() -> None:
    other = dataclasses.replace(figure(group("none"), 20.0), origin=Origin("second.csv", "CSV", 7))
    result = analyze([figure(group("none"), 10.0), other, figure(group("tde"), 11.0)], PLAIN)
    assert result.comparisons[0].quotient == pytest.approx(1.1)
    assert any("second.csv:7" in words for words in texts(result.left_out))


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
    assert analyze(two(10.0, 15.0), dataclasses.replace(STATED, budget=0.1)).decision is Decision.OVER
    assert analyze(two(10.0, 10.0), dataclasses.replace(STATED, budget=0.5)).decision is Decision.WITHIN


def test_other_priors_stand_beside_the_default() -> None:
    asked = dataclasses.replace(PLAIN, priors=parse_priors(["published", "normal:0.03,0.01"]))
    (found,) = analyze(two(10.0, 11.0, count=400), asked).comparisons
    assert found.priors["no speed-up"].hdi95[0] >= 1.0
    assert found.priors["published"].hdi95 == pytest.approx(found.ratio.hdi95, abs=0.01)
    assert found.priors["normal:0.03,0.01"].median < found.ratio.median


def test_the_published_prior_is_left_out_where_it_has_no_meaning() -> None:
    rng = np.random.default_rng(1)
    throughput = [series(group(c, metric="throughput"), rng.normal(400.0, 10.0, 300)) for c in ("none", "tde")]
    (found,) = analyze(throughput, dataclasses.replace(PLAIN, priors=parse_priors(["published"]))).comparisons
    assert "published" not in found.priors
    assert has(found.reasons, "prior-left-out", where="prior published")


@pytest.mark.parametrize(
    ("observations", "settings", "words"),
    [
        ([], PLAIN, coded("missing", what="a figure of a second configuration in these files")),
        (two(1.0, 2.0), AnalysisSettings("plain"), coded("unknown", kind="baseline", found="plain")),
        (two(1.0, 2.0), AnalysisSettings("none", metric="cpu"), coded("unknown", kind="metric", found="cpu")),
        (
            two(1.0, 2.0),
            AnalysisSettings("none", transaction="NewOrder"),
            coded("unknown", kind="transaction", found="NewOrder"),
        ),
        (
            [figure(group("none"), 1.0), figure(group("tde", metric="cpu"), 1.0)],
            PLAIN,
            coded("nothing-to-hold-against", baseline="none"),
        ),
    ],
)
def test_what_cannot_be_compared_is_an_error_with_a_remedy(
    observations: list[Observation], settings: AnalysisSettings, words: Coded
) -> None:
    with refused(UsageError, words):
        analyze(observations, settings)


def test_formats_count_files() -> None:
    first, second = two(10.0, 11.0, count=100)
    assert not isinstance(first, Binned)
    result = analyze([dataclasses.replace(first, origin=Origin("a.log", "a-log")), second], PLAIN)
    assert result.formats == {"CSV": 1, "a-log": 1}

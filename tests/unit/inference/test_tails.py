import math
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from support.flat import changed
from support.refused import Coded, Part, coded, has
from tdelta._native import histogram_of, histogram_summary
from tdelta.errors import TdeltaError
from tdelta.inference.tails import (
    FEWEST,
    FEWEST_BLOCKS,
    FEWEST_PAIRS,
    Shares,
    exceedance_ratio,
    reason_for_none,
    tail_cautions,
    tail_measures,
    threshold_ns,
)
from tdelta.records import ALL, Condition, Exceeding, Role, RunSettings, TailMeasure, TailUnit, Trial

from .builders import AA, AES, BASELINE, condition, measurement, settings, trial

MS = 1_000_000
Times = Callable[[Condition, int], dict[str, list[int]]]


def with_limit(latency_limit_seconds: float | None = 0.02, **changes: object) -> RunSettings:
    return replace(settings(**changes), options={"latency_limit_seconds": latency_limit_seconds})


def made(times: Times, conditions: Iterable[Condition] = (BASELINE, AA, AES), rounds: int = 4, blocks: int = 3):
    found = []
    for block in range(rounds * blocks):
        for position, of in enumerate(conditions):
            histograms = {
                f"tx:{name}": histogram_of(values, [1] * len(values)) for name, values in times(of, block).items()
            }
            histograms["stmt:work/1"] = b"never read"
            measured = replace(measurement(), histograms=histograms)
            found.append(trial(of, block // blocks, block, measured, position))
    return found


def bare(trials: Iterable[Trial]) -> list[Trial]:
    return [replace(t, measurement=replace(t.measurement, histograms={})) for t in trials]


def measured(trials: list[Trial], given: RunSettings) -> dict[tuple[Role, str], TailMeasure]:
    found = tail_measures(bare(trials), given, lambda: iter(trials))
    return {(m.condition.role, m.transaction): m for m in found}


def slow(count: int, of: int = 100) -> list[int]:
    return [30 * MS] * count + [5 * MS] * (of - count)


def simple(of: Condition, block: int) -> dict[str, list[int]]:
    """Slow in the baseline 2, in its A/A twin 4, in the encrypted twin 6 and in each third block 3 of 100."""
    return {"work": slow({Role.BASELINE: 2, Role.AA: 4}.get(of.role, 6 if block % 3 else 3))}


def test_a_condition_is_held_against_both_plain_twins_and_the_aa_twin_against_the_other() -> None:
    found = measured(made(simple), with_limit())
    assert set(found) == {(Role.AA, ALL), (Role.TREATMENT, ALL)}
    of_aa, of_aes = (found[role, ALL].exceedance for role in (Role.AA, Role.TREATMENT))
    assert (of_aa.baseline.longer, of_aa.baseline.transactions, of_aa.condition.longer) == (24, 1200, 48)
    assert (of_aes.baseline.longer, of_aes.baseline.transactions, of_aes.condition.longer) == (72, 2400, 60)
    assert of_aes.quotient == pytest.approx((60 / 1200) / (72 / 2400))
    assert (of_aes.ratio.ratio, of_aes.ratio.unit, of_aes.ratio.units) == (pytest.approx(5 / 3), TailUnit.ROUND, 4)
    assert (found[Role.TREATMENT, ALL].blocks, found[Role.TREATMENT, ALL].rounds) == (12, 4)


def test_trials_that_have_any_are_counted_by_twin_and_round() -> None:
    def clumped(of: Condition, block: int) -> dict[str, list[int]]:
        stalls = block % 2 == 0 if of.role is Role.TREATMENT else block == 3
        return {"work": slow(40 if stalls else 0)}

    found = measured(made(clumped), with_limit())[Role.TREATMENT, ALL].exceedance
    assert found.ratio is None
    bad = found.bad_trials
    counts = (bad.condition_bad, bad.condition_trials, bad.baseline_bad, bad.baseline_trials, bad.rounds)
    assert counts == (6, 12, 2, 24, 4)
    assert bad.low is not None
    assert bad.high is not None
    assert bad.low < 6 < bad.high


def test_a_single_round_has_counts_and_no_interval() -> None:
    found = measured(made(simple, rounds=1, blocks=12), with_limit())[Role.TREATMENT, ALL].exceedance
    assert (found.ratio, found.quotient) == (None, pytest.approx(5 / 3))
    assert has([found.reason], "tail-one-round")


def test_a_bin_counts_as_longer_only_if_all_of_it_is() -> None:
    def near(_of: Condition, _block: int) -> dict[str, list[int]]:
        return {"work": [20 * MS - 20_000, 20 * MS, 20 * MS + 4_000, 20 * MS + 20_000]}

    found = measured(made(near), with_limit())[Role.TREATMENT, ALL].exceedance
    assert found.threshold_ns == 20 * MS
    assert found.counted_from_ns == 20_004_864
    assert found.condition.longer == 12


def test_types_are_told_apart_and_the_mix_holds_all_of_them() -> None:
    def types(of: Condition, block: int) -> dict[str, list[int]]:
        return {"browse": slow(0, 50), **({"order": simple(of, block)["work"]} if block != 5 else {})}

    found = measured(made(types), with_limit())
    assert [m for r, m in found if r is Role.TREATMENT] == [ALL, "browse", "order"]
    mix, browse, order = (found[Role.TREATMENT, name] for name in (ALL, "browse", "order"))
    assert mix.exceedance.condition.transactions == 12 * 50 + 11 * 100
    assert (order.blocks, order.exceedance.condition.transactions) == (11, 1100)
    assert (browse.blocks, browse.exceedance.condition.transactions) == (12, 600)
    assert (browse.exceedance.quotient, browse.exceedance.ratio) == (None, None)
    assert has([browse.exceedance.reason], "tail-none", sides=Part("unencrypted"))


def on_hosts(trials: Iterable[Trial], hosts: Callable[[Trial], str]) -> list[Trial]:
    return [replace(t, measurement=changed(t.measurement, host=hosts(t))) for t in trials]


def changing(of: Trial) -> str:
    """As hosts are changed between: the A/A twin is always beside the treatment."""
    return "ab"[(of.round + (of.condition.role is not Role.BASELINE)) % 2]


def slower_on_b(of: Condition, block: int) -> dict[str, list[int]]:
    is_on_b = (block // 3 + (of.role is not Role.BASELINE)) % 2
    return {"work": slow(27 if is_on_b else 3)}


def test_where_twins_change_hosts_a_condition_is_held_against_the_plain_twin_on_its_host() -> None:
    given = made(slower_on_b, rounds=3)
    found = measured(on_hosts(given, changing), with_limit())
    assert found.keys() == {(Role.TREATMENT, ALL)}, "the A/A twin was never on the baseline's host"
    of = found[Role.TREATMENT, ALL].exceedance
    assert (of.quotient, of.ratio.ratio) == (pytest.approx(1.0), pytest.approx(1.0))
    assert (of.bad_trials.condition_trials, of.bad_trials.baseline_trials) == (9, 9)
    as_on_one = measured(given, with_limit())[Role.TREATMENT, ALL].exceedance
    assert as_on_one.quotient == pytest.approx(57 / 45), "after three rounds it was on b more often than they were"


def test_percentiles_are_of_the_plain_twin_on_the_same_host() -> None:
    trials = on_hosts(made(slower_on_b, rounds=3), changing)
    found = measured(trials, with_limit(None))[Role.TREATMENT, ALL]
    assert {one.quotient for one in found.percentiles} == {1.0}


def test_without_a_plain_twin_on_the_same_host_there_are_no_tails_and_a_caution_says_so() -> None:
    given = with_limit(conditions=(BASELINE, AES))
    trials = on_hosts(made(slower_on_b, (BASELINE, AES)), changing)
    assert measured(trials, given) == {}
    found = [*tail_cautions(trials, (), given)]
    assert [(one.code, one.parameters["condition"]) for one in found] == [("tails-without-plain-twin", AES.key)]
    assert not [*tail_cautions(on_hosts(made(slower_on_b), changing), (), with_limit(None))]


def test_incomplete_blocks_are_left_out() -> None:
    trials = [t for t in made(simple) if not (t.block == 7 and t.condition is AA)]
    found = measured(trials, with_limit())[Role.TREATMENT, ALL]
    assert found.blocks == 11
    assert found.exceedance.condition.transactions == 1100


def test_strata_have_their_own_baselines() -> None:
    other = [condition("none", Role.BASELINE, 1), condition("aes-256", Role.TREATMENT, 1)]
    conditions = (BASELINE, AES, *other)

    def times(of: Condition, _block: int) -> dict[str, list[int]]:
        return {"work": slow((4 if of.role is Role.TREATMENT else 2) + 10 * of.stratum)}

    trials = made(times, conditions)
    found = tail_measures(bare(trials), with_limit(conditions=conditions), lambda: iter(trials))
    quotients = [m.exceedance.quotient for m in found if m.exceedance is not None]
    assert quotients == [pytest.approx(2.0), pytest.approx(14 / 12)]
    assert [m.baseline for m in found] == [BASELINE, other[0]]


def long_run(blocks: int, rounds: int = 4) -> list[Trial]:
    rng = np.random.default_rng(3)

    def times(of: Condition, _block: int) -> dict[str, list[int]]:
        factor = 1.2 if of is AES else 1.0
        return {"work": (factor * 5 * MS * rng.lognormal(0.0, 0.5, 40)).astype(int).tolist()}

    return made(times, rounds=rounds, blocks=blocks // rounds)


def test_the_99th_percentile_needs_eighty_blocks_and_no_threshold() -> None:
    assert FEWEST_PAIRS == 80
    trials = long_run(80)
    found = measured(trials, settings())
    assert set(found) == {(Role.AA, ALL), (Role.TREATMENT, ALL)}
    measure = found[Role.TREATMENT, ALL]
    assert measure.exceedance is None
    low, high = measure.p99.ratio.interval95
    assert low < 1.2 < high
    payloads = [t.measurement.histograms["tx:work"] for t in trials if t.condition is AES]
    *_, (native,) = histogram_summary(payloads, [0.99])
    assert measure.p99.condition_ns == native


def test_fewer_blocks_have_no_ratio_of_percentiles() -> None:
    trials = long_run(76)
    found = tail_measures(bare(trials), settings(), lambda: iter(trials))
    assert {(one.transaction, one.exceedance, one.p99) for one in found} == {(ALL, None, None)}
    assert all(m.p99 is None for m in measured(long_run(76), with_limit()).values())


def test_the_same_trials_and_seed_give_the_same_figures() -> None:
    trials = long_run(80)
    one, again, other = (measured(trials, replace(with_limit(), seed=seed)) for seed in (5, 5, 6))
    assert one == again
    assert one != other


def test_a_run_without_histograms_has_no_tails_and_says_so_if_it_was_asked() -> None:
    trials = bare(made(simple))
    assert tail_measures(trials, with_limit(), lambda: iter(trials)) == ()
    assert [caution.code for caution in tail_cautions((), (), with_limit())] == ["latency-limit-no-times"]
    assert list(tail_cautions((), (), settings())) == []
    asked = made(simple)
    measures = tail_measures(bare(asked), with_limit(), lambda: iter(asked))
    assert list(tail_cautions(bare(asked), measures, with_limit())) == []


def test_a_damaged_histogram_is_a_fault_of_the_store() -> None:
    trials = made(simple)
    broken = replace(trials[0], measurement=replace(trials[0].measurement, histograms={"tx:work": b"broken"}))
    with pytest.raises(TdeltaError, match="histogram"):
        tail_measures(bare(trials), with_limit(), lambda: iter([broken, *trials[1:]]))


@pytest.mark.parametrize(("seconds", "nanoseconds"), [(0.02, 20 * MS), (2.5e-4, 250_000), (1, 10**9), (None, None)])
def test_the_threshold_is_what_was_asked_for(seconds: float | None, nanoseconds: int | None) -> None:
    assert threshold_ns(with_limit(seconds)) == nanoseconds
    assert threshold_ns(settings()) is None


def shares(longer: object, of: float = 1000.0) -> Shares:
    counted = np.asarray(longer, dtype=np.float64)
    return Shares(counted, np.full(len(counted), of))


ROUNDS_OF_ONE = np.arange(40)
TWO_ROUNDS = np.repeat([3, 7], 20)
FIVE_ROUNDS = np.repeat(np.arange(5), 8)


def drawn(seed: int, mean: float) -> Shares:
    return shares(np.random.default_rng(seed).poisson(mean, 40))


def test_the_ratio_is_that_of_the_shares_over_all_blocks() -> None:
    found = exceedance_ratio(shares([6] * 40), shares([8] * 40, of=2000.0), ROUNDS_OF_ONE)
    assert found.ratio == pytest.approx(1.5)
    assert found.interval95 == pytest.approx((1.5, 1.5))


def test_the_interval_is_the_t_interval_of_the_rounds_influences() -> None:
    condition, baseline = drawn(1, 12.0), drawn(2, 9.0)
    found = exceedance_ratio(condition, baseline, ROUNDS_OF_ONE)
    influence = condition.influence - baseline.influence
    half = stats.t.ppf(0.975, 39) * math.sqrt(40) * influence.std(ddof=1)
    ends = found.ratio * np.exp([-half, half])
    assert found.interval95 == pytest.approx(tuple(ends), rel=1e-4)
    assert (found.unit, found.units) == (TailUnit.ROUND, 40)


def test_the_linearisation_agrees_with_a_bootstrap_of_blocks() -> None:
    condition, baseline = drawn(3, 30.0), drawn(4, 25.0)
    found = exceedance_ratio(condition, baseline, ROUNDS_OF_ONE)
    picks = np.random.default_rng(5).integers(0, 40, (4000, 40))
    logs = np.log(condition.longer[picks].sum(axis=1) / baseline.longer[picks].sum(axis=1))
    half = 0.5 * math.log(found.interval95[1] / found.interval95[0])
    assert half == pytest.approx(stats.t.ppf(0.975, 39) * logs.std() * math.sqrt(40 / 39), rel=0.06)


def test_the_round_is_the_unit() -> None:
    found = exceedance_ratio(drawn(1, 12.0), drawn(2, 9.0), FIVE_ROUNDS)
    assert (found.unit, found.units) == (TailUnit.ROUND, 5)


def test_two_rounds_that_agree_by_chance_do_not_narrow_the_interval_below_that_of_blocks() -> None:
    condition, baseline = shares([4, 20] * 20), shares([10] * 40)
    found = exceedance_ratio(condition, baseline, TWO_ROUNDS)
    assert found.interval95 == pytest.approx(exceedance_ratio(condition, baseline, ROUNDS_OF_ONE).interval95)
    apart = exceedance_ratio(shares([8] * 20 + [16] * 20), baseline, TWO_ROUNDS)
    half = math.log(apart.interval95[1] / apart.ratio)
    influences = 20 * (np.array([8.0, 16.0]) - 12.0) / 480
    assert half == pytest.approx(stats.t.ppf(0.975, 1) * math.sqrt(2) * influences.std(ddof=1), rel=1e-3)
    assert (apart.unit, apart.units) == (TailUnit.ROUND, 2)


def test_instance_effects_of_instances_widens_the_interval_of_rounds_and_not_that_of_single_blocks() -> None:
    lucky = np.repeat([0.5, 1.5, 0.7, 1.3, 1.0], 8)
    condition, baseline = shares(20 * lucky), shares(np.full(40, 20.0))
    rounds = exceedance_ratio(condition, baseline, FIVE_ROUNDS).interval95
    pairs = exceedance_ratio(condition, baseline, ROUNDS_OF_ONE).interval95
    assert math.log(rounds[1] / rounds[0]) > 2.5 * math.log(pairs[1] / pairs[0])


def test_drift_that_both_sides_share_does_not_widen_the_interval() -> None:
    drift = np.round(20 * np.exp(np.sin(np.arange(40))))
    found = exceedance_ratio(shares(2 * drift), shares(drift), ROUNDS_OF_ONE)
    assert found.interval95 == pytest.approx((2.0, 2.0))


def test_more_transactions_of_the_same_blocks_are_no_more_evidence() -> None:
    condition, baseline = drawn(1, 12.0), drawn(2, 9.0)
    more = [Shares(1000 * side.longer, 1000 * side.of) for side in (condition, baseline)]
    few, many = exceedance_ratio(condition, baseline, ROUNDS_OF_ONE), exceedance_ratio(*more, ROUNDS_OF_ONE)
    assert many.interval95 == pytest.approx(few.interval95)


def side(longer: int, blocks_with: int) -> Exceeding:
    return Exceeding(longer, 100_000, blocks_with)


@pytest.mark.parametrize(
    ("condition", "baseline", "said"),
    [
        (side(0, 0), side(0, 0), coded("tail-none", sides=Part("nor"), bound=pytest.approx(0.037, abs=0.0005))),
        (side(9, 9), side(0, 0), coded("tail-none", sides=Part("unencrypted"), bound=pytest.approx(0.037, abs=0.0005))),
        (side(0, 0), side(9, 9), coded("tail-none", sides=Part("config"), bound=pytest.approx(0.037, abs=0.0005))),
        (side(FEWEST - 1, FEWEST - 1), side(50, 50), coded("tail-too-few", found=9)),
        (side(500, FEWEST_BLOCKS - 1), side(50, 50), coded("tail-too-few")),
        (side(FEWEST, FEWEST_BLOCKS), side(FEWEST, FEWEST_BLOCKS), None),
    ],
)
def test_no_interval_is_given_where_there_is_too_little_and_it_is_said_why(
    condition: Exceeding, baseline: Exceeding, said: Coded | None
) -> None:
    reason = reason_for_none(condition, baseline, blocks=80, rounds=5)
    assert reason is None if said is None else has([reason], said)


def test_one_round_has_no_interval_and_two_have() -> None:
    many = side(500, 50)
    assert has([reason_for_none(many, many, blocks=80, rounds=1)], "tail-one-round")
    assert reason_for_none(many, many, blocks=80, rounds=2) is None


def test_the_bound_where_nothing_was_seen_is_the_share_at_which_nothing_is_seen_once_in_twenty_times() -> None:
    reason = reason_for_none(side(0, 0), side(0, 0), blocks=10, rounds=3)
    bound = 0.259
    assert (1 - bound) ** 10 == pytest.approx(0.05, rel=0.01)
    assert has([reason], "tail-none", bound=pytest.approx(bound, abs=0.0005))

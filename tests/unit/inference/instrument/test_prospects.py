import itertools
import math
from dataclasses import replace

import pytest

from support.flat import changed
from support.refused import has, refused
from tdelta.errors import UsageError
from tdelta.inference.instrument.measured import MeasuredRun, PlannedRun, extract_noise
from tdelta.inference.instrument.prospects import (
    PlanQuery,
    first_reaching,
    primary_of,
    prospect,
    rounds_to_look_at,
    run_times,
    targets_of,
    time_costs,
)
from tdelta.inference.instrument.simulation import Draws, RoundsDesign, predict
from tdelta.messages import Reason
from tdelta.records import Decision, Metric, Role, SpanTotals
from tdelta.records.instrument import Attainability, Layout, Prospect, Target

from ..builders import condition
from .machines import (
    PLANNED,
    ROUND_SECONDS,
    SET_UP_SECONDS,
    SWITCH_SECONDS,
    TWINS,
    run,
    with_other_twin,
    without_rounds,
)

QUICK = PlanQuery(simulated=10)


def found(*runs: MeasuredRun, asked: PlanQuery = QUICK, planned: PlannedRun = PLANNED) -> Prospect:
    return prospect(runs, planned, asked, Metric.RESPONSE_TIME)


def pilot(noise_at: float = 0.04, falls: float = 0.5, instance_effect: float = 0.001) -> list[MeasuredRun]:
    """Three lengths; noise falls with that power of the length."""
    return [
        run(
            noise=noise_at * (0.25 / seconds) ** falls,
            instance_effect=instance_effect,
            trial_seconds=seconds,
            run_id=name,
            seed=seed,
            rounds=8,
        )
        for seed, (name, seconds) in enumerate([("a", 0.25), ("b", 0.5), ("c", 1.0)])
    ]


def test_noise_instance_effects_and_times_come_out_as_they_were_put_in() -> None:
    seen = found(run(noise=0.02, instance_effect=0.005, rounds=40))
    (length,) = seen.grounds.lengths
    assert length.sd == pytest.approx(0.02, rel=0.08)
    assert length.sd95[0] < 0.02 < length.sd95[1]
    assert seen.grounds.instance_effect.sd95[0] < 0.005 < seen.grounds.instance_effect.sd95[1]
    assert length.trial_seconds == pytest.approx(0.25, rel=1e-3)
    assert (length.rounds, length.blocks, seen.grounds.instance_effect.instances) == (40, 240, 120)
    assert seen.layout.whole_round_seconds == pytest.approx(1.5 + 6 * 3 * 0.27, rel=1e-3)


def test_a_quieter_machine_needs_less_time() -> None:
    quiet, noisy = (
        found(run(noise=noise, instance_effect=0.001, rounds=20)).primary_targets[-1] for noise in (0.01, 0.04)
    )
    assert quiet.rounds is not None
    assert noisy.rounds is None or noisy.rounds > 2 * quiet.rounds


def test_cpu_time_of_other_programs_is_reported() -> None:
    def busy(share: float) -> Prospect:
        measured = run()
        trials = [
            replace(one, measurement=changed(one.measurement, pressure={"cpu_busy": share})) for one in measured.trials
        ]
        return found(replace(measured, trials=tuple(trials)))

    (caution,) = set(busy(1.0).cautions) - set(busy(0.01).cautions)
    assert caution.code == "others-used-cpu"


def test_the_same_trials_give_the_same_plan() -> None:
    assert found(run()) == found(run())


def test_where_noise_falls_as_fast_as_trials_grow_longer_ones_save_the_switches() -> None:
    slow_switch = [replace_times(r, 0.5) for r in pilot(falls=0.5)]
    advice = found(*slow_switch).advice
    assert advice.trial_seconds is not None
    assert advice.trial_seconds > 0.5
    assert advice.trial_gain < 0.85


def test_where_instance_effects_is_most_longer_trials_only_make_longer_rounds() -> None:
    advice = found(*[replace_times(r, 0.5) for r in pilot(noise_at=0.02, falls=0.5, instance_effect=0.02)]).advice
    assert (advice.trial_seconds, advice.trial_gain) == pytest.approx((0.25, 1.0), rel=1e-3)


def test_what_three_rounds_decide_anyway_wants_short_ones() -> None:
    """Six blocks are enough to tell 30 % from 2 % in a few rounds; three longer ones would take longer."""

    def blocks(effect: float, tolerance: float) -> int:
        asked = PlanQuery(effects=(effect,), tolerances=(tolerance,), simulated=10)
        return found(run(noise=0.2, instance_effect=0.001, rounds=30), asked=asked).layout.blocks_per_round

    assert blocks(0.30, 0.02) == 6
    assert blocks(0.03, 0.02) > 6


def test_where_noise_does_not_fall_with_length_the_shortest_trials_stay() -> None:
    seen = found(*pilot(falls=0.0))
    assert (seen.advice.trial_seconds, seen.advice.trial_gain) == pytest.approx((0.25, 1.0), rel=1e-3)
    assert seen.layout.trial_seconds == pytest.approx(0.25, rel=1e-3)


def replace_times(of: MeasuredRun, extra: float) -> MeasuredRun:
    trials = tuple(replace(t, started_unix_seconds=t.started_unix_seconds + 3 * extra * t.block) for t in of.trials)
    return replace(of, trials=trials, elapsed_seconds=of.elapsed_seconds + 3 * extra * (trials[-1].block + 1))


def test_one_length_does_not_tell_which_is_best() -> None:
    advice = found(run()).advice
    assert (advice.trial_seconds, advice.trial_gain) == (None, 1.0)


def test_what_is_given_is_not_advised_against() -> None:
    planned = replace(PLANNED, keeps_trial=True, keeps_blocks=True)
    seen = found(*[replace_times(r, 0.5) for r in pilot(falls=0.5)], planned=planned)
    assert (seen.layout.trial_seconds, seen.layout.blocks_per_round) == pytest.approx((0.25, 6), rel=1e-3)


def test_much_instance_effects_asks_for_short_rounds_and_much_noise_for_long_ones() -> None:
    lucky = found(
        run(noise=0.005, instance_effect=0.02, rounds=30, blocks=12), planned=replace(PLANNED, blocks_per_round=12)
    )
    noisy = found(run(noise=0.2, instance_effect=0.001, rounds=30))
    assert lucky.advice.blocks_per_round == 6
    assert noisy.advice.blocks_per_round > 6
    assert noisy.advice.blocks_per_round % 6 == 0


def test_the_edge_is_on_the_edge_and_a_short_limit_too_short() -> None:
    seen = found(run(), asked=PlanQuery(effects=(0.02,), tolerances=(0.02,), max_seconds=60.0, simulated=20))
    (target,) = seen.primary_targets
    assert target.attainability is Attainability.EDGE
    assert seen.advised_rounds is None
    tight = found(run(noise=0.1), asked=PlanQuery(effects=(0.02,), tolerances=(0.01,), max_seconds=60.0, simulated=20))
    assert tight.primary_targets[0].attainability is Attainability.TOO_LONG


def test_a_limit_that_holds_no_round_is_refused() -> None:
    with refused(UsageError, "no-time-for-a-round", found=5.0):
        found(run(), asked=PlanQuery(max_seconds=5.0, simulated=5))


def test_plain_twins_alone_are_a_caution_and_encrypted_ones_are_none() -> None:
    assert has(found(run()).cautions, "only-plain-measured")
    assert not has(found(run(conditions=TWINS)).cautions, "only-plain-measured")


def test_few_instances_are_a_caution() -> None:
    assert has(found(without_rounds(run(), 3)).cautions, "few-instances", instances=9)


def test_two_blocks_say_hardly_anything_and_widths_are_figures_all_the_same() -> None:
    seen = found(run(noise=0.15, rounds=1, blocks=2, seed=3), asked=PlanQuery(max_seconds=60.0, simulated=1000))
    assert all(0.0 < width.width80[0] < width.width < width.width80[1] < math.inf for width in seen.widths)
    assert seen.widths[0].width80[1] > 3.0 * seen.widths[0].width80[0]


def test_noise_that_does_not_average_out_is_a_caution() -> None:
    wandering = run(noise=0.005, wander=0.02, rounds=20, blocks=12)
    assert has(found(wandering).cautions, "slow-noise")


def test_runs_without_anything_to_learn_from_are_all_named() -> None:
    single = run(blocks=1, run_id="one")
    other = run(run_id="two", workload="read-only")
    with pytest.raises(UsageError) as told:
        found(single, other)
    assert has(told.value.refusals, "one-block-a-round", run="one")
    assert has(
        told.value.refusals,
        "runs-unlike",
        run="two",
        engine="sqlite",
        workload="read-only",
        other="one",
        other_engine="sqlite",
        other_workload="order-entry",
    )


def test_an_empty_run_is_named() -> None:
    with refused(UsageError, "no-complete-block", run="20260101-abcd", metric="response_time"):
        found(replace(run(), trials=()))


def test_a_bb_twin_makes_the_answer_surer() -> None:
    def width(**more: int) -> float:
        seen = found(run(rounds=20), asked=replace(QUICK, simulated=60), planned=replace(PLANNED, **more))
        return seen.widths[3].width

    assert width(block_conditions=4) < 0.93 * width()


def test_a_machine_with_odd_trials_needs_longer() -> None:
    """A run with an odd trial must show its overhead with the 99 % HDI."""
    measured = run(noise=0.01, instance_effect=0.001, rounds=20)
    stalled = tuple(
        replace(t, measurement=replace(t.measurement, transactions={"work": SpanTotals(10**6, 2 * 10**11)}))
        if t.block % 10 == 4 and t.condition is measured.settings.conditions[0]
        else t
        for t in measured.trials
    )
    asked = PlanQuery(effects=(0.02,), tolerances=(0.01,), simulated=200)
    calm, odd = (
        found(one, asked=asked).primary_targets[0].curve for one in (measured, replace(measured, trials=stalled))
    )
    assert odd[1].rounds == calm[1].rounds == 4
    assert odd[1].assurance < calm[1].assurance - 0.05


LAYOUT = Layout(3, 3, 2, 0.25, 6, set_up_seconds=10.0, round_seconds=2.0, block_seconds=1.0)
PREDICTION = predict(Draws.known(4e-4, 0.003, 60), RoundsDesign(3, 2, 6), (3, 6, 12, 24))


def targets(effects: tuple[float, ...] = (), tolerances: tuple[float, ...] = ()) -> tuple[Target, ...]:
    return targets_of(effects, tolerances, PREDICTION, LAYOUT, 0.8, is_budget=False)


def test_without_a_limit_runs_grow_by_about_two_fifths_from_three_rounds_on() -> None:
    found = rounds_to_look_at(LAYOUT, None)
    assert found[0] == 3
    assert all(1.2 < after / before <= 1.5 for before, after in itertools.pairwise(found))


def test_without_a_limit_runs_of_an_hour_are_looked_at_or_of_120_rounds() -> None:
    assert rounds_to_look_at(LAYOUT, None)[-1] == (3600 - 10) // 8
    slow = replace(LAYOUT, round_seconds=100 * LAYOUT.round_seconds)
    assert rounds_to_look_at(slow, None)[-1] == 120


def test_beyond_480_rounds_nothing_is_simulated() -> None:
    assert rounds_to_look_at(LAYOUT, 1e6)[-1] == 480


@pytest.mark.parametrize(("seconds", "last"), [(10.0 + 8 * 20, 20), (10.0 + 8 * 9.5, 9), (10.0 + 8 * 2, 2)])
def test_a_limit_ends_them_at_the_rounds_that_it_holds(seconds: float, last: int) -> None:
    assert rounds_to_look_at(LAYOUT, seconds)[-1] == last


def test_less_than_a_round_is_nothing_to_look_at() -> None:
    assert rounds_to_look_at(LAYOUT, 15.0) == ()


def test_the_rounds_lie_between_the_looks_around_the_chance() -> None:
    assert first_reaching((3, 6, 12), (0.2, 0.6, 1.0), 0.8) == 9
    assert first_reaching((3, 6, 12), (0.9, 0.95, 1.0), 0.8) == 3
    assert first_reaching((3, 6, 12), (0.2, 0.6, 0.7), 0.8) is None
    assert first_reaching((3, 6, 12), (0.85, 0.6, 1.0), 0.8) == 9, "an early lucky look is no promise"


def test_an_aim_on_the_edge_says_that_it_cannot_be_reached() -> None:
    (target,) = targets((0.02,), (0.02,))
    assert (target.attainability, target.rounds, target.decision) == (Attainability.EDGE, None, None)
    assert target.reason == Reason.of("effect-on-edge")


def test_an_aim_too_near_the_edge_says_how_far_one_would_get() -> None:
    (target,) = targets((0.021,), (0.02,))
    assert (target.attainability, target.rounds) == (Attainability.TOO_LONG, None)
    assert "after 24 rounds" in target.reason.text


def test_an_aim_that_is_reached_takes_its_rounds_time() -> None:
    (target,) = targets((0.10,), (0.02,))
    assert (target.attainability, target.rounds, target.decision) == (Attainability.REACHED, 3, Decision.SLOWER)
    assert target.seconds == 10.0 + 3 * 8.0


def test_where_nothing_is_asked_the_headline_is_no_overhead_and_the_first_one_above_1_per_cent() -> None:
    assert list(primary_of((), ())) == [(0.0, 0.01), (0.02, 0.01)]


def test_what_is_asked_is_the_headline() -> None:
    assert list(primary_of((0.03,), (0.005,))) == [(0.03, 0.005)]
    assert list(primary_of((), (0.02,))) == [(0.0, 0.02), (0.03, 0.02)]


SEARCH_AND_SET_UP = SET_UP_SECONDS + 3.0


def strata(*runs: MeasuredRun) -> list:
    return extract_noise(runs, Metric.RESPONSE_TIME)


def test_wall_clock_is_taken_apart_into_set_up_rounds_and_trials() -> None:
    found = run_times(run())
    assert found.slot_seconds == pytest.approx(0.25 + SWITCH_SECONDS)
    assert found.round_seconds == pytest.approx(ROUND_SECONDS)
    assert found.set_up_seconds == pytest.approx(SEARCH_AND_SET_UP)


def test_the_search_behind_the_first_round_is_no_part_of_a_round() -> None:
    two = without_rounds(run(), 2)
    assert run_times(two).round_seconds == pytest.approx(ROUND_SECONDS + 3.0), "one gap is all there is"
    assert run_times(without_rounds(run(), 3)).round_seconds == pytest.approx(ROUND_SECONDS)


def test_a_single_round_counts_all_that_is_not_blocks_as_the_rounds_own() -> None:
    one = replace(without_rounds(run(), 1), elapsed_seconds=10.0)
    found = run_times(one)
    assert not found.has_rounds
    assert found.set_up_seconds == 0.0
    assert found.round_seconds == pytest.approx(10.0 - 6 * 3 * 0.27)


def test_several_lengths_tell_what_a_switch_costs() -> None:
    costs = time_costs(strata(run(), run(trial_seconds=1.0, run_id="b")), 3)
    assert (costs.switch_seconds, costs.stretch) == pytest.approx((SWITCH_SECONDS, 1.0), abs=1e-6)
    assert costs.slot_seconds(2.0) == pytest.approx(2.02)


def test_of_one_length_all_that_is_not_the_trial_is_the_switch() -> None:
    costs = time_costs(strata(run()), 3)
    assert (costs.switch_seconds, costs.stretch) == pytest.approx((SWITCH_SECONDS, 1.0), abs=1e-6)


def test_a_round_of_more_twins_takes_longer_to_make() -> None:
    assert time_costs(strata(run()), 6).round_seconds == pytest.approx(2 * ROUND_SECONDS)


def test_blocks_that_seem_to_take_no_time_take_their_trials_time() -> None:
    measured = run()
    still = replace(measured, trials=tuple(replace(t, started_unix_seconds=0.0) for t in measured.trials))
    assert run_times(still).slot_seconds == pytest.approx(0.9 * 0.25)


def test_of_several_bb_twins_one_at_a_time_takes_time() -> None:
    twin, other = (condition(cipher, Role.BB) for cipher in ("aes-256", "aes-128"))
    measured = with_other_twin(run(conditions=(*TWINS, condition("aes-128", Role.TREATMENT), twin)), twin, other)
    assert len(measured.settings.conditions) == 6
    assert run_times(measured).slot_seconds == pytest.approx(0.25 + SWITCH_SECONDS)
    assert time_costs(strata(measured), 5).round_seconds == pytest.approx(ROUND_SECONDS)

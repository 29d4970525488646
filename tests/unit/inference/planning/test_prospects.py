import math
from dataclasses import replace

import pytest

from support.flat import changed
from support.refused import check_messages, coded, has, refused
from tdelta.errors import UsageError
from tdelta.inference.planning import MeasuredRun, PlannedRun, PlanQuery, prospect
from tdelta.records import Metric, SpanTotals
from tdelta.records.prospects import Attainability, Prospect

from .machines import PLANNED, TWINS, run, without_rounds

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


@pytest.mark.parametrize("client_cpu_seconds", [0.0, 0.01])
def test_that_threads_waited_for_a_cpu_is_told_and_of_servers_that_they_may_be_their_own(
    client_cpu_seconds: float,
) -> None:
    def pressed(share: float) -> Prospect:
        measured = run()
        trials = tuple(
            replace(
                one,
                measurement=changed(
                    one.measurement, pressure={"cpu_some": share}, client_cpu_user_seconds=client_cpu_seconds
                ),
            )
            for one in measured.trials
        )
        return found(replace(measured, trials=trials))

    (caution,) = set(pressed(0.31).cautions) - set(pressed(0.01).cautions)
    who = "threads" if client_cpu_seconds else "other programs"
    check_messages([caution], coded("machine-busy", who=who, share=0.31))


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

import dataclasses
import os
import signal
from typing import Any

import pytest

from support.fake_twins import FakeTwin
from support.refused import Part, check_messages, coded, has, refused
from tdelta.errors import ServerLost
from tdelta.records import Phase
from tdelta.session.answer import others_delay_share

from .conducting import Sitting
from .served import is_block, is_warm_up

PAUSE = "a worker process stood still for 3 s"


def stands(times: int, block: int = 1) -> Any:
    """A script under which the encrypted twin stands still so often in this block."""
    seen: list[FakeTwin] = []

    def standstill(twin: FakeTwin, job: Any) -> str:
        if twin.settings.cipher != "none" and job.stream == block and is_block(job) and len(seen) < times:
            seen.append(twin)
            return PAUSE
        return ""

    return standstill


def test_a_block_in_which_a_trial_stood_still_is_run_again_under_its_number_and_said(sitting: Sitting) -> None:
    place = sitting.scripted(standstill=stands(1))
    result = place.conduct()
    assert has(result.cautions, "block-void", round=1, block=2, why=PAUSE)
    trials = place.trials()
    assert sorted((trial.block, trial.position) for trial in trials) == [(b, p) for b in range(4) for p in range(3)]
    assert all(trial.measurement.standstill == "" for trial in trials)
    assert [event.name for event in place.events if isinstance(event, Phase)].count("again") == 1


def test_the_second_try_has_operations_of_its_own_and_the_same_draws(sitting: Sitting) -> None:
    place = sitting.scripted(standstill=stands(1))
    place.conduct()
    repeated = [
        jobs for twin in place.twins.started if len(jobs := [j for j in twin.jobs if j.stream == 1 and is_block(j)]) > 1
    ]
    assert len(repeated) == 3
    for first, second in repeated:
        assert second == dataclasses.replace(first, first_op=second.first_op)
        assert second.first_op >= first.first_op + first.operations


def test_twins_that_did_not_do_the_same_are_made_anew(sitting: Sitting) -> None:
    cut: list[FakeTwin] = []

    def cut_off(twin: FakeTwin, job: Any) -> None:
        if job.stream == 1 and is_block(job) and not cut:
            cut.append(twin)
            twin.stop()

    result = sitting.scripted(standstill=stands(1), before_trial=cut_off).conduct()
    assert has(result.cautions, "server-lost", round=1, void="block 2", why=PAUSE)


def test_a_warm_up_that_stood_still_until_its_deadline_costs_the_round_and_is_named(sitting: Sitting) -> None:
    cut: list[Any] = []

    def cut_off(twin: FakeTwin, job: Any) -> None:
        if is_warm_up(job) and not cut:
            cut.append(job)
            twin.stop()

    result = sitting.scripted(
        standstill=lambda _twin, job: PAUSE if any(job is one for one in cut) else "", before_trial=cut_off
    ).conduct()
    assert has(result.cautions, "server-lost", round=1, void=Part("before"), why=PAUSE)


def test_a_block_that_stands_still_again_and_again_costs_the_round_and_at_last_the_run(sitting: Sitting) -> None:
    result = sitting.scripted(standstill=stands(3)).conduct()
    codes = [caution.code for caution in result.cautions]
    assert (codes.count("block-void"), codes.count("server-lost")) == (2, 1)
    with refused(ServerLost, "losses-too-many", losses=4, loss=Part(" 3 s")):
        sitting.scripted(standstill=lambda twin, job: PAUSE if is_block(job) else "").conduct()


def test_what_was_run_again_is_said_by_a_run_that_is_resumed_as_well(sitting: Sitting) -> None:
    with pytest.raises(ServerLost):
        sitting.scripted(standstill=lambda twin, job: PAUSE if is_block(job) else "").conduct()
    result = sitting.resume()
    assert [caution.code for caution in result.cautions].count("block-void") >= 4


def test_a_block_that_stood_still_and_was_interrupted_is_no_block(sitting: Sitting) -> None:
    def interrupt(twin: FakeTwin, job: Any) -> None:
        if twin.settings.cipher != "none" and job.stream == 1 and is_block(job):
            os.kill(os.getpid(), signal.SIGINT)

    result = sitting.scripted(standstill=stands(1), before_trial=interrupt).conduct()
    assert (result.interrupted, result.counts.blocks) == (True, 1)


def test_delay_of_the_database_itself_is_told_in_place_of_the_machines_pressure(sitting: Sitting) -> None:
    result = sitting.scripted(delay_share=0.12, pressure={"cpu_busy": 1.0}).conduct()
    told = [one for one in result.cautions if one.code in ("others-delayed-database", "others-used-cpu")]
    check_messages(told, coded("others-delayed-database", share=pytest.approx(0.12)))


def test_neither_little_delay_nor_little_pressure_is_worth_a_word(sitting: Sitting) -> None:
    result = sitting.scripted(delay_share=0.04, pressure={"cpu_busy": 0.09, "steal": 0.01}).conduct()
    assert not [
        caution
        for caution in map(str, result.cautions)
        if "waited" in caution or "kept" in caution or "host" in caution
    ]


def test_stolen_time_is_told(sitting: Sitting) -> None:
    result = sitting.scripted(pressure={"steal": 0.031}).conduct()
    assert has(result.cautions, "host-took-cpu", share=0.031)


def test_delay_is_added_up_over_trials_and_unknown_where_it_is_of_one(sitting: Sitting) -> None:
    place = sitting.scripted(delay_share=0.25, cost_ns=lambda twin, job: 100_000.0)
    place.conduct()
    trials = place.trials()
    assert others_delay_share(trials) == pytest.approx(0.25, abs=1e-6)
    assert others_delay_share(()) is None
    unknown = sitting.scripted()
    unknown.conduct()
    assert others_delay_share((*trials, *unknown.trials())) is None


def test_a_twin_of_the_fake_engine_has_no_delay_unless_it_is_given_one(sitting: Sitting) -> None:
    sitting.conduct()
    assert {trial.measurement.delays.run_delay_ns for trial in sitting.trials()} == {None}
    assert isinstance(sitting.twins.started[0], FakeTwin)

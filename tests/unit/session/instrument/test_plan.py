import dataclasses
import re
from typing import Any

import pytest

from support.refused import refused
from tdelta.errors import UnknownName, UsageError
from tdelta.inference.instrument.prospects import PlanQuery
from tdelta.records import Decision, Event, Metric, Phase, RunPlanned
from tdelta.records.instrument import Prospect
from tdelta.session.instrument.plan import from_pilot, from_runs
from tdelta.store import Store

from ..conducting import Sitting

ASKED = PlanQuery(effects=(0.05,), tolerances=(0.02,), simulated=20)


def pilot(sitting: Sitting, seconds: float = 60.0, typed: tuple[str, ...] = (), **options: Any) -> Prospect:
    request = sitting.request(**options).replace(min_rounds=3, max_rounds=None, blocks_per_round=6, typed=typed)
    return from_pilot(request, ASKED, sitting.events.append, seconds, make_twins=sitting.twins, now=sitting.twins.clock)


def test_a_pilot_runs_plain_twins_only_with_trials_of_three_lengths(sitting: Sitting) -> None:
    found = pilot(sitting)
    assert {settings.cipher for settings in sitting.twins.loaded} == {"none"}
    lengths = [length.trial_seconds for length in found.grounds.lengths]
    assert lengths == pytest.approx([0.25, 0.5, 1.0], rel=0.1)
    assert found.grounds.lengths[0].sd == pytest.approx(0.01, rel=0.3)
    assert all(length.sd95[0] < 0.01 < length.sd95[1] for length in found.grounds.lengths), "the longest has few blocks"
    assert found.pilot_seconds == pytest.approx(60.0, rel=0.25)


def test_loads_and_rebuilds_are_not_planned(sitting: Sitting) -> None:
    with refused(UsageError, "steps-not-planned", works="load and rebuild"):
        pilot(sitting, workload="warehouse", vary={"work": ("load", "rebuild", "warm")})
    run = sitting.conduct(workload="warehouse", vary={"work": ("load",)}, max_rounds=3)
    with refused(UsageError, "steps-not-planned", works="load"):
        from_runs([run.settings.run_id], ASKED, sitting.store)


def test_the_run_that_is_planned_is_the_one_that_was_asked_about(sitting: Sitting) -> None:
    found = pilot(sitting, 120.0, vary={"cipher": ("aes-128", "aes-256"), "threads": (1, 2)})
    assert (found.layout.conditions, found.layout.block_conditions, found.layout.plain) == (4, 8, 2)
    assert found.options["vary"] == {"cipher": ["aes-128", "aes-256"], "threads": [1, 2]}
    assert found.options["self_test"] is False
    assert found.options["min_rounds"] == found.options["max_rounds"] == found.advised_rounds


def test_a_length_that_is_typed_is_the_only_one(sitting: Sitting) -> None:
    found = pilot(sitting, trial_seconds=0.5, typed=("trial_seconds",))
    assert len(found.grounds.lengths) == 1
    assert found.layout.trial_seconds == pytest.approx(0.5, rel=0.1)


def test_a_length_that_there_was_no_time_for_is_left_out(sitting: Sitting) -> None:
    assert len(pilot(sitting, 30.0).grounds.lengths) < 3


def test_a_pilot_without_time_for_two_blocks_is_told_what_it_needs(sitting: Sitting) -> None:
    with refused(UsageError, "time-too-short", option="--pilot-time", least="45 s", found="1 s", given="45s"):
        pilot(sitting, 1.0)


def test_progress_tells_of_the_pilot_and_promises_no_rounds(sitting: Sitting) -> None:
    pilot(sitting)
    phases = [e.detail for e in sitting.events if isinstance(e, Phase) and e.name == "pilot"]
    assert [re.findall(r"[\d.]+", detail) for detail in phases] == [
        ["0.25", "1", "3"],
        ["0.5", "2", "3"],
        ["1", "3", "3"],
    ]
    assert {e.rounds_min for e in sitting.events if isinstance(e, RunPlanned)} == {1}


def test_the_pilots_runs_are_kept_and_can_be_planned_from_again(sitting: Sitting) -> None:
    first = pilot(sitting)
    again = from_runs(first.run_ids, ASKED, sitting.store)
    assert again.grounds.lengths == first.grounds.lengths
    assert again.grounds.instance_effect == first.grounds.instance_effect
    assert again.pilot_seconds is None


def test_a_pilot_gone_over_again_plans_the_same_run(sitting: Sitting) -> None:
    """Its own twins are three; the run that it was for has two ciphers in each of two strata."""
    first = pilot(sitting, 120.0, vary={"cipher": ("aes-128", "aes-256"), "threads": (1, 2)})
    again = from_runs(first.run_ids, ASKED, sitting.store)
    for of in ("conditions", "block_conditions", "plain", "trial_seconds"):
        assert getattr(again.layout, of) == getattr(first.layout, of)
    assert again.options["vary"] == first.options["vary"]


def test_a_plan_says_what_else_must_be_typed_to_plan_again(sitting: Sitting) -> None:
    first = pilot(sitting)
    assert first.again == {"store": str(sitting.store)}
    asked = dataclasses.replace(ASKED, assurance=0.9, max_seconds=600.0)
    found = from_runs(first.run_ids, asked, sitting.store, Metric.CPU_PER_OPERATION)
    assert found.again == {
        "assurance": 0.9,
        "max_seconds": 600.0,
        "metric": "cpu_per_operation",
        "store": str(sitting.store),
    }


def test_the_run_that_is_advised_goes_into_the_store_that_was_read(sitting: Sitting) -> None:
    sitting.conduct(blocks_per_round=6, min_rounds=4, max_rounds=4)
    moved = sitting.store.rename(sitting.base / "moved.sqlite")
    found = from_runs(["last"], ASKED, moved)
    assert (found.options["store"], found.again["store"]) == (str(moved), str(moved))


def test_a_run_with_a_budget_is_planned_for_its_budget_and_the_overhead_it_found(sitting: Sitting) -> None:
    run = sitting.conduct(blocks_per_round=6, min_rounds=3, max_rounds=3, budget=0.1)
    overhead = run.primary[0].ratio.median - 1.0
    found = from_runs(["last"], PlanQuery(simulated=20), sitting.store)
    (target,) = found.primary_targets
    assert (target.tolerance, target.decision) == (0.1, Decision.OVER)
    assert target.effect == pytest.approx(overhead, abs=0.002)
    assert (found.options["budget"], found.options["tolerance"]) == (0.1, run.settings.tolerance)
    typed = from_runs(["last"], ASKED, sitting.store)
    assert [target.tolerance for target in typed.primary_targets] == [0.02]


def test_a_pilot_that_is_ended_says_how_to_plan_from_what_it_measured(sitting: Sitting) -> None:
    def end_the_second(event: Event) -> None:
        sitting.events.append(event)
        if sum(isinstance(e, RunPlanned) for e in sitting.events) == 2:
            raise KeyboardInterrupt

    request = sitting.request().replace(max_rounds=None, blocks_per_round=6, typed=())
    with pytest.raises(KeyboardInterrupt) as ended:
        from_pilot(request, ASKED, end_the_second, 60.0, make_twins=sitting.twins, now=sitting.twins.clock)
    measured = next(event.settings.run_id for event in sitting.events if isinstance(event, RunPlanned))
    (note,) = ended.value.__notes__
    assert note.endswith(f" {measured} --store {sitting.store}")


def test_a_request_with_faults_is_refused_before_anything_is_measured(sitting: Sitting) -> None:
    with refused(UnknownName, "unknown", kind="cipher", found="aes-512"):
        pilot(sitting, vary={"cipher": ("aes-512",)})
    assert sitting.events == []


def test_a_stored_run_is_planned_from(sitting: Sitting) -> None:
    sitting.conduct(blocks_per_round=6, min_rounds=4, max_rounds=4)
    found = from_runs(["last"], ASKED, sitting.store)
    assert (found.grounds.lengths[0].rounds, found.grounds.lengths[0].blocks) == (4, 24)
    assert found.grounds.carry_over.after_encrypted is not None
    assert found.metric is Metric.RESPONSE_TIME
    assert found.layout.conditions == 3


def test_another_metric_can_be_planned_for(sitting: Sitting) -> None:
    sitting.conduct(blocks_per_round=6)
    assert from_runs(["last"], ASKED, sitting.store, Metric.CPU_PER_OPERATION).metric is Metric.CPU_PER_OPERATION


def test_a_run_that_was_cut_short_can_be_planned_from(sitting: Sitting) -> None:
    sitting.conduct(blocks_per_round=6)
    with Store.open(sitting.store) as store:
        run_id, result = store.resolve("last"), store.result(store.resolve("last"))
        cut = dataclasses.replace(result.settings, run_id="20260101-z")
        store.create_run(cut, {}, {})
        for trial in store.trials(run_id):
            store.add_trial(cut.run_id, trial)
    assert from_runs(["z"], ASKED, sitting.store).grounds.lengths[0].blocks == 12


def test_a_run_there_is_not_is_named(sitting: Sitting) -> None:
    sitting.conduct()
    with refused(UnknownName, "unknown", kind="run", found="nope"):
        from_runs(["nope"], ASKED, sitting.store)


def test_runs_of_one_block_a_round_are_refused(sitting: Sitting) -> None:
    sitting.conduct(blocks_per_round=1)
    with refused(UsageError, "one-block-a-round"):
        from_runs(["last"], ASKED, sitting.store)

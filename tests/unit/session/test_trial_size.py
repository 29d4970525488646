import dataclasses
import json
from typing import Any

import pytest

from support.fake_twins import FakeTwins, Script, cost_by_cipher
from support.refused import has
from tdelta.processes import LoopCost, TwinFolder
from tdelta.session import RunRequest
from tdelta.session.run_plan import plan
from tdelta.session.state import TrialSize
from tdelta.session.trial_size import discarded, find_trial_size, trial_deadline_seconds
from tdelta.store import decode, encode

from .conducting import Sitting


@pytest.mark.parametrize("cost_ns", [1_000.0, 100_000.0, 5_000_000.0])
@pytest.mark.parametrize("trial_seconds", [0.05, 0.25, 2.0])
def test_the_search_finds_as_many_operations_as_fill_the_trial(
    sitting: Sitting, cost_ns: float, trial_seconds: float
) -> None:
    sitting = sitting.scripted(cost_ns=cost_by_cipher({"none": cost_ns, "aes-256": cost_ns}, 0.02))
    sitting.conduct(trial_seconds=trial_seconds)
    operations = sitting.size().operations[0]
    assert operations == pytest.approx(trial_seconds * 1e9 / cost_ns, rel=0.1)


def test_one_slow_trial_does_not_shrink_all_others(sitting: Sitting) -> None:
    def cost_ns(_twin, job):
        return 400_000.0 if job.stream == (1 << 40) + 5 else 100_000.0

    sitting = sitting.scripted(cost_ns=cost_ns)
    sitting.conduct(trial_seconds=0.25)
    assert sitting.size().operations[0] == pytest.approx(2_500, rel=0.1)


@pytest.mark.parametrize(("cost_ns", "operations"), [(1.0e8, 10), (2.5e8, 8), (2e9, 5)])
def test_slow_operations_get_ten_of_them_or_as_many_as_eight_trials_hold_and_never_under_five(
    sitting: Sitting, cost_ns: float, operations: int
) -> None:
    sitting = sitting.scripted(cost_ns=cost_by_cipher({"none": cost_ns, "aes-256": cost_ns}, 0.0))
    sitting.conduct(trial_seconds=0.25, max_seconds=10_000.0)
    assert sitting.size().operations[0] == operations


@pytest.mark.parametrize(("encrypted_ns", "operations"), [(1.3e5, 2500), (1e6, 2000), (1e8, 20), (1.6e8, 12), (9e8, 5)])
def test_where_connections_are_the_work_the_slowest_twin_bounds_a_trial(
    sitting: Sitting, encrypted_ns: float, operations: int
) -> None:
    sitting = sitting.scripted(cost_ns=cost_by_cipher({"none": 1e5, "aes-256": encrypted_ns}, 0.0))
    sitting.conduct(workload="connect", trial_seconds=0.25)
    assert sitting.size().operations[0] == pytest.approx(operations, abs=1)
    probed = [twin for twin in sitting.twins.started if twin.name.startswith("sizing")]
    assert [(twin.settings.cipher, twin.ended) for twin in probed] == [("none", True), ("aes-256", True)]
    assert [job.operations for job in probed[1].jobs] == [3]


def test_what_bounds_a_trial_of_connections_is_the_slowest_of_its_own_stratum(sitting: Sitting) -> None:
    sitting = sitting.scripted(cost_ns=cost_by_cipher({"none": 1e5, "aes-128": 1e8, "aes-256": 2e8}, 0.0))
    sitting.conduct(workload="connect", vary={"cipher": ("aes-128", "aes-256"), "threads": (1, 4)})
    assert sitting.size().operations == {0: 10, 1: 10}
    probed = [twin for twin in sitting.twins.started if twin.name.startswith("sizing-1-")]
    assert [(twin.settings.cipher, twin.jobs[0].operations) for twin in probed] == [("aes-128", 4), ("aes-256", 4)]


def test_only_baselines_are_sized_each_on_an_instance_of_its_own(sitting: Sitting) -> None:
    sitting.conduct(vary={"cipher": ("aes-256",), "threads": (1, 2)})
    sized = [twin for twin in sitting.twins.started if twin.name.startswith("sizing")]
    assert [(twin.settings.cipher, twin.settings.threads, twin.ended) for twin in sized] == [
        ("none", 1, True),
        ("none", 2, True),
    ]


def test_an_open_loop_needs_no_search(sitting: Sitting) -> None:
    sitting.conduct(rate=1000.0, trial_seconds=0.2)
    assert sitting.size().operations == {0: 200}
    assert not [twin for twin in sitting.twins.started if twin.name.startswith("sizing")]


def test_the_loops_own_cost_is_in_the_result(sitting: Sitting) -> None:
    result = sitting.conduct()
    assert result.loop.loop_cost_ns == 100.0
    assert result.loop.client_overhead_share == pytest.approx(50.0 / 100_000.0, rel=0.05)


def test_a_loop_that_takes_a_twentieth_of_the_time_is_a_caution(
    sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sitting.twins, "loop_cost", lambda _job: LoopCost(20_000.0, 10_000.0))
    assert has(sitting.conduct().cautions, "loop-dilutes")


def test_the_size_of_a_trial_comes_back_from_json_as_it_was() -> None:
    found = TrialSize({0: 2500, 1: 40}, trial_seconds=0.25, loop_cost_ns=150.5, loop_response_ns=90.25)
    assert decode(TrialSize, json.loads(json.dumps(encode(found)))) == found


def test_a_trial_may_take_many_times_what_it_should_and_never_under_half_a_minute() -> None:
    assert [trial_deadline_seconds(seconds) for seconds in (0.25, 10.0)] == [30.0, 400.0]


def test_a_share_of_capacity_becomes_a_rate_found_on_the_baseline(sitting: Sitting) -> None:
    sitting = sitting.scripted(cost_ns=cost_by_cipher({"none": 100_000.0, "aes-256": 130_000.0}, 0.0))
    result = sitting.conduct(rate="60%", trial_seconds=0.5)
    (key,) = result.loop.arrival_rates
    assert key == "cipher=none,threads=1"
    assert result.loop.capacities[key] == pytest.approx(10_000, rel=0.02)
    assert result.loop.arrival_rates[key] == pytest.approx(6_000, rel=0.02)
    jobs = [job for twin in sitting.twins.started if not twin.name.startswith("sizing") for job in twin.jobs]
    assert {job.rate for job in jobs} == {result.loop.arrival_rates[key]}
    assert {job.operations for job in jobs} == {round(result.loop.arrival_rates[key] * 0.5)}


def test_levels_of_load_share_one_capacity_and_have_a_rate_each(sitting: Sitting) -> None:
    result = sitting.conduct(vary={"cipher": ("aes-256",), "rate": ("30%", "80%")}, trial_seconds=0.5)
    sized = [twin for twin in sitting.twins.started if twin.name.startswith("sizing")]
    assert len(sized) == 1
    low, high = result.loop.arrival_rates.values()
    assert high / low == pytest.approx(8 / 3)
    assert len(set(result.loop.capacities.values())) == 1


def test_rates_survive_a_round_trip(sitting: Sitting) -> None:
    sitting.conduct(rate="50%")
    found = sitting.size()
    assert found.rates
    assert decode(TrialSize, json.loads(json.dumps(encode(found)))) == found


def test_a_slow_scan_is_met_with_one_operation_and_not_with_a_hundred(sitting: Sitting) -> None:
    sitting = sitting.scripted(cost_ns=cost_by_cipher({"none": 1e9, "aes-256": 1e9}, 0.0))
    sitting.conduct(trial_seconds=2.0, max_seconds=10_000.0)
    (sized,) = [twin for twin in sitting.twins.started if twin.name.startswith("sizing")]
    assert [job.operations for job in sized.jobs] == [1, 10, 10, 10]


def test_every_thread_has_at_least_one_of_few_slow_operations(sitting: Sitting) -> None:
    sitting = sitting.scripted(cost_ns=cost_by_cipher({"none": 2e9, "aes-256": 2e9}, 0.0))
    sitting.conduct(threads=16, trial_seconds=0.25, max_seconds=10_000.0)
    assert sitting.size().operations[0] == 16


@pytest.mark.parametrize(("threads", "cost_ns"), [(1, 1e5), (1, 1e9), (4, 1e5)])
def test_a_cold_trial_is_one_operation_a_thread_since_the_second_would_be_warm(
    sitting: Sitting, threads: int, cost_ns: float
) -> None:
    made = plan(sitting.request(threads=threads, trial_seconds=2.0), "run")
    cold = dataclasses.replace(made, request=made.request.replace(cold=True))
    twins = FakeTwins(Script(cost_ns=cost_by_cipher({"none": cost_ns}, 0.0)))
    with TwinFolder(sitting.base, "run") as folder:
        found = find_trial_size(cold, twins(made.engine, folder, made.populate_job(), made.workload_spec()), 3_000_000)
    assert found.operations == {0: threads}
    assert [[job.operations for job in twin.jobs] for twin in twins.started] == [[threads]]


@pytest.mark.parametrize(
    ("options", "operations", "heads"),
    [
        ({}, 10, 1),
        ({}, 1000, 100),
        ({"warmup_seconds": 0.5, "trial_seconds": 2.0}, 1000, 250),
        ({"warmup_seconds": 0.5, "trial_seconds": 2.0}, 1, 0),
        ({"warmup_seconds": 2.0, "trial_seconds": 2.0}, 1000, 900),
        ({"cold": True}, 1, 0),
        ({"cold": True, "warmup_seconds": 1.9, "trial_seconds": 2.0}, 4, 0),
    ],
)
def test_of_a_cold_trial_nothing_is_discarded_and_of_others_the_head(
    options: dict[str, Any], operations: int, heads: int
) -> None:
    assert discarded(RunRequest(**options), operations) == heads

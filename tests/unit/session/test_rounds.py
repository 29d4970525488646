from collections import defaultdict

from support.fake_twins import FakeTwin, cost_by_cipher
from tdelta.design import block_order
from tdelta.records import BlockDone, Role, RoundStarted, TrialDone

from .conducting import Sitting

_WARM_UP = 1 << 41
_CALIBRATION = 1 << 40


def jobs_of_blocks(twin: FakeTwin):
    return [job for job in twin.jobs if job.stream < _CALIBRATION]


def by_name(sitting: Sitting) -> dict[str, FakeTwin]:
    return {twin.name: twin for twin in sitting.twins.started}


def test_trials_run_in_the_order_that_the_design_draws(sitting: Sitting) -> None:
    result = sitting.conduct(min_rounds=3, max_rounds=3)
    ran = defaultdict(list)
    for trial in sitting.trials():
        ran[trial.round, trial.block].append((trial.position, trial.condition))
    conditions = result.settings.conditions
    drawn = {
        (block // 2, block): list(enumerate(conditions[index] for index in block_order(7, block, len(conditions))))
        for block in range(6)
    }
    assert ran == drawn


def test_what_is_compared_runs_together_stratum_by_stratum(sitting: Sitting) -> None:
    sitting.conduct(vary={"cipher": ("aes-256",), "threads": (1, 2, 4)}, min_rounds=3, max_rounds=3)
    blocks = defaultdict(dict)
    for trial in sitting.trials():
        blocks[trial.block][trial.position] = trial.condition.stratum
    orders = [tuple(found[place] for place in range(9))[::3] for found in blocks.values()]
    assert all(
        [found[place] for place in range(9)] == [s for s in order for _ in range(3)]
        for found, order in zip(blocks.values(), orders, strict=True)
    )
    assert len(set(orders)) > 1


def test_every_twin_of_a_block_gets_the_same_operations_and_the_next_block_gets_others(sitting: Sitting) -> None:
    sitting.conduct()
    twins = by_name(sitting)
    work = defaultdict(set)
    for trial in sitting.trials():
        jobs = [job for job in twins[trial.instance].jobs if job.stream == trial.block]
        work[trial.block].update((job.seed, job.stream, job.operations, job.first_op) for job in jobs)
    assert [len(found) for found in work.values()] == [1, 1, 1, 1]
    assert len(set.union(*work.values())) == 4


def test_the_operations_of_an_instance_never_overlap(sitting: Sitting) -> None:
    sitting.conduct()
    for twin in sitting.twins.started:
        ends = [job.first_op + job.operations for job in twin.jobs]
        assert [job.first_op for job in twin.jobs] == [1, *ends[:-1]]


def test_every_instance_is_warmed_up_before_its_first_trial(sitting: Sitting) -> None:
    sitting.conduct()
    instances = {trial.instance for trial in sitting.trials()}
    assert all(by_name(sitting)[name].jobs[0].stream >= _WARM_UP for name in instances)


def test_each_round_has_fresh_instances_under_new_names_and_ends_them(sitting: Sitting) -> None:
    sitting.conduct()
    names = defaultdict(set)
    for trial in sitting.trials():
        names[trial.round].add(trial.instance)
    assert [len(found) for found in names.values()] == [3, 3]
    assert not names[0] & names[1]
    assert all(twin.ended for twin in sitting.twins.started)


def test_a_file_is_loaded_once_for_each_cipher_whatever_the_rounds(sitting: Sitting) -> None:
    costs = cost_by_cipher({"none": 1e5, "aes-128": 1e5, "aes-256": 1e5})
    sitting = sitting.scripted(cost_ns=costs)
    sitting.conduct(vary={"cipher": ("aes-128", "aes-256")})
    assert sorted(settings.cipher for settings in sitting.twins.loaded) == ["aes-128", "aes-256", "none"]


def test_every_stratum_has_a_baseline_and_a_calibration_of_its_own(sitting: Sitting) -> None:
    result = sitting.conduct(vary={"cipher": ("aes-256",), "threads": (1, 4)})
    roles = [(c.stratum, c.role, c.level("threads")) for c in result.settings.conditions]
    assert roles == [
        (stratum, role, threads)
        for stratum, threads in enumerate((1, 4))
        for role in (Role.BASELINE, Role.AA, Role.TREATMENT)
    ]
    assert sitting.size().operations.keys() == {0, 1}
    baselines = {verdict.condition.stratum: verdict.baseline for verdict in result.primary}
    assert {number: baseline.level("threads") for number, baseline in baselines.items()} == {0: 1, 1: 4}


def test_twins_of_four_threads_are_opened_with_four(sitting: Sitting) -> None:
    sitting.conduct(vary={"cipher": ("aes-256",), "threads": (1, 4)})
    threads = {
        trial.condition.level("threads"): by_name(sitting)[trial.instance].settings for trial in sitting.trials()
    }
    assert {level: settings.threads for level, settings in threads.items()} == {1: 1, 4: 4}


def test_the_cache_is_a_share_of_the_plain_file_that_was_loaded(sitting: Sitting) -> None:
    sitting.conduct(cache=0.5)
    assert {twin.settings.cache_bytes for twin in sitting.twins.started} == {1_500_000}


def test_only_the_injected_twin_is_told_of_its_cost(sitting: Sitting) -> None:
    sitting.conduct(self_test=True, inject=(0.2,))
    twins = by_name(sitting)
    told = {
        trial.condition.role: {job.injected for job in jobs_of_blocks(twins[trial.instance])}
        for trial in sitting.trials()
    }
    assert told == {Role.BASELINE: {0.0}, Role.AA: {0.0}, Role.IDENTICAL: {0.0}, Role.INJECTED: {0.2}}


def test_an_open_loop_hands_the_rate_to_every_trial(sitting: Sitting) -> None:
    sitting.conduct(rate=400.0, trial_seconds=0.5)
    jobs = [job for twin in sitting.twins.started for job in twin.jobs]
    assert {(job.rate, job.operations) for job in jobs} == {(400.0, 200)}


def test_the_observer_hears_every_round_block_and_trial(sitting: Sitting) -> None:
    sitting.conduct()
    heard = [event for event in sitting.events if isinstance(event, RoundStarted | BlockDone | TrialDone)]
    round_of_two_blocks = [RoundStarted, *[TrialDone] * 3, BlockDone, *[TrialDone] * 3, BlockDone]
    assert [type(event) for event in heard] == round_of_two_blocks * 2
    assert [event.trials_done for event in heard if isinstance(event, TrialDone)] == list(range(1, 13))


def test_a_trial_is_stored_before_anyone_hears_of_it(sitting: Sitting) -> None:
    stored = []

    class Listener(list):
        def append(self, event):
            if isinstance(event, TrialDone):
                stored.append((event.trials_done, len(sitting.trials())))

    sitting.events = Listener()
    sitting.conduct()
    assert stored == [(count, count) for count in range(1, 13)]
